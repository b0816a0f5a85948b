"""What a run writes while it trains, in its folder and to its loggers: logged values, validations, samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from lightning import Callback, Trainer

from composer.metrics import Evaluation


class Recorder(Protocol):
    """Receives a run's logged values, validations and checkpoints."""

    def logged(self, step: int, values: Mapping[str, float]) -> None: ...

    def validated(self, step: int, evaluation: Evaluation, *, best: bool) -> None: ...

    def save(self, content: Mapping[str, Any], *, best: bool) -> None: ...


class RunFolderCallback(Callback):
    """Passes what the module logs and validates to the recorder of a run. On the first process only."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        report = module.report
        if report and report["step"] == module.progress.step:
            values = {name: value for name, value in report.items() if name != "step"}
            self.recorder.logged(module.progress.step, values)

    def on_validation_end(self, trainer: Trainer, module: Any) -> None:
        if not trainer.sanity_checking:
            self.recorder.validated(module.progress.step, module.evaluation, best=module.validations.better)
