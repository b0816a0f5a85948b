"""The files of the search path of the Hydra that is initialised, and the configs that Hydra makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from hydra.core.default_element import ResultDefault
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.types import RunMode

from composer.config.layers import Layers
from composer.config.yaml_files import ConfigFile, ConfigFolder
from composer.core.problems import UserError

#: A defaults list, with the file of every item.
Defaults = tuple[tuple[ResultDefault, ConfigFile], ...]

#: The defaults lists that this process has computed, by the config's name, the choices of groups and the folders.
_computed: dict[tuple[object, ...], Defaults] = {}


class Merged(NamedTuple):
    """
    layers: the merged files and overrides
    defaults: the defaults list of the files, without Hydra's own
    chosen: the command line's choices of a group: 'mixer' or 'mixer@model.nodes.decoder.mixer' -> the override
    values_set: the overrides that set a value
    """

    layers: Layers
    defaults: list[ResultDefault]
    chosen: dict[str, Override]
    values_set: list[Override]


class SearchPath:
    """The folders of configs, in the order in which Hydra looks into them."""

    def __init__(self) -> None:
        self.loader = GlobalHydra.instance().config_loader()
        entries = (element.path for element in self.loader.get_search_path().get_path())
        found = (folder for entry in entries if (folder := ConfigFolder.of(entry)) is not None)
        self.folders = list(dict.fromkeys(found))  # Hydra and we both add --config-dir

    def find(self, config_path: str) -> ConfigFile | None:
        """The file of a config by its Hydra path, such as mixer/lstm."""
        found = [folder for folder in self.folders if folder.file(config_path).is_file()]
        if len(found) > 1:
            hidden = found[1].read(config_path).shown
            raise UserError(f"{hidden}\n  would be hidden by '{found[0].file(config_path)}'. Give it another name.")
        return found[0].read(config_path) if found else None

    def option(self, group: str, name: object) -> ConfigFile | None:
        """The file of an option of a group; None where a name is none of an option, or a path to somewhere else."""
        named = isinstance(name, str) and name.isidentifier() and group.isidentifier()
        return self.find(f"{group}/{name}") if named else None

    def keys(self, group: str, name: object) -> dict[str, Any]:
        """The keys of an option such as conf/mixer/lstm.yaml, not resolved; empty if there is no such option."""
        file = self.option(group, name)
        if file is None:
            return {}
        made = self.merge(f"{group}/{name}").layers.values[group] if "defaults" in file.content else file.content
        return deepcopy(made)

    def is_group(self, key: str) -> bool:
        return any((folder.path / key).is_dir() for folder in self.folders)

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        """The overrides as Hydra reads them, without those of Hydra's own config."""
        parsed = OverridesParser.create(self.loader).parse_overrides(list(overrides))
        return [override for override in parsed if not override.is_hydra_override()]

    def merge(self, name: str, overrides: Sequence[str] = ()) -> Merged:
        """The config of this name: all files that Hydra lists and all overrides, merged in one pass."""
        parsed = self.parse(overrides)
        chosen = [override for override in parsed if self.is_group(override.key_or_group)]
        for override in parsed:
            key, value = override.key_or_group, override.value()
            if override.is_sweep_override():
                raise UserError(
                    f"command line: {override.input_line}\n  has several values, for a sweep: python train.py -m. "
                    f"For a list, write {key}=[a,b]; for a text with a comma, quote it: {key}=\\'a,b\\'."
                )
            if override in chosen and isinstance(value, list) and not all(isinstance(item, str) for item in value):
                raise UserError(f"command line: {override.input_line}\n  a group takes the names of options.")
        values_set = [override for override in parsed if override not in chosen or isinstance(override.value(), dict)]
        defaults = self._defaults(name, [str(o.input_line) for o in chosen if o not in values_set])
        layers = Layers()
        choices = {o.key_or_group + (f"@{o.package}" if o.package else ""): o for o in chosen}
        for item, file in defaults:
            layers.add_file(item.package or "", str(item.config_path), file)
            if item.package and (chooser := _chooser(item, choices)) is not None:
                layers.places[f"{item.package}.type"] = f"command line: {chooser.input_line}"
        layers.add_overrides(values_set)
        for removed in (str(override.input_line) for override in parsed if override.is_delete()):
            layers.places.setdefault(removed[1:].partition("=")[0], f"command line: {removed}")
        return Merged(layers, [item for item, _ in defaults], choices, values_set)

    def _defaults(self, name: str, choices: Sequence[str]) -> Defaults:
        """The defaults list that Hydra computes, without its own files; the last ones are kept while no file changes.

        choices: the overrides that choose options of groups
        """
        key = (name, *choices, *self.folders)
        known = _computed.get(key, ())
        if known and all(self.find(str(item.config_path)) is file for item, file in known):
            return known
        listed = self.loader.compute_defaults_list(name, list(choices), RunMode.RUN).defaults
        ours = [(item, self.find(str(item.config_path))) for item in listed if not _of_hydra(item)]
        defaults = tuple((item, file) for item, file in ours if file is not None)
        if not any("optional " in str(file.content.get("defaults")) for _, file in defaults):  # files that may appear
            _computed[key] = defaults
        return defaults


def _chooser(item: ResultDefault, chosen: Mapping[str, Override]) -> Override | None:
    """The override that chose this file for its slot, directly or through the slot's default."""
    group, _, name = str(item.config_path).rpartition("/")
    override = chosen.get(f"{group}@{item.package}")
    if override is None and (override := chosen.get(group)) is not None:
        value = override.value()
        override = override if name in (value if isinstance(value, list) else [value]) else None
    return override


def _of_hydra(item: ResultDefault) -> bool:
    return str(item.config_path).startswith("hydra/")
