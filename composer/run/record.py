"""Where a run's results go while it trains: its folder, its loggers, and the screen. On the first process alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from composer import checkpoint
from composer.loggers import Logger, Status
from composer.metrics import Evaluation
from composer.problems import UserError
from composer.run.folder import RunFolder
from composer.training.progress import Screen


class Record:
    """
    identity: what rebuilds the model, and goes into every checkpoint: config and what was learned of the data
    """

    def __init__(self, folder: RunFolder, logger: Logger, screen: Screen, identity: Mapping[str, Any]) -> None:
        self.folder, self.logger, self.screen, self.identity = folder, logger, screen, identity
        self.latest: dict[str, float] = {}  # figures of the last look and the last validation
        self.samples: Sequence[Mapping[str, Any]] = ()
        self.steps = 0
        self.status: Status = "failed"  # until it has come to its end

    def result(self) -> dict[str, float]:
        """The figures that a run is judged by: those of its last validation, or else of its last look."""
        judged = {name: value for name, value in self.latest.items() if name.startswith("valid/")}
        return judged or dict(self.latest)

    def logged(self, step: int, values: Mapping[str, float]) -> None:
        self.steps = step
        self._write(step, values)

    def validated(self, step: int, evaluation: Evaluation) -> None:
        self._write(step, {f"valid/{name}": value for name, value in evaluation.values.items()})
        self.screen.say(f"step {step:,}  {in_words(evaluation.values)}")
        if evaluation.samples:
            lines = [json.dumps({"step": step, **sample}, ensure_ascii=False) for sample in evaluation.samples]
            self._append(self.folder.samples, lines)
            self.logger.samples(step, evaluation.samples)
        self.samples = evaluation.samples

    def save(self, content: Mapping[str, Any], *, best: bool) -> None:
        checkpoint.save(self.folder.best if best else self.folder.last, {**self.identity, **content})

    def _write(self, step: int, values: Mapping[str, float]) -> None:
        self.latest |= values
        row = {name: value if math.isfinite(value) else None for name, value in values.items()}
        self._append(self.folder.metrics, [json.dumps({"step": step, **row})])
        self.logger.metrics(step, values)

    def _append(self, path: Any, lines: list[str]) -> None:
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise UserError(
                f"cannot write '{path}': {error.strerror}. Make room, then go on with resume={self.folder.path}."
            ) from error


def in_words(values: Mapping[str, float]) -> str:
    """Figures in a line, without those that there is nothing to make of."""
    return "  ".join(f"{name} {value:.4g}" for name, value in values.items() if math.isfinite(value))


class Silence:
    """In place of a record, on every process but the first."""

    def logged(self, step: int, values: Mapping[str, float]) -> None:
        pass

    def validated(self, step: int, evaluation: Evaluation) -> None:
        pass

    def save(self, content: Mapping[str, Any], *, best: bool) -> None:
        pass
