"""The experiments of conf/experiment in tests: what each suggests to change, and what makes its run a quick one."""

import re
import shlex
from itertools import takewhile

QUICK = [
    "training.steps=2", "training.epochs=null", "training.batch=4", "training.validate_rows=4", "training.samples=1",
    "training.decode_rows=2", "training.figures=false", "training.test=false", "logger=none",
]  # fmt: skip


def changes(system):
    """The alternatives that a system suggests, each as a list of overrides."""
    alternatives = re.split(r",? or |, |; | and ", system.next)
    found = [re.findall(r"[\w.@]+=(?:\[[^\]]*\]|[^\s,;:]+)", words) for words in alternatives]
    return [[word.rstrip(".") for word in words] for words in found if words]


def own_data(system):
    """The overrides that a system says to type for files of one's own: the first words that are overrides."""
    words = shlex.split(re.sub(r"^Your own [a-z ]+: ", "", system.data))
    found = list(takewhile(lambda word: re.match(r"[~+]?[\w.@]+=", word), words))
    return [*found[:-1], found[-1].rstrip(".,:;")]
