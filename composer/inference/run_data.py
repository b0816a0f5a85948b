"""The data of a run, as in training or changed by overrides, encoded with the model's vocabularies.

A checkpoint of somebody else may not choose which files are read: ``check_named``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser

from composer.config.composition import compose
from composer.config.sentences import hydra_errors
from composer.core.problems import UserError
from composer.core.signals import Field
from composer.core.storage.example_files import is_example
from composer.data import Source, Split
from composer.data.files.named_files import files_of
from composer.objectives import Objective

#: The keys of a tokeniser that can change without a new vocabulary.
FREE = ("max_length", "bleu")


@dataclass(frozen=True)
class Data:
    """The rows of one split."""

    objective: Objective
    split: Split

    def __len__(self) -> int:
        return self.objective.size(self.split)

    def checked(self) -> Data:
        """This data, or an error if it has no rows."""
        if not len(self):
            raise UserError(f"the split '{self.split}' of this data is empty. Choose another one, or give more data.")
        return self


def changed(section: Mapping[str, Any], overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """A run's ``data`` section with overrides applied, and the override that set each changed key."""
    values, places = deepcopy(dict(section)), {}
    with hydra_errors(overrides):
        parsed = OverridesParser.create().parse_overrides(list(overrides))
    for override in parsed:
        key, written = override.key_or_group, str(override.input_line)
        if key.split(".")[0] != "data" or override.is_delete() or override.package is not None:
            raise UserError(f"'{written}': only the data can be changed, e.g. data.path=new.tsv. The model is trained.")
        if override.is_sweep_override():
            raise UserError(f"'{written}' gives several values. Give one.")
        places[key] = f"command line: {written}"
        if key == "data":
            values = compose([written]).values["data"]
            continue
        *parents, name = key.split(".")[1:]
        if any("tokeniser" in parent for parent in parents) and name not in FREE:
            raise UserError(
                f"'{written}' would have no effect: the vocabulary is the one that the model was trained on."
            )
        inner = values
        for parent in parents:
            if parents[0] == "sources" and isinstance(inner.get(parent), str):
                inner[parent] = {"path": inner[parent]}  # a source of a mixture that is written as its path
            if not isinstance(inner.get(parent), dict):
                raise UserError(f"'{written}': the data of this run has no '{parent}' with such a key.")
            inner = inner[parent]
        inner[name] = override.value()
    return values, places


def check_named(section: Mapping[str, Any], named: Collection[str], *, whole: bool) -> None:
    """Raise a UserError unless the user has named every file that the data would be read from.

    The example files of this package may be read: they are the same on every machine.

    section: the ``data`` section of a checkpoint that this user has not signed, with the user's overrides
    named: the keys that the user has given, e.g. data.path
    whole: whether all rows of ``path`` are read, so that the files of other splits are not
    """
    if "data" in named:
        return
    found = {key: text for key, text in files_of(section) if key not in named and not is_example(text)}
    if whole:
        found = {key: text for key, text in found.items() if not key.endswith((".valid", ".test"))}
    if found:
        given = " ".join(f"{key}={text}" for key, text in found.items())
        raise UserError(
            f"this model was not trained here, and its config names files ({given}). A checkpoint cannot choose which "
            "files of this machine are read. Name yours: data.path=...; the files of its config, if you want these, "
            "with --split for one of their splits."
        )


def check_fields(source: Source, known: Mapping[str, Field]) -> None:
    """Raise an error if the data's sizes or vocabularies differ from those that the model was trained with."""
    found = source.fields
    for name, before in known.items():
        now = found.get(name)
        if now is None:
            raise UserError(f"this data has no '{name}', which the model was trained with.")
        sizes = ("kind", "dim", "vocabulary", "channels", "height", "width", "axis")
        details = [
            f"{what} {new}, not {old}"
            for what in sizes
            if (new := getattr(now, what)) != (old := getattr(before, what))
        ]
        if not details and now.contents.tokens != before.contents.tokens:
            details = ["other tokens"]
        if details:
            raise UserError(f"this data does not fit the model: '{name}' has {details[0]}, as it was trained with.")
