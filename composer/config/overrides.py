"""Checks of the words of a command line, and of the overrides that files of a study or a sweep hold.

Hydra's own config names functions to call, so an override may set only a few of its keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from omegaconf import OmegaConf

from composer.config.yaml_files import CALLING, INTO_HYDRA, LONGEST_NUMBER, PLAIN
from composer.core.problems import UserError

#: The groups and keys of Hydra's own config that an override may set; a key stands for those below it, too.
ALLOWED = re.compile(
    r"hydra/(launcher|sweeper)|hydra\.(launcher|sweeper)\.[\w.]+|hydra\.(sweep\.(dir|subdir)|searchpath|verbose)"
)

#: What Lightning adds to the command line where it starts the other processes of a run.
OF_LIGHTNING = re.compile(r"""hydra\.run\.dir=["']?\.["']?|hydra\.job\.name=\w+|hydra\.output_subdir=null""")

#: Keys of Hydra that make it call something: a part of an override's key, or a key of the mapping that is its value.
CALLS = re.compile(rf"(?:^|[\s.{{,+'\"])({'|'.join(CALLING)})['\"]?\s*(?:[.:=]|$)")

#: Options of Hydra that read pickled objects, which could run code.
REFUSED_OPTIONS = ("--experimental-rerun",)

HINTS = {
    "hydra.run": "A run makes its folder itself: runs=... is the folder of all runs, name=... that of this run.",
    "hydra.job.": "A run makes its folder itself: runs=... is the folder of all runs, name=... that of this run.",
}


def check_overrides(words: Iterable[str]) -> None:
    """Raise a UserError for an override that could call a function, or that no parser can take."""
    for word in words:
        if word.startswith(REFUSED_OPTIONS):
            raise UserError(f"command line: {word}\n  is refused: it reads a pickled file, which could run code.")
        if word.startswith("-"):
            continue
        key = word.lstrip("+~").partition("=")[0].strip()
        shown = word if len(word) <= 100 else f"{word[:97]}..."
        if (call := CALLS.search(word)) is not None:
            raise UserError(f"command line: {shown}\n  '{call[1]}' makes Hydra call a function. {PLAIN}")
        if INTO_HYDRA.search(key) and not ALLOWED.fullmatch(key) and not OF_LIGHTNING.fullmatch(word):
            hint = next((hint for start, hint in HINTS.items() if key.startswith(start)), "")
            allowed = "  (of hydra: hydra/launcher, hydra/sweeper, hydra.launcher.*, hydra.sweeper.*, hydra.sweep.dir)"
            raise UserError(f"command line: {shown}\n  '{key}' cannot be set here. {hint}{allowed * (not hint)}")
        if re.search(rf"\d{{{LONGEST_NUMBER},}}", word):
            raise UserError(f"command line: {shown}\n  has a number of more than {LONGEST_NUMBER} digits.")
        if "\0" in word or nesting(word) > 50:
            raise UserError(f"command line: {shown}\n  is nested more than 50 levels deep. Make it flatter.")


def as_typed(overrides: Sequence[str]) -> list[str]:
    """The overrides that Hydra's config lists, with interpolations as they were typed: they may read secrets."""
    found: Any = OmegaConf.to_container(overrides, resolve=False) if OmegaConf.is_config(overrides) else overrides
    return list(found)


def nesting(word: str) -> int:
    """The depth of the brackets of an override."""
    depth = deepest = 0
    for letter in word:
        depth += (letter in "[{(") - (letter in "]})")
        deepest = max(deepest, depth)
    return deepest


#: The option by which files of configs may name paths anywhere, and the override that it stands for.
ALLOW_PATHS = ("--allow-paths", "allow_paths=true")

#: Hydra's own options that take a value after an equals sign.
OPTIONS = ("config-path", "config-name", "config-dir", "cfg", "package", "info", "experimental-rerun")


def without_hyphens(words: Sequence[str]) -> list[str]:
    """The words of a command line, with overrides that are written as options: --allow-paths, and --key=value, as W&B's
    agent writes them."""
    option = re.compile(rf"--(?!(?:{'|'.join(OPTIONS)})=)[^=]+=")
    return [ALLOW_PATHS[1] if word == ALLOW_PATHS[0] else word[2:] if option.match(word) else word for word in words]
