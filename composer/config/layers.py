"""The files and overrides of a config, merged in one pass, and what set every key: the file and line, or the override.

The result is that of Hydra, which merges mappings, lets a value or a list take the place of another, and leaves a value
as it is where a later file has ``???``. Plain data is merged: several times faster than OmegaConf's nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf, open_dict

from composer.config.overrides import without_new_key
from composer.config.yaml_files import ConfigFile
from composer.core.problems import UserError

COMMAND_LINE = "command line"


@dataclass
class Layers:
    """A config of layers: files in the order in which Hydra merges them, then the command line.

    values: the merged values, not resolved
    files: the package and the file of every layer; the command line has None
    set_by: for every path, the numbers of the layers that set it, in ascending order
    places: for every path, the file and line, or the override
    origins: for every path, the config that set it last, such as mixer/lstm, or 'command line'
    """

    values: dict[Any, Any] = field(default_factory=dict)
    files: list[tuple[str, ConfigFile | None]] = field(default_factory=list)
    set_by: dict[str, list[int]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def add_file(self, package: str, config_path: str, file: ConfigFile) -> None:
        """Merge a file at its place in the config, which is its package."""
        self.files.append((package, file))
        self.places.setdefault(package, f"{file.shown}:1")
        beside = ("defaults",) if package else ("defaults", "hydra")  # what Hydra itself reads
        content = {key: value for key, value in file.content.items() if key not in beside}
        into = self.values
        for name in package.split(".") if package else ():
            into = self._mapping(into, name, package)
        self._merge(into, content, f"{package}." if package else "", config_path, file, "")

    def _merge(
        self, into: dict[Any, Any], content: Mapping[Any, Any], prefix: str, origin: str, file: ConfigFile, inside: str
    ) -> None:
        """
        prefix: the path of ``into`` in the config, with a dot behind
        inside: the path of ``content`` in the file, with a dot behind
        """
        for key, value in content.items():
            path, line = f"{prefix}{key}", file.lines.get(f"{inside}{key}")
            self._note(path, f"{file.shown}:{line}" if line is not None else self.places.get(prefix[:-1], ""), origin)
            if isinstance(value, dict):
                self._merge(self._mapping(into, key, path), value, f"{path}.", origin, file, f"{inside}{key}.")
            elif isinstance(value, list):
                if isinstance(into.get(key), dict) or isinstance(self._referred(into, key, path), dict):
                    raise UserError(f"{self.places[path]}\n  '{path}' is a mapping. A list cannot take its place.")
                into[key] = deepcopy(value)
            elif value != "???" or key not in into:
                into[key] = value

    def _mapping(self, into: dict[Any, Any], key: Any, path: str) -> dict[Any, Any]:
        """The mapping into which another one is merged; in the place of a value, a new one."""
        before = self._referred(into, key, path)
        if isinstance(before, list):
            raise UserError(f"{self.places[path]}\n  '{path}' is a list. A mapping cannot take its place.")
        into[key] = before if isinstance(before, dict) else {}
        return into[key]

    def _referred(self, into: Mapping[Any, Any], key: Any, path: str) -> Any:
        """What is there before a merge; of ``${another.key}``, the mapping or the list there."""
        before = into.get(key)
        if not (isinstance(before, str) and "${" in before):
            return before
        found = OmegaConf.select(OmegaConf.create(self.values), path, throw_on_resolution_failure=False)
        return OmegaConf.to_container(found, resolve=False) if OmegaConf.is_config(found) else before

    def _note(self, path: str, place: str, origin: str) -> None:
        """What the last layer sets."""
        self.places[path], self.origins[path] = place, origin
        by, layer = self.set_by.setdefault(path, []), len(self.files) - 1
        if layer not in by:
            by.append(layer)

    def add_overrides(self, overrides: Sequence[Override]) -> None:
        """Apply the overrides of the command line that set, add and remove values, as Hydra does."""
        self.files.append(("", None))
        if not overrides:
            return
        config = OmegaConf.create(self.values)
        OmegaConf.set_struct(config, True)
        for override in overrides:
            _apply(config, override)
            key = override.key_or_group
            for known in [known for known in self.places if known.startswith(f"{key}.")]:
                del self.places[known]
            self._note_value(key, override.value(), f"{COMMAND_LINE}: {without_new_key(str(override.input_line))}")
        values: Any = OmegaConf.to_container(config, resolve=False)
        self.values = values

    def _note_value(self, path: str, value: Any, place: str) -> None:
        self._note(path, place, COMMAND_LINE)
        for key, item in value.items() if isinstance(value, Mapping) else ():
            self._note_value(f"{path}.{key}", item, place)

    def last(self, path: str) -> int:
        """The last layer that set a path or anything inside; -1 if none did."""
        inside = f"{path}."
        return max(
            (by[-1] for known, by in self.set_by.items() if known == path or known.startswith(inside)), default=-1
        )

    def value(self, path: str, layer: int) -> Any:
        """The value that a file sets at a path; None for the command line."""
        package, file = self.files[layer]
        return None if file is None else select(file.content, path.removeprefix(f"{package}.") if package else path)


def select(tree: Any, path: str) -> Any:
    """The value at a path of nested mappings and lists; None if there is none."""
    for key in path.split("."):
        if isinstance(tree, Mapping):
            tree = tree.get(key)
        else:
            tree = tree[int(key)] if isinstance(tree, list) and key.isdigit() and int(key) < len(tree) else None
    return tree


def _apply(config: DictConfig, override: Override) -> None:
    """Set, add or remove a value. A key that the config does not have needs + or ++."""
    key, value, place = override.key_or_group, override.value(), f"{COMMAND_LINE}: {override.input_line}"
    if override.package is not None:
        raise UserError(f"{place}\n  there is no group '{key}', whose options could be put into '{override.package}'.")
    before = OmegaConf.select(config, key, throw_on_missing=False)
    if override.is_delete():
        if before is None:
            raise UserError(f"{place}\n  there is nothing to remove: '{key}' has no value.")
        if value is not None and value != before:
            raise UserError(f"{place}\n  is not removed: the value of '{key}' is {before}.")
        parent, _, name = key.rpartition(".")
        with open_dict(config):
            del (OmegaConf.select(config, parent) if parent else config)[name]
    elif override.is_add() and before is not None and not isinstance(value, dict | list):
        better = str(override.input_line).removeprefix("+")
        raise UserError(f"{place}\n  '{key}' has a value already. To change the value, leave the + out: {better}")
    else:
        OmegaConf.update(config, key, value, merge=True, force_add=override.is_add() or override.is_force_add())
