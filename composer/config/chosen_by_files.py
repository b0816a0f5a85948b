"""What a YAML file chooses, and only the command line may: the file may be somebody else's.

A file names paths below its own folder and below the working folder, unless the user says more. A value counts as the
user's if the command line has it. All other values that lead elsewhere are refused, wherever they come from: only those
that a file of this package sets are known to be harmless.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from composer.config.layers import Layers
from composer.config.overrides import ALLOW_PATHS
from composer.config.yaml_files import ConfigFolder
from composer.core.problems import UNRESOLVED, Problem, Report
from composer.core.storage.addresses import is_remote

#: The keys outside of ``data`` and ``model`` that name paths.
PATHS = ("runs", "resume", "init.from")

#: The sections whose texts are overrides and ranges of overrides.
OF_OVERRIDES = ("study", "search")

#: What separates the words of an override or a range.
BETWEEN = re.compile(r"[\s=,()\[\]{}'\":]+")


def chosen_by_files(
    values: Mapping[str, Any], overrides: Iterable[Override], layers: Layers, folders: Sequence[ConfigFolder]
) -> list[Problem]:
    """Problems for what only the command line can choose: code, a run to go on with, and paths that lead anywhere.

    values: the resolved config
    overrides: those that set a value
    folders: the folders of configs
    """
    typed = frozenset(key for override in overrides for key in _keys(override.key_or_group, override.value()))
    problems = _code_and_runs(values, typed)
    others = [folder.path for folder in folders if not folder.trusted]
    if problems or not others or values.get("allow_paths") is True:
        return problems
    config = OmegaConf.create(layers.values)
    texts = {_value(config, key) for key in typed}
    below = [Path(os.path.realpath(folder)) for folder in (Path.cwd(), *others)]
    for key, text in named_paths(values):
        if text in texts or any(key == own or key.startswith(f"{own}.") for own in typed) or _ours(layers, key, text):
            continue
        remote = key.startswith("data.") and is_remote(text)
        place = text if remote else leads_elsewhere(text, below)
        if place is not None:
            option = re.sub(r"(\.\d+)+$", "", key)  # of a list's item, the list
            link = "" if place == text else f", where '{place}' leads to '{os.path.realpath(place)}'"
            message = (
                f"names '{text}'{link}, outside of the working folder and of --config-dir. A file of configs names "
                f"paths below these two only. If you want this one, type it ({option}=...), or let the files name any "
                f"path: {ALLOW_PATHS[0]}."
            )
            problems.append(Problem(key, message))
    return problems


def _code_and_runs(values: Mapping[str, Any], typed: Container[str]) -> list[Problem]:
    """Problems for code, a run to go on with (by a config and with data of its own), and the leave to name any path.

    typed: the keys that the command line sets
    """
    report = Report()
    plugins, resume = values.get("plugins"), values.get("resume")
    if isinstance(plugins, list) and plugins and "plugins" not in typed:
        message = "a file cannot choose code to run. If you trust this code, name it on the command line, too: "
        report.add("plugins", f"{message}'plugins=[{','.join(map(str, plugins))}]'")
    if resume not in (None, UNRESOLVED) and "resume" not in typed:
        report.add("resume", f"a file cannot choose a run to go on with. Name it on the command line: resume={resume}")
    if values.get("allow_paths") is True and "allow_paths" not in typed:
        report.add("allow_paths", "a file cannot allow itself any path. Leave it out here, and type --allow-paths.")
    return report.problems


def _ours(layers: Layers, key: str, text: str) -> bool:
    """Whether a file of this package sets the text at a key."""
    last = layers.set_by.get(key, [-1])[-1]
    file = layers.files[last][1] if last >= 0 else None
    return file is not None and file.trusted and layers.value(key, last) == text


def _value(config: DictConfig, key: str) -> str | None:
    try:
        value = OmegaConf.select(config, key)
    except OmegaConfBaseException:  # which is reported as a problem of its own
        return None
    return value if isinstance(value, str) else None


def _keys(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _keys(f"{key}.{name}", item)
    else:
        yield key


def named_paths(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a config that may be paths, by their keys: those of the keys that are known to name paths, and in
    all other places those that look like one."""
    from composer.data.files.named_files import (  # with torch, which most commands need later
        files_of,
        like_path,
        texts_of,
    )

    files = block_files()
    for section, value in values.items():
        if section == "data":
            yield from files_of(value)
            continue
        for key, text in texts_of(value, section):
            if section in OF_OVERRIDES:
                words = [text] if "${" in text else BETWEEN.split(text)
                yield from ((key, word) for word in words if "/" in word or word.startswith(("~", "$")))
            elif key in PATHS or like_path(text) or (section == "model" and key.rpartition(".")[2] in files):
                yield key, text


def block_files() -> frozenset[str]:
    """The parameters of blocks that name a file, or another run."""
    from composer.core import registry
    from composer.core.capabilities import declared
    from composer.graph.trained import graph_knob

    blocks = registry.classes()
    runs = (graph_knob(block) for block in blocks)
    return frozenset(knob for block in blocks for knob in declared(block, "files")) | {knob for knob in runs if knob}


def leads_elsewhere(text: str, below: Sequence[Path]) -> str | None:
    """The path, or the link inside its folder, that leads to none of these folders; None if there is none."""
    if "${" in text:  # what it stands for is not known yet
        return text
    path = os.path.expanduser(text)
    if "\0" in path:
        return None  # no path, and nothing opens it
    places = (text if place == path else place for place in (path, *_inside(path)))
    return next((place for place in places if not _is_below(os.path.expanduser(place), below)), None)


def _is_below(place: str, below: Sequence[Path]) -> bool:
    return any(Path(os.path.realpath(place)).is_relative_to(folder) for folder in below)


def _inside(path: str) -> Iterator[str]:
    """The links inside a folder, or the paths that fit a glob pattern."""
    if not os.path.isdir(path):
        yield from glob.iglob(path, recursive=True) if glob.has_magic(path) else ()
        return
    for folder, names, files in os.walk(path):
        yield from (place for name in (*names, *files) if os.path.islink(place := os.path.join(folder, name)))
