"""TensorBoard: event files in ``tensorboard/`` in the run's folder. Look at them with ``tensorboard --logdir``.

Its table of hyperparameters (HPARAMS) has the config from the start, and at the end the metrics of the best checkpoint
as ``best/valid/loss`` and those of the test split.

A resumed run makes TensorBoard discard the steps that will be repeated. TensorBoard cannot show SVG figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from composer.core.extras import need
from composer.core.registry import register
from composer.training.loggers.logger import Logger, RunInfo, Status, as_table, best_metrics, flat

FOLDER = "tensorboard"


@register("logger", "tensorboard")
class TensorBoard(Logger):
    def __init__(self) -> None:
        need("tensorboard", "logger=tensorboard", "tensorboard")

    def open(self, run: RunInfo) -> None:
        from torch.utils.tensorboard import SummaryWriter

        purge = None if run.resumed_from is None else run.resumed_from + 1
        self.writer: Any = SummaryWriter(str(run.folder / FOLDER), purge_step=purge)
        self.step, self.config = run.resumed_from or 0, flat(run.config)
        if run.resumed_from is None:
            self._hyperparameters({})
            text = yaml.safe_dump(run.config, sort_keys=False, allow_unicode=True)
            self.writer.add_text("config", f"```yaml\n{text}```", 0)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self.step = step
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
        best = best_metrics(summary)
        self.metrics(self.step, {name: value for name, value in best.items() if name not in summary})
        if best and status in ("finished", "pruned"):  # a run that goes on would write it twice, and the first counts
            self._hyperparameters(best)
        self.writer.add_text("status", status, self.step)
        self.writer.close()

    def _hyperparameters(self, metrics: Mapping[str, float]) -> None:
        """The config, or at the end the metrics beside it, for the table in which TensorBoard compares runs."""
        from torch.utils.tensorboard.summary import hparams

        compared, begun, ended = hparams(self.config, dict(metrics))
        for record in (compared, ended) if metrics else (begun,):
            self.writer.file_writer.add_summary(record)


def _cell(value: Any) -> str:
    """A value as text, escaped for a Markdown table."""
    text = "" if value is None else str(value)
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", " ").replace("\n", " ")
