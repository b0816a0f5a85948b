"""Sequence Composer: neural sequence models composed in YAML, proven before they are built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from composer.using.model import Model

__version__ = "0.1.0"


def load(
    run: str | Path,
    *,
    checkpoint: Literal["best", "last"] | None = None,
    plugins: Sequence[str] = (),
    device: str = "cpu",
) -> Model:
    """The trained model of a run's folder or of a checkpoint's file; see composer.using.model.Model."""
    from composer.using.model import Model  # torch: only once it is needed

    return Model.load(run, checkpoint=checkpoint, plugins=plugins, device=device)
