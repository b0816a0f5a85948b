"""The checkpoint of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from composer.core.problems import UserError
from composer.runs import checkpoint
from composer.runs.checkpoint_file import Damaged
from composer.runs.folder import RunFolder, present

Which = Literal["best", "last"]


def find_checkpoint(run: str | Path, which: Which | None = None) -> Path:
    """The path of a checkpoint: ``run`` itself if it is a file, otherwise a checkpoint of the run's folder.

    The default is the best checkpoint (by ``training.monitor``), or the last one if the run was never validated.
    """
    path = present(Path(run).expanduser())
    if path.is_file():
        if which is not None:
            raise UserError(f"'{path}' is one checkpoint: '{which}' has no effect. Name the run's folder, or leave it.")
        return path
    folder = RunFolder.find(path)
    last = folder.newest()
    if which == "best" and not present(folder.best).is_file():
        raise UserError(f"'{path}' has no best checkpoint: it was never validated. Use the last one.")
    return last if which == "last" else folder.chosen()


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint. The error for a damaged one names the run's other checkpoints."""
    try:
        return checkpoint.load(path)
    except Damaged as error:
        others = [other for other in RunFolder(path.parent.parent).saved() if other != path]
        if not others or path.parent != others[0].parent:
            raise
        raise UserError(f"{error} The run has other checkpoints: {', '.join(map(str, others))}.") from error
