"""A suggestion: the section ``data`` and the model to start from, as YAML and as a command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from composer.core.storage.example_files import is_example
from composer.data.source import SPLITS
from composer.data.survey.split_choice import as_path
from composer.data.survey.surveying import Survey
from composer.data.tables.table import Column


@dataclass(frozen=True)
class Suggestion:
    """
    model: the template
    data: the section ``data``
    more: other overrides that the model needs
    why: what the model does with the data, in a few words
    """

    model: str
    data: dict[str, Any]
    why: str
    more: dict[str, str] = field(default_factory=dict)

    @property
    def section(self) -> str:
        """The section as YAML."""
        nested = any(isinstance(value, dict | list) for value in self.data.values())
        text: str = yaml.safe_dump(
            {"data": self.data}, sort_keys=False, allow_unicode=True, width=10**6,
            default_flow_style=None if nested else False,
        )  # fmt: skip
        return text.rstrip()

    @property
    def command(self) -> str:
        """The command that trains with it."""
        words = ["python", "train.py", f"model={self.model}", f"data={self.data['type']}"]
        words += [f"{key}={value}" for key, value in self.more.items()]
        words += [f"data.{key}={_override(value)}" for key, value in self.data.items() if key != "type"]
        return shlex.join(words)


@dataclass(frozen=True)
class Advice:
    """
    suggestion: None where the files do not say what is to be predicted
    choices: then, the suggestions to choose from
    unsure: then, what is not known
    unread: the columns that the suggestion does not read, and why
    """

    suggestion: Suggestion | None
    choices: tuple[Suggestion, ...] = ()
    unsure: str = ""
    unread: Mapping[Column, str] = field(default_factory=dict)


def file_keys(found: Survey, preset: str, **keys: Any) -> dict[str, Any]:
    """The keys that name files and say what the files themselves leave open."""
    data: dict[str, Any] = {"type": preset, "path": found.path if is_example(found.path) else _path(found), **keys}
    others = [split for split in SPLITS if split in found.others]
    return data | {split: str(found.folders.get(split) or as_path(found.others[split])) for split in others}


def _path(found: Survey) -> str:
    """The typed path, where it names no file of another split."""
    if found.folders:
        return str(found.folders["train"])
    if len(found.files) == 1:
        return str(found.first)
    return as_path(found.files) if found.others else found.path


def _override(value: Any) -> str:
    """A value as an override spells it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_override(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_override, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and not _plain(value):
        mark = "'" if '"' in value else '"'
        return mark + value.replace("\\", "\\\\").replace(mark, f"\\{mark}") + mark
    return str(value)


def _plain(text: str) -> bool:
    """Whether Hydra reads the text as it is: letters, digits and what stands in paths; not as a number."""
    return bool(text) and all(c.isalnum() or c in "_-./%+@?|*" for c in text) and not text.replace(".", "").isdigit()
