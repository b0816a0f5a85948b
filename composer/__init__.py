"""Sequence Composer: neural sequence models composed in YAML, proven before they are built.

What a plugin or a program imports is here, under one address:

    from composer import Seq, State, register
    model = composer.load("runs/first")

The names lie in the rooms below (see CONTRIBUTING.md). ``__init__.pyi`` lists them for type checkers and for
lazy_loader, which imports a name when it is first asked for: commands which need no torch start quickly.
"""

from __future__ import annotations

import warnings
from typing import Any

import lazy_loader

from composer.core.version import __version__

_imported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
__all__.sort()

#: Names of earlier versions, which still work, and their names now.
_RENAMED = {"Asked": "ReportRequest", "constant": "cached_for_generation"}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        warnings.warn(f"composer.{name} is now composer.{_RENAMED[name]}.", DeprecationWarning, stacklevel=2)
    return _imported(_RENAMED.get(name, name))
