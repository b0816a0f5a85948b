"""Ours, computed from a study's runs by the statistic of the paper, and kept as a line of JSON for every cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.gallery.results import Result as GalleryResult
from benchmarks.literature.cell import Cell
from composer.metrics import possible
from composer.runs.folder import RunFolder
from composer.studies.comparison import Comparison
from composer.studies.formatting import cut
from composer.studies.records.run_records import ComparedRun
from composer.studies.statistics.over_seeds import estimate


@dataclass(frozen=True)
class Result:
    """
    id: of the cell
    value: the paper's statistic
    mean, low, high: the mean over seeds and its 95 % interval, of the metric itself; without two seeds no interval.
        For a run of the gallery the interval is over examples
    seconds: of all runs of the arm, tuning included
    command: that made it
    """

    id: str
    value: float
    mean: float
    low: float | None
    high: float | None
    seeds: int
    seconds: float
    metric: str
    command: str


def results_of(comparison: Comparison, cells: Iterable[Cell], command: str) -> list[Result]:
    """The results of the cells whose arms are in a comparison."""
    arms = {arm.name: arm.runs for arm in comparison.arms}
    found = []
    for cell in cells:
        runs = arms.get(cell.arm or "", ())
        metric = metric_of(cell, runs)
        if metric is not None:
            tuning = [trial for trial in comparison.trials if trial.arm == cell.arm]
            values = [by_sequence(run, metric) if cell.by_sequence else run.result[metric] for run in runs]
            name = f"{metric} by sequence" if cell.by_sequence else metric
            found.append(_result(cell, values, [*runs, *tuning], name, command))
    return found


def metric_of(cell: Cell, runs: Sequence[ComparedRun]) -> str | None:
    """The cell's metric, or the same on the validation split where there is no test split; None without any.

    Single examples are recorded of the test split alone.
    """
    names = (cell.metric,) if cell.by_sequence else (cell.metric, cell.metric.replace("test/", "valid/"))
    return next((name for name in names if runs and all(name in run.result for run in runs)), None)


def by_sequence(run: ComparedRun, metric: str) -> float:
    """The mean over the examples of the test split of the metric of each, for metrics that are a share."""
    with np.load(RunFolder(run.folder).test_examples) as file:
        part, whole = file[f"statistics/{metric.removeprefix('test/')}"].astype(float).T  # (N,) each
    asked = whole > 0  # an example without a weight has no value
    return float(np.mean(part[asked] / whole[asked]))


def _result(cell: Cell, values: Sequence[float], runs: Sequence[ComparedRun], metric: str, command: str) -> Result:
    over = estimate(values)
    low, high = (None, None) if over.half is None else cut(over, possible(metric))
    seconds = sum(float(run.record.seconds or 0) for run in runs)
    return Result(cell.id, cell.statistic.value(values), over.mean, low, high, len(values), seconds, metric, command)


def from_gallery(cell: Cell, result: GalleryResult) -> Result:
    """The figure of a single run of the gallery, whose interval is over the examples."""
    name = cell.metric.partition("/")[2]
    value = result.figures[name]
    low, high = result.intervals.get(name, (None, None))
    metric = f"{result.split}/{name}"
    return Result(cell.id, value, value, low, high, 1, 60 * result.minutes, metric, result.command)


def read_results(path: Path) -> dict[str, Result]:
    """The results by cell; of several lines, the last one holds."""
    if not path.is_file():
        return {}
    found = [Result(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {result.id: result for result in found}


def keep(path: Path, results: Iterable[Result]) -> None:
    """Write results, in place of earlier ones of the same cells."""
    kept = read_results(path) | {result.id: result for result in results}
    path.write_text("".join(f"{json.dumps(asdict(result))}\n" for result in kept.values()), encoding="utf-8")
