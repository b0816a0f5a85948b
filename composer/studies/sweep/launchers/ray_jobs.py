"""The launcher ``ray``: trials as tasks of a Ray cluster, which may be this machine alone.

A task is asked for whenever the cluster has room for one, so that a search learns from every result at once. Ray's own
plugin for Hydra gives out a whole batch, and brings the client of a cloud with it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hydra.core.utils import JobReturn

from composer.core.extras import extra
from composer.studies.sweep.launchers.hydra_job import Ended, Job, Jobs, JobTask, NextJob, died


class RayJobs(Jobs[Any]):
    """
    jobs: tasks at a time; None for as many as the cluster has CPUs or GPUs for
    threads, gpus: CPU threads and GPUs of a task
    init: arguments of ray.init
    """

    def __init__(self, task: JobTask, jobs: int | None, threads: int, gpus: float, init: Mapping[str, Any]) -> None:
        self.task, self.jobs, self.threads, self.gpus, self.init = task, jobs, threads, gpus, init
        self.ray = extra("ray", "hydra/launcher=ray", "ray")

    def run(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        handlers = {stop: signal.getsignal(stop) for stop in (signal.SIGINT, signal.SIGTERM)}
        self.ray.init(**self.init)
        for stop, handler in handlers.items():
            signal.signal(stop, handler)  # Ray's own would end this process before the trials are saved
        self.room, self.shared = self.fitting(self.ray.cluster_resources()), self.ray.put(self.task)
        try:
            return super().run(next_job, ended)
        finally:
            self.ray.shutdown()

    def fitting(self, resources: Mapping[str, float]) -> int:
        """How many tasks the cluster has room for."""
        if self.jobs is not None:
            return self.jobs
        fits = [resources.get("CPU", 1) // self.threads]
        if self.gpus:
            fits.append(resources.get("GPU", 0) // self.gpus)
        return max(1, int(min(fits)))

    def start(self, jobs: Sequence[Job]) -> Iterator[Any]:
        task = self.ray.remote(num_cpus=self.threads, num_gpus=self.gpus, max_retries=0, max_calls=1)(_run)
        for job in jobs:
            yield task.remote(self.shared, job, self.threads)

    def wait(self, running: Sequence[Any]) -> Sequence[Any]:
        return self.ray.wait(running)[0]

    def result(self, job: Any, number: int) -> JobReturn:
        try:
            return self.ray.get(job)
        except self.ray.exceptions.RayError as error:  # the task's process has died
            return died(number, f"ended: {error}")

    def stop(self, running: Sequence[Any]) -> None:
        for job in running:
            self.ray.cancel(job)  # as by Ctrl-C: the trial is saved
        if running:
            self.ray.wait(running, num_returns=len(running))


def _run(task: JobTask, job: Job, threads: int) -> JobReturn:
    return task.run(job, threads)
