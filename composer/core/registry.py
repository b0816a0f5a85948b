"""Everything that a config can name, by kind and name: blocks, data sources and their fields, objectives, metrics ...

    @register("mixer", "mingru")          a block: an nn.Module; its kind is any word, and slots are named after kinds
    @register("optimiser", "adamw")       an entry of a section of the config, which chooses the entry by ``type``

Only this decorator registers names. A config can import further modules only as plugins, in its list ``plugins``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from torch import nn

from composer.core.capabilities import check_capabilities, offers
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.program import shipped

#: The packages of blocks that are always loaded: the kernel's combinators and the catalogue.
BLOCKS = ("composer.graph.combinators", "composer.catalogue")

#: The sections of a config whose entries are not blocks, and the package whose modules register our entries. Fields
#: and tokenisers are chosen inside the section ``data``.
SECTION_PACKAGES = {
    "data": "composer.data",
    "field": "composer.data.fields",
    "tokeniser": "composer.data.tokenisers",
    "objective": "composer.objectives",
    "optimiser": "composer.training.optimisation.optimisers",
    "schedule": "composer.training.optimisation.schedules",
    "logger": "composer.training.loggers",
    "callback": "composer.training.callbacks.by_name",
    "metric": "composer.metrics",
}

Entry = TypeVar("Entry", bound=Callable[..., Any])

_registered: dict[str, dict[str, Callable[..., Any]]] = {}

#: The modules that were loaded as plugins: those that register entries, or import modules that do.
_plugin_modules: set[str] = set()


def register(kind: str, name: str) -> Callable[[Entry], Entry]:
    """Register a class or a function under its kind and name."""

    def enter(entry: Entry) -> Entry:
        if isinstance(entry, type) and issubclass(entry, nn.Module):
            if kind in SECTION_PACKAGES:
                raise UserError(f"{entry.__module__}.{entry.__qualname__} is a block: it cannot be of kind '{kind}'.")
            check_capabilities(entry)
        elif kind not in SECTION_PACKAGES:
            raise UserError(
                f"{entry.__module__}.{entry.__qualname__} is no nn.Module, so its kind is a section of the config, not "
                f"'{kind}'.{did_you_mean(kind, SECTION_PACKAGES)}  (sections: {listed(SECTION_PACKAGES)})"
            )
        known = _registered.setdefault(kind, {}).setdefault(name, entry)
        if known is not entry and known.__module__ != entry.__module__:
            raise UserError(
                f"The {kind} '{name}' of {entry.__module__} is already registered by {known.__module__}. "
                "Give one of them another name."
            )
        _registered[kind][name] = entry
        return entry

    return enter


def forget(kind: str, name: str) -> None:
    """Remove an entry, as a test does with an entry of its own."""
    _registered.get(kind, {}).pop(name, None)


def entries(kind: str) -> dict[str, Callable[..., Any]]:
    """The entries registered under a kind, by name."""
    _import_package(SECTION_PACKAGES[kind]) if kind in SECTION_PACKAGES else _load_blocks()
    return dict(sorted(_registered.get(kind, {}).items()))


def blocks(kind: str) -> dict[str, type[nn.Module]]:
    """The registered blocks of a kind, by name."""
    return {name: entry for name, entry in entries(kind).items() if isinstance(entry, type)}


def classes() -> set[type[nn.Module]]:
    """Every registered block."""
    return {block for kind in kinds() for block in blocks(kind).values()}


def kinds() -> list[str]:
    """The kinds that have blocks."""
    _load_blocks()
    return sorted(kind for kind in _registered if kind not in SECTION_PACKAGES)


def block_name(module: nn.Module) -> str:
    """The registered name of a module's class; of a block made of blocks, the names of the blocks inside."""
    if offers(module, "contents"):
        return ", ".join(module.contents())  # type: ignore[operator]
    names = (name for kind in kinds() for name, block in blocks(kind).items() if block is type(module))
    return next(names, type(module).__name__)


def load(plugins: Iterable[str]) -> None:
    """Import the packages and files that a config lists as plugins, which registers their entries.

    A module that registers nothing is no plugin: an error, because naming it has no effect.
    """
    _load_blocks()
    for plugin in plugins:
        before = _modules()
        name = import_plugin(plugin).__name__
        if _modules() != before or any(module == name or module.startswith(f"{name}.") for module in before):
            _plugin_modules.add(name)
        if name not in _plugin_modules:
            raise UserError(
                f"'{plugin}' is no plugin: it registers nothing, so naming it has no effect. Leave it out, or name a "
                "package or a .py file that has @register(...)."
            )


def _modules() -> set[str]:
    """The modules that have registered entries."""
    return {entry.__module__ for known in _registered.values() for entry in known.values()}


def import_plugin(plugin: str) -> ModuleType:
    """Import a plugin by its package's name or its Python file's path, which registers its entries."""
    _load_blocks()
    if not isinstance(plugin, str) or not plugin:
        raise UserError(f"{plugin!r} is not a package's name or a Python file's path.")
    return _import_file(Path(plugin)) if plugin.endswith(".py") else _import_package(plugin)


def _load_blocks() -> None:
    for package in BLOCKS:
        _import_package(package)


@cache
def _import_package(name: str) -> ModuleType:
    try:
        package = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise  # the package is installed, but one of its own imports is not
        raise UserError(
            f"there is no package '{name}' to import blocks from. "
            "Name an installed package, or give the path of a .py file."
        ) from error
    for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
        importlib.import_module(module.name)
    return package


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"there is no file '{path}' (looked in {Path.cwd()}).")
    catalogue = shipped("blocks")
    if path.resolve().is_relative_to(catalogue.resolve()):
        parts = path.resolve().relative_to(catalogue.resolve()).with_suffix("").parts
        return importlib.import_module(".".join(["composer.catalogue", *parts]))
    name = f"composer_plugin_{path.stem}_{hashlib.sha1(str(path.resolve()).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
