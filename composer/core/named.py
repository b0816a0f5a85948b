"""What a section of the config can name: classes or functions by the name they are entered under."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar

from composer.core.binding import bind_section
from composer.core.problems import GraphError, Locate, Problem, did_you_mean, listed

T = TypeVar("T")
Build = TypeVar("Build", bound=Callable[..., Any])


class Named(Generic[T]):
    """
    section: where in the config they are named, by ``type``; their keyword parameters are the other keys
    package: whose modules enter them, imported when somebody first asks what there is
    """

    def __init__(self, section: str, package: str) -> None:
        self.section, self.package = section, package
        self.entered: dict[str, Callable[..., T]] = {}

    def enter(self, name: str) -> Callable[[Build], Build]:
        """A decorator."""

        def enter(build: Build) -> Build:
            self.entered[name] = build
            return build

        return enter

    def all(self) -> dict[str, Callable[..., T]]:
        """Whatever there is, by name."""
        _ = self._imported
        return dict(sorted(self.entered.items()))

    @cached_property
    def _imported(self) -> bool:
        package = importlib.import_module(self.package)
        for module in pkgutil.walk_packages(getattr(package, "__path__", []), f"{self.package}."):
            importlib.import_module(module.name)
        return True

    def build(self, config: Mapping[str, Any], locate: Locate, *facts: Any) -> T:
        """What a section names, made of these facts and its other keys. Whatever is wrong with it is a GraphError."""
        known, name = self.all(), config.get("type")
        if name not in known:
            hint = did_you_mean(name, known)
            problem = f"there is no {self.section} '{name}'.{hint}  ({self.section}: {listed(known, 40)})"
            raise GraphError([Problem(f"{self.section}.type", problem)], locate)
        values = {key: value for key, value in config.items() if key != "type"}
        return bind_section(str(name), known[str(name)], values, self.section, locate, *facts)
