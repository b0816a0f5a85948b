"""A job of a Hydra program, ready to be sent to another process and run there, and the loop that runs many of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from hydra import version
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import JobReturn, JobRuntime, JobStatus, run_job, setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

#: A job's number and its overrides.
Job = tuple[int, Sequence[str]]

#: The next job to run; None if there is none at the moment. It is asked again when a job has ended.
NextJob = Callable[[], Job | None]

#: Receives the number of a job that has ended, and what it returned.
Ended = Callable[[int, JobReturn], None]

#: What a launcher knows a job by that it has started.
Started = TypeVar("Started")


@dataclass(frozen=True)
class JobTask:
    """
    context, function, config: what Hydra gives a launcher
    hydra: the parent's Hydra, by which the job composes configs
    folder: the working directory
    """

    context: HydraContext
    function: TaskFunction
    config: DictConfig
    hydra: Any
    folder: str

    @classmethod
    def here(cls, context: HydraContext, function: TaskFunction, config: DictConfig) -> JobTask:
        return cls(context, function, config, GlobalHydra.instance().hydra, os.getcwd())

    def run(self, job: Job, threads: int) -> JobReturn:
        """Run a job in this process, in which Hydra has not been started.

        threads: CPU threads, unless the config sets trainer.threads
        """
        import torch

        torch.set_num_threads(threads)
        os.chdir(self.folder)
        version.setbase(str(self.config.hydra.runtime.version_base))
        GlobalHydra.instance().hydra = self.hydra
        setup_globals()
        JobRuntime.instance().set("name", str(self.config.hydra.job.name))
        number, overrides = job
        config = self.context.config_loader.load_sweep_config(self.config, list(overrides))
        with open_dict(config):
            config.hydra.job.id = config.hydra.job.num = number
        return run_job(
            hydra_context=self.context,
            task_function=self.function,
            config=config,
            job_dir_key="hydra.sweep.dir",
            job_subdir_key="hydra.sweep.subdir",
        )


class Jobs(ABC, Generic[Started]):
    """Runs as many jobs at a time as there is room for, and asks for the next one whenever a job has ended.

    A launcher says how its jobs are started, which of them have ended, and what these returned.
    """

    room: int

    @abstractmethod
    def start(self, jobs: Sequence[Job]) -> Iterator[Started]:
        """Start these jobs, in their order."""

    @abstractmethod
    def wait(self, running: Sequence[Started]) -> Sequence[Started]:
        """Wait, and return those that have ended, if any."""

    @abstractmethod
    def result(self, job: Started, number: int) -> JobReturn:
        """What a job returned that has ended, whatever became of it."""

    def stop(self, running: Sequence[Started]) -> None:
        """Let jobs save their trials, and wait for their end. By default they go on without this process."""

    def run(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        """Run jobs until there is no next one while nothing runs. Returns what they returned, by their numbers."""
        running: dict[Started, int] = {}
        returns: dict[int, JobReturn] = {}
        try:
            while True:
                ready = list(islice(iter(next_job, None), self.room - len(running)))
                for (number, _), started in zip(ready, self.start(ready), strict=True):
                    running[started] = number
                if not running:
                    return returns
                for over in self.wait(list(running)):
                    number = running.pop(over)
                    returns[number] = self.result(over, number)
                    ended(number, returns[number])
        except (KeyboardInterrupt, SystemExit):
            self.stop(list(running))
            raise


def died(number: int, how: str) -> JobReturn:
    """What Hydra gets for a job whose process ended without a result."""
    error = RuntimeError(f"the process of job {number} {how}")
    return JobReturn(status=JobStatus.FAILED, _return_value=error)


def launch(run: Callable[[NextJob, Ended], dict[int, JobReturn]], jobs: Sequence[Sequence[str]], first: int) -> Any:
    """What Hydra asks of a launcher: run all jobs, and return what they returned, in their order."""
    waiting = iter(enumerate(jobs, first))
    returns = run(lambda: next(waiting, None), lambda number, result: None)
    return [returns[number] for number in range(first, first + len(jobs))]
