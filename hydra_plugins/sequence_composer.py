"""The plugins that Hydra finds in the namespace package ``hydra_plugins``: the sweeper, and launchers.

Hydra imports this module at the start of every command, so everything else is imported where it is used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

if TYPE_CHECKING:
    from composer.studies.sweep.launchers.hydra_job import Ended, JobTask, NextJob


class DurableSweeper(Sweeper):
    """Grids, searches and studies that go on after being killed: composer.studies.sweep."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def sweep(self, arguments: list[str]) -> Any:
        from composer.config.loading import quick_loader
        from composer.studies.sweep.sweeper import CommandLineSweep

        assert self.config is not None
        assert self.hydra_context is not None
        self.hydra_context.config_loader = quick_loader()  # every trial composes a config of the same files
        CommandLineSweep(self.config, self.hydra_context, self.task_function).run(arguments)


class StreamingLauncher(Launcher):
    """A launcher that asks for the next job whenever there is room for one. Any sweeper can use it, too.

    knows_room: whether a job that it asks for starts at once; otherwise it waits in a queue
    """

    knows_room = True

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from composer.studies.sweep.launchers.hydra_job import launch

        return launch(self.launch_as_ready, job_overrides, initial_job_idx)

    def task(self) -> JobTask:
        from composer.studies.sweep.launchers.hydra_job import JobTask

        return JobTask.here(self.hydra_context, self.task_function, self.config)

    @abstractmethod
    def launch_as_ready(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]: ...


class ParallelLauncher(StreamingLauncher):
    """Several trials at once on this machine. conf/hydra/launcher/parallel.yaml explains the parameters."""

    def __init__(self, jobs: int | None = None, threads: int = 1, gpus: Sequence[int] | None = None) -> None:
        self.jobs, self.threads, self.gpus = jobs, threads, gpus

    def launch_as_ready(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        from composer.studies.sweep.launchers.local_processes import ParallelJobs, places

        jobs = ParallelJobs(self.task(), places(self.jobs, self.threads, self.gpus), self.threads)
        return jobs.run(next_job, ended)


class RayLauncher(StreamingLauncher):
    """Trials as tasks of a Ray cluster. conf/hydra/launcher/ray.yaml explains the parameters."""

    def __init__(
        self, jobs: int | None = None, threads: int = 1, gpus: float = 0, init: Mapping[str, Any] | None = None
    ) -> None:
        self.jobs, self.threads, self.gpus, self.init = jobs, threads, gpus, init or {}

    def launch_as_ready(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        from composer.studies.sweep.launchers.ray_jobs import RayJobs

        return RayJobs(self.task(), self.jobs, self.threads, self.gpus, dict(self.init)).run(next_job, ended)


class SlurmLauncher(StreamingLauncher):
    """Trials as jobs of a Slurm cluster. conf/hydra/launcher/slurm.yaml explains the parameters."""

    knows_room = False

    def __init__(self, submitit_folder: str, max_num_timeout: int, array_parallelism: int, **parameters: Any) -> None:
        self.folder, self.max_num_timeout, self.jobs = submitit_folder, max_num_timeout, array_parallelism
        self.parameters = parameters

    def launch_as_ready(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        from composer.studies.sweep.launchers.slurm_jobs import SlurmJobs

        jobs = SlurmJobs(self.task(), self.folder, self.jobs, self.max_num_timeout, self.parameters)
        return jobs.run(next_job, ended)
