"""The plugins that Hydra finds in the namespace package ``hydra_plugins``: sweeps that survive, and a local launcher.

Hydra imports this module at the start of every command, so everything else is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

if TYPE_CHECKING:
    from composer.studies.sweep.processes import Job, ParallelJobs


class DurableSweeper(Sweeper):
    """Grids, searches and studies that go on after being killed: composer.studies.sweep."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def sweep(self, arguments: list[str]) -> Any:
        from composer.studies.sweep.sweeper import CommandLineSweep

        assert self.config is not None
        assert self.hydra_context is not None
        CommandLineSweep(self.config, self.hydra_context, self.task_function).run(arguments)


class ParallelLauncher(Launcher):
    """Several trials at once on this machine: composer.studies.sweep.processes. conf/hydra/launcher/parallel.yaml."""

    def __init__(self, jobs: int | None = None, threads: int = 1, gpus: Sequence[int] | None = None) -> None:
        self.jobs, self.threads, self.gpus = jobs, threads, gpus

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from composer.studies.sweep.processes import launch

        return launch(self._jobs(), job_overrides, initial_job_idx)

    def launch_as_ready(self, next_job: Callable[[], Job | None], ended: Callable[[int], None]) -> None:
        """For our own sweeper, which decides what comes next when a process is free."""
        self._jobs().run(next_job, ended)

    def _jobs(self) -> ParallelJobs:
        from composer.studies.sweep.processes import ParallelJobs, Task, slots

        task = Task(self.hydra_context, self.task_function, self.config)
        return ParallelJobs(task, slots(self.jobs, self.threads, self.gpus), self.threads)
