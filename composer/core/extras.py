"""Packages that only some data needs: imported where they are used, and named where they are missing."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from composer.core.problems import UserError


def need(module: str, what: str, group: str = "data") -> None:
    """Complain if the package is not there, without the time that importing it takes."""
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        raise _missing(package, what, group)


def extra(module: str, what: str, group: str = "data") -> ModuleType:
    """The module, or one sentence that says how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise  # the package is there; something it needs is not
        raise _missing(module.partition(".")[0], what, group) from error


def _missing(package: str, what: str, group: str) -> UserError:
    return UserError(
        f"{what} needs the package '{package}', which is not installed. "
        f"Install it: pip install 'sequence-composer[{group}]'"
    )
