"""Hydra's loader of configs without work done twice: every file is parsed once in a process, until the file changes,
and the defaults list and the parsed overrides of a config that has just been composed are kept.

This is the one module that uses private names of Hydra (``hydra._internal``). By its public names a config takes 0.3 s
or more, here less than 0.1 s after the first: a study composes one for every arm and trial. Hydra also offers no public
way to check a user's file before it is parsed, or to ask for the defaults list of a config that it has composed.
"""

from __future__ import annotations

import copy
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, ConfigRepository, IConfigRepository
from hydra._internal.core_plugins import file_config_source, importlib_resources_config_source
from hydra._internal.defaults_list import Overrides
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.default_element import ResultDefault
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, flag_override

from composer.config import yaml_files
from composer.config.merging import NotPlain, embed, merge
from composer.core.problems import UserError

#: What a file was when it was read: time of the last change, size.
Stamp = tuple[int, int]

#: The parsed files of this process, by their path and their path in the source.
_parsed: dict[tuple[Path, str], tuple[Stamp, ConfigResult]] = {}

#: The contents of parsed files as plain data, by the identity of the parsed file.
_contents: dict[int, tuple[ConfigResult, Any]] = {}

#: Hydra's own config, merged, with the parsed files that it is made of, by their names and packages.
_hydras: dict[tuple[tuple[str | None, str | None], ...], tuple[list[ConfigResult | None], DictConfig]] = {}


def stamp(file: Path) -> Stamp:
    """Changes when the file does."""
    found = file.stat()
    return found.st_mtime_ns, found.st_size


def root(path: str | None) -> Path | None:
    """The folder of an entry in Hydra's search path; None for entries that are no folder of ours or the user's."""
    if path is None or path.startswith(("structured:", "pkg://hydra")):
        return None
    return _folder(path)


def _folder(path: str) -> Path | None:
    if path.startswith("pkg://"):
        spec = importlib.util.find_spec(path.removeprefix("pkg://").replace("/", "."))
        return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None
    return Path(path.removeprefix("file://"))


class _Repository(ConfigRepository):
    """Parses a file again only if the file has changed. All callers get the same result, of which ``Loader`` copies."""

    def load_config(self, config_path: str) -> ConfigResult | None:
        source = self._find_object_source(config_path, ObjectType.CONFIG)
        if source is None or source.scheme() not in ("file", "pkg", "structured"):
            return super().load_config(config_path)
        if source.scheme() == "structured":  # Hydra's own, which do not change
            return self._parsed_once(Path(), config_path, (0, 0))
        folder = _folder(f"{source.scheme()}://{source.path}")
        if folder is None:
            return super().load_config(config_path)
        file = folder / f"{config_path.removesuffix('.yaml')}.yaml"
        return self._parsed_once(file, config_path, stamp(file))

    def _parsed_once(self, file: Path, config_path: str, now: Stamp) -> ConfigResult:
        known = _parsed.get((file, config_path))
        if known is None or known[0] != now:
            loaded = super().load_config(config_path)
            assert loaded is not None  # its source has the config
            _contents.pop(id(known[1]) if known is not None else 0, None)
            known = _parsed[file, config_path] = (now, loaded)
        return known[1]


def _content(loaded: ConfigResult) -> Any:
    """The content of a file as plain data, which nobody may change."""
    known = _contents.get(id(loaded))
    if known is None or known[0] is not loaded:
        known = _contents[id(loaded)] = (loaded, OmegaConf.to_container(loaded.config, resolve=False))
    return known[1]


class Loader(ConfigLoaderImpl):
    """Hydra's loader, with files in memory and the defaults list of the config that it composed last."""

    def __init__(self, search_path: ConfigSearchPath) -> None:
        super().__init__(search_path)
        self.repository = _Repository(search_path)
        self._last: tuple[list[ResultDefault], IConfigRepository] | None = None
        self._of: tuple[str | None, list[str]] | None = None
        self._overrides: tuple[list[str], list[Override]] | None = None

    def load_configuration(
        self, config_name: str | None, overrides: list[str], *args: Any, **kwargs: Any
    ) -> DictConfig:
        self._of = None
        config = super().load_configuration(config_name, overrides, *args, **kwargs)
        self._of = (config_name, list(overrides))
        return config

    def _compose_config_from_defaults_list(self, defaults: list[ResultDefault], repo: IConfigRepository) -> DictConfig:
        """Hydra's own files, which are merged once in a process, and then the files of this config as plain data."""
        self._last = (defaults, repo)
        own = next((at for at, item in enumerate(defaults) if not str(item.config_path).startswith("hydra/")), 0)
        try:
            ours = OmegaConf.create(self._plain(defaults[own:], repo))
        except NotPlain:
            return super()._compose_config_from_defaults_list(defaults, repo)
        config = self._of_hydra(defaults[:own], repo)
        with flag_override(config, "no_deepcopy_set_nodes", True):
            config.merge_with(ours)
        return config

    def _of_hydra(self, defaults: list[ResultDefault], repo: IConfigRepository) -> DictConfig:
        parts = tuple((item.config_path, item.package) for item in defaults)
        files = [repo.load_config(str(path)) for path, _ in parts]
        known = _hydras.get(parts)
        if known is None or any(file is not before for file, before in zip(files, known[0], strict=True)):
            known = _hydras[parts] = (files, super()._compose_config_from_defaults_list(defaults, repo))
        return copy.deepcopy(known[1])

    def _plain(self, defaults: list[ResultDefault], repo: IConfigRepository) -> dict[Any, Any]:
        """The merged content of files. Raises ``NotPlain`` for what Hydra treats in a way of its own."""
        merged: dict[Any, Any] = {}
        for item in defaults:
            path = str(item.config_path)
            loaded = repo.load_config(path)
            if loaded is None or loaded.is_schema_source or repo.get_schema_source().is_config(path):
                raise NotPlain
            package = loaded.header["package"] if item.package is None else item.package
            content = _content(loaded)
            if not item.primary and isinstance(content, dict) and "hydra" in content:
                raise NotPlain
            merge(merged, embed(content, package or ""))
        return merged

    def _load_single_config(self, default: ResultDefault, repo: IConfigRepository) -> ConfigResult:
        """A file's content in its package. Hydra changes what it is given, and copies a content only into a package."""
        found = super()._load_single_config(default, repo)
        shared = repo.load_config(str(default.config_path))
        is_shared = shared is not None and found.config is shared.config
        return replace(found, config=copy.deepcopy(found.config)) if is_shared else found

    def _parse_overrides_and_create_caching_repo(
        self, config_name: str | None, overrides: list[str]
    ) -> tuple[list[Override], CachingConfigRepository]:
        repository = CachingConfigRepository(self.repository)
        parsed = self.parsed(overrides)
        self._process_config_searchpath(config_name, parsed, repository)
        for override in parsed:
            value, key = override.value(), override.key_or_group
            other = isinstance(value, list) and not all(isinstance(option, str) for option in value)
            if other and repository.group_exists(key):
                raise UserError(f"command line: {override.input_line}\n  a group takes the names of options.")
        return parsed, repository

    def parsed(self, overrides: Sequence[str]) -> list[Override]:
        """The overrides as Hydra reads them; those of the last call are kept."""
        if self._overrides is None or self._overrides[0] != list(overrides):
            self._overrides = (list(overrides), OverridesParser.create(self).parse_overrides(list(overrides)))
        return list(self._overrides[1])

    def __getstate__(self) -> dict[str, Any]:
        """What a trial in another process gets: without the last config."""
        return self.__dict__ | {"_last": None, "_of": None, "_overrides": None}

    def defaults(self, config_name: str, overrides: Sequence[str]) -> tuple[list[ResultDefault], list[Override]]:
        """The defaults list of a config, and the overrides that set a value instead of choosing a file."""
        if self._last is None or self._of != (config_name, list(overrides)):
            computed = self.compute_defaults_list(config_name, list(overrides), RunMode.RUN)
            return computed.defaults, computed.config_overrides
        defaults, repository = self._last
        return defaults, Overrides(repository, self.parsed(overrides)).config_overrides


class FileConfigSource(file_config_source.FileConfigSource):
    """Hydra's source of files, which checks every file before it is read."""

    def load_config(self, config_path: str) -> ConfigResult:
        file = Path(os.path.realpath(os.path.join(self.path, self._normalize_file_name(config_path))))
        if not file.is_relative_to(os.path.realpath(self.path)):
            raise UserError(yaml_files.leads_out(config_path, self.path))
        if file.exists():
            yaml_files.check_file(file, config_path)
        return super().load_config(config_path)


class ImportlibResourcesConfigSource(importlib_resources_config_source.ImportlibResourcesConfigSource):
    """Hydra's source of files in packages, which checks every file of a package other than ours."""

    def load_config(self, config_path: str) -> ConfigResult:
        if ".." in config_path.split("/"):
            raise UserError(yaml_files.leads_out(config_path, self.path))
        if not yaml_files.OWN_PACKAGES.match(self.path):
            file = resources.files(self.path).joinpath(self._normalize_file_name(config_path))
            if file.is_file():
                yaml_files.check_yaml(file.read_text(encoding="utf-8"), f"{self.path}/{config_path}.yaml")
        return super().load_config(config_path)


def install() -> None:
    """Let Hydra read files through the sources above. Their names are those of Hydra's, which it then keeps."""
    SourcesRegistry.instance().types |= {"file": FileConfigSource, "pkg": ImportlibResourcesConfigSource}


def quick_loader() -> Loader:
    """The loader of the Hydra that is initialised, from now on one that does no work twice."""
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    if not isinstance(hydra.config_loader, Loader):
        hydra.config_loader = Loader(hydra.config_loader.get_search_path())
    return hydra.config_loader
