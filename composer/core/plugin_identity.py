"""What a plugin is: the name of its module and a digest of its content, wherever its file lies."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from composer.core.problems import UserError

#: How many characters of a digest are kept.
DIGITS = 32


def plugin_name(plugin: str) -> str:
    """'leaky.py' of './leaky.py' and of '/home/me/leaky.py'; the name of a package as it is."""
    return Path(plugin).name if plugin.endswith(".py") else plugin


def identities(plugins: Iterable[str]) -> list[dict[str, Any]]:
    """The name and the digest of every plugin, as plain data for a checkpoint."""
    return [{"name": plugin_name(plugin), "digest": digest(plugin)} for plugin in plugins]


def digest(plugin: str) -> str | None:
    """The SHA-256 of a plugin's Python files; None if they cannot be found."""
    files = _files(plugin)
    if not files:
        return None
    whole = hashlib.sha256()
    for name, file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read the plugin '{plugin}': {error.strerror}.") from error
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()[:DIGITS]


def _files(plugin: str) -> list[tuple[str, Path]]:
    """The Python files of a plugin, each with its name inside it."""
    if plugin.endswith(".py"):
        path = Path(plugin)
        return [("", path)] if path.is_file() else []
    try:
        spec = importlib.util.find_spec(plugin)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is None:
        return [("", Path(spec.origin))] if spec.origin is not None and Path(spec.origin).is_file() else []
    roots = [Path(root) for root in spec.submodule_search_locations]
    return [(file.relative_to(root).as_posix(), file) for root in roots for file in sorted(root.rglob("*.py"))]
