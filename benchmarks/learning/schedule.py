"""Which runs there are: learning rates with the first seed until the best is between others, then the other seeds."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from benchmarks.learning.results import Run, append_run, best_factor, read_runs
from benchmarks.learning.task import Peer, Task
from benchmarks.learning.training import train

#: By which factor a search whose best rate is its highest or lowest goes on beyond it, and how far from the usual rate.
WIDER, WIDEST = 2.0, 64.0

#: What ``train`` takes: the task, the model and the rest.
Job = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True)
class Search:
    """
    factors: what each side's usual learning rate is multiplied by
    steps: of every run; None for the task's own number
    validate_rows: rows to measure on; None for the task's own number
    """

    results: Path
    data: Path
    peers: Path | None
    factors: tuple[float, ...]
    seeds: tuple[int, ...]
    steps: int | None = None
    validate_rows: int | None = None

    def arms(self, tasks: Sequence[Task], wanted: str) -> Iterator[tuple[Task, str]]:
        """The models that can be run and have this in their name."""
        for task in tasks:
            for name, (arm, _) in task.arms.items():
                if wanted in name and not (isinstance(arm, Peer) and arm.missing):
                    yield task, name

    def job(self, task: Task, arm: str, factor: float, seed: int) -> Job:
        rows = self.validate_rows or task.validate_rows
        settings = {"factor": factor, "seed": seed, "steps": self.steps or task.steps, "validate_rows": rows}
        return task.name, arm, {**settings, "folder": self.data}

    def first(self, tasks: Sequence[Task], wanted: str) -> list[Job]:
        """The search for the learning rate."""
        return [
            self.job(task, arm, factor, self.seeds[0])
            for task, arm in self.arms(tasks, wanted)
            for factor in self.factors
        ]

    def wider(self, tasks: Sequence[Task], wanted: str) -> list[Job]:
        """One more rate beyond the highest or the lowest, for every model that did best with that one."""
        jobs = []
        for task, arm, best, tried in self.found(tasks, wanted):
            if len(tried) > 1 and best in (min(tried), max(tried)):
                factor = best * WIDER if best == max(tried) else best / WIDER
                if 1 / WIDEST <= factor <= WIDEST:
                    jobs.append(self.job(task, arm, factor, self.seeds[0]))
        return jobs

    def second(self, tasks: Sequence[Task], wanted: str) -> list[Job]:
        """The other seeds with the best rate."""
        found = self.found(tasks, wanted)
        return [self.job(task, arm, best, seed) for task, arm, best, _ in found for seed in self.seeds[1:]]

    def found(self, tasks: Sequence[Task], wanted: str) -> Iterator[tuple[Task, str, float, set[float]]]:
        """Every model with its best factor and all that were tried; not what learns nothing, whose runs are alike."""
        runs = read_runs(self.results)
        for task, arm in self.arms(tasks, wanted):
            own = [run for run in runs if run.key[:3] == (task.name, arm, self.steps or task.steps)]
            best = best_factor(task, own, self.seeds[0])
            if best is not None and any(run.parameters for run in own):
                yield task, arm, best, {run.factor for run in own if run.seed == self.seeds[0]}


def carry_out(search: Search, tasks: Sequence[Task], wanted: str, jobs: int) -> None:
    """Run what is not in the file of results yet."""
    _run_all(search, search.first(tasks, wanted), jobs)
    while beyond := search.wider(tasks, wanted):
        _run_all(search, beyond, jobs)
    _run_all(search, search.second(tasks, wanted), jobs)


def _run_all(search: Search, wanted: Sequence[Job], jobs: int) -> None:
    known = {run.key for run in read_runs(search.results)}
    left = [job for job in wanted if _key(job) not in known]
    for number, run in enumerate(_runs(left, jobs, search.peers), 1):
        append_run(search.results, run)
        where = f"{number} of {len(left)}"
        print(f"{where}: {run.task}, {run.arm}, rate {run.rate:g}, seed {run.seed}: {_said(run)}", flush=True)


def _key(job: Job) -> tuple[str, str, int, float, int]:
    task, arm, settings = job
    return task, arm, settings["steps"], settings["factor"], settings["seed"]


def _said(run: Run) -> str:
    if not run.points:
        return "the loss was no number"
    figures = ", ".join(f"{name} {value:.4g}" for name, value in run.points[-1].figures.items())
    return f"{figures}, {run.points[-1].seconds:.0f} s"


def _runs(left: Sequence[Job], jobs: int, peers: Path | None) -> Iterator[Run]:
    if jobs == 1:
        _prepare(peers)
        yield from map(_train, left)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _prepare, (peers,)) as pool:
        try:
            for done in as_completed([pool.submit(_train, job) for job in left]):
                yield done.result()
        finally:  # after an error nobody would keep what the others find
            pool.shutdown(wait=False, cancel_futures=True)


def _prepare(peers: Path | None) -> None:
    """One thread a process, so that processes side by side do not slow each other."""
    torch.set_num_threads(1)
    if peers is not None and str(peers) not in sys.path:
        sys.path.append(str(peers))


def _train(job: Job) -> Run:
    task, arm, settings = job
    return train(task, arm, **settings)
