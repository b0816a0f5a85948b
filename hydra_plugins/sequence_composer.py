"""The plugins that Hydra finds in the namespace package ``hydra_plugins``: the source of files, the sweeper, launchers.

Hydra imports this module at the start of every command, so everything else is imported where it is used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.utils import JobReturn
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.launcher import Launcher
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from composer.config.yaml_files import ConfigFolder, user_folder

if TYPE_CHECKING:
    from composer.studies.sweep.launchers.hydra_job import Ended, Jobs, JobTask, NextJob


class CheckedFiles(ConfigSource):
    """YAML files that are checked before Hydra reads them, and parsed once in a process."""

    def __init__(self, provider: str, path: str) -> None:
        super().__init__(provider, path)
        self.folder = ConfigFolder.of(path)

    @staticmethod
    def scheme() -> str:
        return "checked"

    def load_config(self, config_path: str) -> ConfigResult:
        if self.folder is None or not self.is_config(config_path):
            raise ConfigLoadError(f"Config not found: {config_path}")
        file = self.folder.read(config_path)
        return ConfigResult(self.provider, self.full_path(), OmegaConf.create(file.content), {"package": file.package})

    def available(self) -> bool:
        return self.is_group("")

    def is_group(self, config_path: str) -> bool:
        return self.folder is not None and (self.folder.path / config_path).is_dir()

    def is_config(self, config_path: str) -> bool:
        return self.folder is not None and self.folder.file(config_path).is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        entries = [] if self.folder is None else list((self.folder.path / config_path).iterdir())
        groups = [entry.name for entry in entries if entry.is_dir() and entry.name != "__pycache__"]
        configs = [entry.stem for entry in entries if entry.suffix == ".yaml" and entry.is_file()]
        found = {ObjectType.GROUP: groups, ObjectType.CONFIG: configs}
        return sorted({*groups, *configs} if results_filter is None else set(found[results_filter]))


class CheckedSearchPath(SearchPathPlugin):
    """Lets Hydra read all files of its search path, and the user's folder of configs, through ``CheckedFiles``."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for element in search_path.get_path():
            if ConfigFolder.of(element.path) is not None:
                element.path = f"checked://{str(element.path).rpartition('://')[2]}"
        if (folder := user_folder.get()) is not None:
            search_path.append("command-line", f"checked://{folder}")


class DurableSweeper(Sweeper):
    """Grids, searches and studies that go on after being killed: composer.studies.sweep."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def sweep(self, arguments: list[str]) -> Any:
        from composer.studies.sweep.sweeper import CommandLineSweep

        assert self.config is not None
        assert self.hydra_context is not None
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

    def launch_as_ready(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        """Run jobs until there is no next one while nothing runs."""
        from composer.studies.sweep.launchers.hydra_job import JobTask

        return self.places(JobTask.here(self.hydra_context, self.task_function, self.config)).run(next_job, ended)

    @abstractmethod
    def places(self, task: JobTask) -> Jobs[Any]:
        """Where the jobs run. ``task``: what each of them does."""


class ParallelLauncher(StreamingLauncher):
    """Several trials at once on this machine. conf/hydra/launcher/parallel.yaml explains the parameters."""

    def __init__(self, jobs: int | None = None, threads: int = 1, gpus: Sequence[int] | None = None) -> None:
        self.jobs, self.threads, self.gpus = jobs, threads, gpus

    def places(self, task: JobTask) -> Jobs[Any]:
        from composer.studies.sweep.launchers.local_processes import ParallelJobs, environments

        return ParallelJobs(task, environments(self.jobs, self.threads, self.gpus), self.threads)


class RayLauncher(StreamingLauncher):
    """Trials as tasks of a Ray cluster. conf/hydra/launcher/ray.yaml explains the parameters."""

    def __init__(
        self, jobs: int | None = None, threads: int = 1, gpus: float = 0, init: Mapping[str, Any] | None = None
    ) -> None:
        self.jobs, self.threads, self.gpus, self.init = jobs, threads, gpus, init or {}

    def places(self, task: JobTask) -> Jobs[Any]:
        from composer.studies.sweep.launchers.ray_jobs import RayJobs

        return RayJobs(task, self.jobs, self.threads, self.gpus, dict(self.init))


class SlurmLauncher(StreamingLauncher):
    """Trials as jobs of a Slurm cluster. conf/hydra/launcher/slurm.yaml explains the parameters."""

    knows_room = False

    def __init__(self, submitit_folder: str, max_num_timeout: int, array_parallelism: int, **parameters: Any) -> None:
        self.folder, self.max_num_timeout, self.jobs = submitit_folder, max_num_timeout, array_parallelism
        self.parameters = parameters

    def places(self, task: JobTask) -> Jobs[Any]:
        from composer.studies.sweep.launchers.slurm_jobs import SlurmJobs

        return SlurmJobs(task, self.folder, self.jobs, self.max_num_timeout, self.parameters)
