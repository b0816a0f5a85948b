"""Hydra's loader of configs without work done twice: every file is parsed once in a process, until the file changes,
and the defaults list of a config that has just been composed is kept.
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository, IConfigRepository
from hydra._internal.defaults_list import Overrides
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.default_element import ResultDefault
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig

#: What a file was when it was read: time of the last change, size.
Stamp = tuple[int, int]

#: The parsed files of this process, by their path and their path in the source.
_parsed: dict[tuple[Path, str], tuple[Stamp, ConfigResult]] = {}


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
    """Parses a file again only if the file has changed. Hydra changes what it is given: every caller gets a copy."""

    def load_config(self, config_path: str) -> ConfigResult | None:
        source = self._find_object_source(config_path, ObjectType.CONFIG)
        if source is None or source.scheme() not in ("file", "pkg"):
            return super().load_config(config_path)
        folder = _folder(f"{source.scheme()}://{source.path}")
        if folder is None:
            return super().load_config(config_path)
        file = folder / f"{config_path.removesuffix('.yaml')}.yaml"
        now = stamp(file)
        known = _parsed.get((file, config_path))
        if known is None or known[0] != now:
            loaded = super().load_config(config_path)
            assert loaded is not None  # its source has the config
            known = _parsed[file, config_path] = (now, loaded)
        return copy.deepcopy(known[1])


class Loader(ConfigLoaderImpl):
    """Hydra's loader, with files in memory and the defaults list of the config that it composed last."""

    def __init__(self, search_path: ConfigSearchPath) -> None:
        super().__init__(search_path)
        self.repository = _Repository(search_path)
        self._last: tuple[list[ResultDefault], IConfigRepository] | None = None
        self._of: tuple[str | None, list[str]] | None = None

    def load_configuration(
        self, config_name: str | None, overrides: list[str], *args: Any, **kwargs: Any
    ) -> DictConfig:
        self._of = None
        config = super().load_configuration(config_name, overrides, *args, **kwargs)
        self._of = (config_name, list(overrides))
        return config

    def _compose_config_from_defaults_list(self, defaults: list[ResultDefault], repo: IConfigRepository) -> DictConfig:
        self._last = (defaults, repo)
        return super()._compose_config_from_defaults_list(defaults, repo)

    def __getstate__(self) -> dict[str, Any]:
        """What a trial in another process gets: without the last config."""
        return self.__dict__ | {"_last": None, "_of": None}

    def defaults(self, config_name: str, overrides: Sequence[str]) -> tuple[list[ResultDefault], list[Override]]:
        """The defaults list of a config, and the overrides that set a value instead of choosing a file."""
        if self._last is None or self._of != (config_name, list(overrides)):
            computed = self.compute_defaults_list(config_name, list(overrides), RunMode.RUN)
            return computed.defaults, computed.config_overrides
        defaults, repository = self._last
        parsed = OverridesParser.create().parse_overrides(list(overrides))
        return defaults, Overrides(repository, parsed).config_overrides


def quick_loader() -> Loader:
    """The loader of the Hydra that is initialised, from now on one that does no work twice."""
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    if not isinstance(hydra.config_loader, Loader):
        hydra.config_loader = Loader(hydra.config_loader.get_search_path())
    return hydra.config_loader
