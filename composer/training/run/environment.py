"""The environment of a run, on which its result depends besides the config: versions, git state, command line."""

from __future__ import annotations

import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from composer.core.version import __version__

PACKAGES = ("torch", "lightning", "hydra-core", "omegaconf", "tokenizers", "numpy", "wandb")


def command() -> str:
    """The command line of this process, quoted for a shell."""
    return shlex.join(["python", *sys.argv])


def versions() -> dict[str, str | None]:
    return {
        "sequence-composer": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def git_state() -> dict[str, str | bool] | None:
    """The commit of the repository around the working directory, and whether files differ; None outside of git."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git("status", "--porcelain")
    return {"repository": _git("rev-parse", "--show-toplevel") or "", "commit": commit, "changed": bool(changes)}


def git_changes() -> str | None:
    """The uncommitted changes, as a patch."""
    return _git("diff", "HEAD") or None


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=Path.cwd(), capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
