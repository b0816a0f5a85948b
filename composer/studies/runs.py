"""Run folders read into records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunRecord:
    """What a comparison needs to know of a run, from its run.json and config.yaml.

    name: the folder's name
    arm: run.json's arm, else the overrides that set the run apart from the compared ones, else its name
    phase: of a sweep's trial: grid, tuning or final; None for a run outside of sweeps
    status: running, finished, failed, stopped or pruned
    result: the metrics of the best checkpoint, by names that begin with "valid/"
    seconds: time of training steps alone, without validations
    tokens_per_second: the mean over the whole run
    peak_memory: bytes
    facts: the whole of run.json
    """

    folder: Path
    name: str
    arm: str
    seed: int | None
    phase: str | None
    status: str
    reason: str | None
    config: Mapping[str, Any]
    overrides: tuple[str, ...]
    result: Mapping[str, float]
    result_step: int | None
    parameters: int | None
    flops_per_token: float | None
    seconds: float | None
    tokens_per_second: float | None
    peak_memory: int | None
    budget: Mapping[str, Any] | None
    facts: Mapping[str, Any]

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl, read when asked."""
        raise NotImplementedError

    def samples(self) -> list[dict[str, Any]]:
        """The predictions of the best checkpoint, read when asked."""
        raise NotImplementedError
