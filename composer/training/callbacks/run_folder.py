"""What a run writes while it trains, in its folder and to its loggers: logged values, validations, samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from lightning import Callback, Trainer
from lightning.pytorch.loggers.logger import Logger

if TYPE_CHECKING:
    from composer.training.run.record import RunRecorder


class RunLogger(Logger):
    """What callbacks of a config log, to the Trainer's logger or by ``log`` of the module, in the metrics of the run.

    recorder: None on every process but the first
    step: the step that is taken, or the last one
    """

    name, version = "run", ""

    def __init__(self, recorder: RunRecorder | None) -> None:
        self.recorder, self.step = recorder, 0

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """
        step: in Lightning's count, which begins with 0
        """
        values = {name: float(value) for name, value in metrics.items() if name != "epoch"}  # Lightning adds that
        if self.recorder is not None and values:
            self.recorder.logged(self.step, values)

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """The config is in the run's folder."""


class RunFolderCallback(Callback):
    """Passes what the module logs and validates to the recorder of a run. On the first process only."""

    def __init__(self, recorder: RunRecorder) -> None:
        self.recorder = recorder

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        cast(RunLogger, trainer.logger).step = module.progress.step

    def on_train_batch_start(self, trainer: Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        cast(RunLogger, trainer.logger).step = module.progress.step + 1

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        report = module.report
        if report and report["step"] == module.progress.step:
            values = {name: value for name, value in report.items() if name != "step"}
            self.recorder.trained(module.progress.step, values)

    def on_validation_end(self, trainer: Trainer, module: Any) -> None:
        if not trainer.sanity_checking:
            self.recorder.validated(module.progress.step, module.evaluation, best=module.validations.better)
