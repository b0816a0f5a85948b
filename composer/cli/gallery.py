"""The command gallery: the named systems of conf/experiment, from the comments at the top of their files."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from composer.cli.options import json_option, note_own_configs, output
from composer.cli.schema.meanings import FOR_PROGRAMS
from composer.config.yaml_files import folder_of_user
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.program import CONF
from composer.views.tables import Column, text_table

#: Labels that begin a paragraph in the comment of an experiment. The text before the first one says what the system is.
LABELS = {"data": "Your own ", "next": "Next: "}


@dataclass(frozen=True)
class System:
    """An experiment of conf/experiment, as the comment at the top of its file describes it.

    what: the system and its paper
    data: the overrides that replace the embedded data by the user's own, with a word before them
    next: the change that shows most
    """

    name: str
    what: str
    data: str = ""
    next: str = ""

    @property
    def title(self) -> str:
        """The first sentence, which ends at a full stop before a space; initials and "et al." do not end a sentence."""
        return re.split(r"(?<=[^.\s]{3})(?<! al)\.\s", self.what, maxsplit=1)[0].rstrip(".")


def gallery_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", help="one system, in detail")
    command.add_argument("--config-dir", type=Path, help="a folder of YAML of your own, laid out like conf/")
    json_option(command)


def run_gallery(options: argparse.Namespace) -> None:
    """List the named systems of the field that `python train.py experiment=<name>` trains.

    examples:
      composer gallery              every system in a line
      composer gallery bahdanau     what the system is, how to run it, on which files of your own, what to change next
    """
    if options.config_dir is None:
        note_own_configs(folder_of_user())
    found = systems(options.config_dir)
    if options.name is not None and options.name not in found:
        raise UserError(
            f"There is no experiment '{options.name}'.{did_you_mean(options.name, found)}  "
            f"(experiments: {listed(found, len(found))})"
        )
    chosen = list(found.values()) if options.name is None else [found[options.name]]
    shown = partial(_table, chosen) if options.name is None else partial(_detail, *chosen)
    output(options, lambda: {"systems": [asdict(system) for system in chosen]}, shown)


def systems(folder: Path | None = None) -> dict[str, System]:
    """The experiments of this package and of a folder of the user's, by name."""
    own = folder_of_user(folder)
    texts: dict[str, str] = {}
    places = [CONF, *([] if own is None else [own])]
    for place in places:
        experiments = place / "experiment"
        if not experiments.is_dir():
            continue
        for file in experiments.iterdir():
            if file.name.endswith(".yaml"):
                texts[file.name.removesuffix(".yaml")] = file.read_text(encoding="utf-8", errors="replace")
    return {name: described(name, texts[name]) for name in sorted(texts)}


def described(name: str, text: str) -> System:
    """The system that the comment at the top of a file describes."""
    parts: dict[str, list[str]] = {"what": []}
    part = "what"
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if line.startswith(FOR_PROGRAMS):
            continue
        line = line.removeprefix("#").strip()
        for label, begin in LABELS.items():
            if line.startswith(begin):
                part = label
                line = line if label == "data" else line.removeprefix(begin)
        parts.setdefault(part, []).append(line)
    return System(name, **{part: " ".join(lines) for part, lines in parts.items()})


def _table(found: list[System]) -> str:
    table = text_table(["system", Column("what it is", cut=True)], [(system.name, system.title) for system in found])
    example = found[0].name
    last = f"Train one: python train.py experiment={example}. More about it: python -m composer gallery {example}"
    return f"{table}\n\n{last}"


def _detail(system: System) -> str:
    rows = {
        "is": system.what,
        "train": f"python train.py experiment={system.name}",
        "look": f"python -m composer describe experiment={system.name}",
        "data": system.data,
        "next": system.next,
    }
    return text_table([system.name, ""], [(label, text) for label, text in rows.items() if text])
