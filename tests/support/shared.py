"""Runs that are trained once for all tests, whichever of xdist's processes asks first. Tests only read them."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from filelock import FileLock


class Shared:
    """Folders that are made once a test session; whoever asks while one is being made waits for it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir(exist_ok=True)

    def folder(self, name: str, fill: Callable[[Path], object]) -> Path:
        """The folder of this name, filled by the first who asks."""
        folder, made = self.place / name, self.place / f"{name}.made"
        with FileLock(self.place / f"{name}.lock"):
            if not made.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of an attempt that failed
                folder.mkdir()
                fill(folder)
                made.touch()
        return folder

    def run(self, train: Callable[[list[str]], object], overrides: Sequence[str], name: str = "run") -> Path:
        """The folder of the run that ``train`` makes of these overrides. The same overrides are one run."""
        key = hashlib.sha256("\n".join([*overrides, name]).encode()).hexdigest()[:16]
        return self.folder(key, lambda folder: train([*overrides, f"runs={folder}", f"name={name}"])) / name

    def copy(self, run: Path, folder: Path) -> Path:
        """A run's own copy for a test that goes on with it, under the run's name."""
        return shutil.copytree(run, folder / run.name)
