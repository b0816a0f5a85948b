"""TensorBoard: event files in ``tensorboard/`` in the run's folder. Look at them with ``tensorboard --logdir``.

A resumed run makes TensorBoard discard the steps that will be repeated. TensorBoard cannot show SVG figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from composer.core.extras import need
from composer.core.registry import register
from composer.training.loggers.logger import Logger, RunInfo, Status, as_table

FOLDER = "tensorboard"


@register("logger", "tensorboard")
class TensorBoard(Logger):
    def __init__(self) -> None:
        need("tensorboard", "logger=tensorboard", "tensorboard")

    def open(self, run: RunInfo) -> None:
        from torch.utils.tensorboard import SummaryWriter

        purge = None if run.resumed_from is None else run.resumed_from + 1
        self.writer = SummaryWriter(str(run.folder / FOLDER), purge_step=purge)
        self.config = run.config
        if run.resumed_from is None:
            text = yaml.safe_dump(run.config, sort_keys=False, allow_unicode=True)
            self.writer.add_text("config", f"```yaml\n{text}```", 0)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def samples(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        columns, cells = as_table(rows)
        lines = [columns, ["---"] * len(columns), *([_cell(cell) for cell in row] for row in cells)]
        self.writer.add_text("samples", "\n".join(f"| {' | '.join(line)} |" for line in lines), step)

    def figure(self, name: str, path: Path, step: int) -> None:
        if path.suffix == ".png":
            import numpy
            from PIL import Image

            with Image.open(path) as image:
                self.writer.add_image(name, numpy.asarray(image.convert("RGB")), step, dataformats="HWC")

    def finish(self, status: Status, summary: Mapping[str, float]) -> None:
        if summary:  # the table in which TensorBoard compares runs
            self.writer.add_hparams(_flat(self.config), dict(summary), run_name=".")
        self.writer.close()


def _cell(value: Any) -> str:
    """A value as text, escaped for a Markdown table."""
    text = "" if value is None else str(value)
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", " ").replace("\n", " ")


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under flat keys such as 'model.nodes.encoder.depth', with values of types TensorBoard accepts."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value if isinstance(value, bool | int | float | str) else str(value)
    return flat
