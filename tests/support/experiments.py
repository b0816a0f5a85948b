"""The experiments of conf/experiment in tests: what each suggests to change, and what makes its run a quick one."""

import re

QUICK = [
    "training.steps=2", "training.epochs=null", "training.batch=4", "training.validate_rows=4", "training.samples=1",
    "training.decode_rows=2", "training.figures=false", "training.test=false", "logger=none",
]  # fmt: skip


def changes(system):
    """The alternatives that a system suggests, each as a list of overrides."""
    alternatives = re.split(r",? or |, |; | and ", system.next)
    found = [re.findall(r"[\w.@]+=(?:\[[^\]]*\]|[^\s,;:]+)", words) for words in alternatives]
    return [[word.rstrip(".") for word in words] for words in found if words]
