"""The data of a run, as in training or changed by overrides, encoded with the model's vocabularies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser

from composer.config.composition import compose
from composer.config.environment import with_environment
from composer.config.sentences import hydra_errors
from composer.core.problems import UserError
from composer.core.signals import Field
from composer.data import Source, Split, load_source
from composer.data.files.new_files import NewFiles
from composer.inference.foreign_files import check_named
from composer.objectives import Objective, load_objective

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


def read_data(
    config: Mapping[str, Any],
    state: Mapping[str, Any],
    overrides: Sequence[str],
    known: Mapping[str, Field],
    fields: Collection[str] | None = None,
    *,
    own: bool = True,
    new_files: NewFiles = NewFiles(),  # noqa: B008 - frozen
) -> Objective:
    """The objective of a run, over the run's data with overrides.

    known: the fields of the data that the run was trained on
    fields: read only these fields, and all rows as one split; None: read all fields, in their splits
    own: whether this user trained the run; otherwise only files that the overrides name are read
    new_files: with fields, what is known of the files
    """
    written = config["data"]  # in which a foreign config may name any environment variable
    section, places = changed(with_environment(written)[0] if own else written, overrides)
    if not own:
        check_named(section, places, whole=fields is not None)
    source = load_source(section, lambda path: places.get(path, ""), state, fields, new_files)
    check_fields(source, known)
    return load_objective(config["objective"], source)


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
