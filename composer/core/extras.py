"""Optional dependencies: imported where they are used; if one is missing, the error message names it."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from composer.core.problems import UserError


def need(module: str, what: str, group: str = "data") -> None:
    """Raise a UserError if the package is not installed, without importing it, which takes time."""
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        raise _missing(module, what, group)


def extra(module: str, what: str, group: str = "data") -> ModuleType:
    """Import and return the module; if it is not installed, raise a UserError with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise  # the package is installed, but one of its own imports is not
        raise _missing(module, what, group) from error


def _missing(module: str, what: str, group: str) -> UserError:
    shared = module.startswith("backports.")  # a namespace of several packages
    package = module if shared else module.partition(".")[0]
    return UserError(
        f"{what} needs the package '{package}', which is not installed. "
        f"Install it: pip install 'sequence-composer[{group}]'"
    )
