"""Writes a run's results during training to its folder, its loggers and the screen, on the first process only."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from composer.core.problems import UserError
from composer.core.storage.atomic_files import finite
from composer.metrics import Evaluation
from composer.runs import checkpoint
from composer.runs.checkpoint_content import RunProgress
from composer.runs.folder import RunFolder, read_lines, read_metrics
from composer.training.loggers import Status
from composer.training.loggers.logger import TRAIN
from composer.training.run.metric_text import metric_lines
from composer.training.run.plan import TrainingPlan
from composer.training.screen import Screen

#: The prefixes of validation metrics, and of those of the test split.
VALID, TEST = "valid/", "test/"


def on_split(metric: str, prefix: str) -> str:
    """A metric of the validation or the test split on the other: ``valid/loss`` -> ``test/loss``."""
    bare = metric.removeprefix(VALID).removeprefix(TEST)
    return metric if bare == metric else f"{prefix}{bare}"


@dataclass(frozen=True)
class Figures:
    """The metrics and samples of one step.

    values: metrics by name; names of validation metrics start with ``valid/``
    samples: the model's predictions for some examples at that step
    """

    step: int
    values: dict[str, float]
    samples: Sequence[Mapping[str, Any]] = ()


class RunRecorder:
    """
    best: the metrics of the best checkpoint, by the metric ``training.monitor``; None before the first validation
    test: the metrics of the best checkpoint on the test split, each with its interval; empty without such a split
    last: the metrics of the last logged training step, and of the last validation
    """

    def __init__(self, plan: TrainingPlan, folder: RunFolder, screen: Screen) -> None:
        self.plan, self.folder, self.screen, self.logger = plan, folder, screen, plan.loggers
        progress = RunProgress(**plan.saved["progress"]) if plan.saved is not None else RunProgress()
        self.identity = plan.identity  # which every checkpoint holds
        self.began = time.monotonic()
        self.before = folder.read_record().seconds or progress.seconds  # of the earlier starts of the run
        self.best: Figures | None = None
        self.last: dict[str, float] = {}
        self.last_sent: dict[str, float] = {}  # the same under the names that loggers have
        self.test: dict[str, dict[str, float | None]] = {}
        self.steps = progress.step
        self.status: Status = "failed"  # until training has ended without an error
        if progress.best is not None:
            self._restore(progress.best_step)

    def _restore(self, best_step: int) -> None:
        """Read the metrics of the best checkpoint from the folder of a resumed run."""
        lines = [line for line in read_metrics(self.folder.metrics) if line.pop("step") == best_step]
        values = {
            name: math.nan if value is None else value  # JSON has neither nan nor infinity
            for line in lines
            for name, value in line.items()
            if name.startswith(VALID)
        }
        samples = [sample for sample in read_lines(self.folder.samples) if sample.pop("step") == best_step]
        if values:
            self.best = Figures(best_step, values, samples)

    @property
    def seconds(self) -> float:
        """The seconds of all starts of the run."""
        return round(self.before + time.monotonic() - self.began, 1)

    def result(self) -> Figures:
        """The run's result: the metrics of the best checkpoint, or the last metrics if nothing was validated."""
        return self.best or Figures(self.steps, dict(self.last))

    def summary(self) -> dict[str, float]:
        """The run's result for its loggers: the metrics of ``result``, and those of the test split."""
        tested = {f"{TEST}{name}": found["value"] for name, found in self.test.items()}
        chosen = self.best.values if self.best is not None else self.last_sent
        return chosen | {name: value for name, value in tested.items() if value is not None}

    def trained(self, step: int, values: Mapping[str, float]) -> None:
        """Metrics of training, which loggers show under ``train/``."""
        self.logged(step, values, TRAIN)

    def logged(self, step: int, values: Mapping[str, float], prefix: str = "") -> None:
        self.steps = step
        self._write(step, values, prefix)
        self.screen.event("logged", step=step, metrics=values)

    def validated(self, step: int, evaluation: Evaluation, *, best: bool) -> None:
        values = {f"{VALID}{name}": value for name, value in evaluation.values.items()}
        self._write(step, values)
        self.screen.say(metric_lines(f"step {step:,}", evaluation.values))
        self.screen.event("validated", step=step, metrics=values, best=best)
        if evaluation.samples:
            lines = [json.dumps(finite({"step": step, **sample}), ensure_ascii=False) for sample in evaluation.samples]
            self._append(self.folder.samples, lines)
            self.logger.samples(step, evaluation.samples)
            self.screen.event("samples", step=step, samples=evaluation.samples)
        if best:
            self.best = Figures(step, values, evaluation.samples)

    def save(self, content: Mapping[str, Any], *, best: bool) -> None:
        folder, whole = self.folder, {**self.identity, **content}
        checkpoint.save(folder.best if best else folder.last, whole, previous=None if best else folder.previous)
        folder.remove_old_checkpoints()
        self.screen.event("checkpoint", path=str(folder.best if best else folder.last), step=whole["step"], best=best)
        if not best:  # a run without a checkpoint has lost it from now on; of a killed start, these seconds are known
            folder.update_record(saved=True, seconds=self.seconds)

    def tested(self, found: Mapping[str, Mapping[str, float | None]]) -> None:
        """The result on the test split, at the step at which training ended. In the folder, it is in run.json."""
        self.test = {name: dict(values) for name, values in found.items()}
        values = {f"{TEST}{name}": value["value"] for name, value in found.items()}
        self.logger.metrics(self.steps, {name: value for name, value in values.items() if value is not None})

    def _write(self, step: int, values: Mapping[str, float], prefix: str = "") -> None:
        self.last |= values
        self.last_sent |= {f"{prefix}{name}": value for name, value in values.items()}
        row = {name: value if math.isfinite(value) else None for name, value in values.items()}
        self._append(self.folder.metrics, [json.dumps({"step": step, **row})])
        self.logger.metrics(step, values, prefix)

    def _append(self, path: Any, lines: list[str]) -> None:
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise UserError(
                f"cannot write '{path}': {error.strerror}. Make room, then go on with resume={self.folder.path}."
            ) from error
