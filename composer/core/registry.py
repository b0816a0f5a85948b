"""Blocks by kind and name.

Names come from decorators. What a config may load is a plugin that its ``plugins`` list names; every other name in a
config is looked up here and nowhere else.
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
from typing import TypeVar

from torch import nn

from composer.core.problems import UserError

#: The packages of blocks that are always there: the kernel's combinators and the catalogue.
BUILT_IN = ("composer.graph.combinators", "blocks")

Block = TypeVar("Block", bound=type[nn.Module])

_blocks: dict[str, dict[str, type[nn.Module]]] = {}


def register(kind: str, name: str) -> Callable[[Block], Block]:
    """Enter a block into the registry under its kind and name."""

    def enter(block: Block) -> Block:
        known = _blocks.setdefault(kind, {}).setdefault(name, block)
        if known is not block and known.__module__ != block.__module__:
            raise UserError(
                f"The {kind} '{name}' of {block.__module__} is already registered by {known.__module__}. "
                "Give one of them another name."
            )
        _blocks[kind][name] = block
        return block

    return enter


def blocks(kind: str) -> dict[str, type[nn.Module]]:
    """The registered blocks of a kind, by name."""
    _load_built_in()
    return dict(sorted(_blocks.get(kind, {}).items()))


def classes() -> set[type[nn.Module]]:
    """Every registered block."""
    return {block for known in _blocks.values() for block in known.values()}


def kinds() -> list[str]:
    """The kinds that have blocks."""
    _load_built_in()
    return sorted(_blocks)


def block_name(module: nn.Module) -> str:
    """The name a built module's class is registered under, with what it is made of."""
    contents = getattr(module, "contents", None)
    if contents is not None:
        return ", ".join(contents())
    names = (name for known in _blocks.values() for name, block in known.items() if block is type(module))
    return next(names, type(module).__name__)


def load(plugins: Iterable[str]) -> None:
    """Import the packages and files that a config names, so that their blocks are registered."""
    _load_built_in()
    for plugin in plugins:
        if not isinstance(plugin, str) or not plugin:
            raise UserError(f"{plugin!r} is not a package's name or a Python file's path.")
        _import_file(Path(plugin)) if plugin.endswith(".py") else _import_package(plugin)


@cache
def _load_built_in() -> None:
    for package in BUILT_IN:
        _import_package(package)


def _import_package(name: str) -> None:
    try:
        package = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise  # the package is there; something it needs is not
        raise UserError(
            f"there is no package '{name}' to import blocks from. "
            "Name an installed package, or give the path of a .py file."
        ) from error
    for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
        importlib.import_module(module.name)


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"there is no file '{path}' (looked in {Path.cwd()}).")
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
