"""The launcher ``ray``: trials as tasks of a Ray cluster, which may be this machine alone.

A task is asked for whenever the cluster has room for one, so that a search learns from every result at once. Ray's own
plugin for Hydra gives out a whole batch, and brings the client of a cloud with it.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hydra.core.utils import JobReturn

from composer.core.extras import extra
from composer.studies.sweep.launchers.hydra_job import Ended, Job, JobTask, NextJob, died


@dataclass
class RayJobs:
    """
    jobs: tasks at a time; None for as many as the cluster has CPUs or GPUs for
    threads, gpus: CPU threads and GPUs of a task
    init: arguments of ray.init
    """

    task: JobTask
    jobs: int | None
    threads: int
    gpus: float
    init: Mapping[str, Any]

    def run(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        """Run jobs until there is no next one while nothing runs. Returns what they returned, by their numbers."""
        ray = extra("ray", "hydra/launcher=ray", "ray")
        handlers = {stop: signal.getsignal(stop) for stop in (signal.SIGINT, signal.SIGTERM)}
        ray.init(**self.init)
        for stop, handler in handlers.items():
            signal.signal(stop, handler)  # Ray's own would end this process before the trials are saved
        remote = ray.remote(num_cpus=self.threads, num_gpus=self.gpus, max_retries=0, max_calls=1)(_run)
        room, task = self.room(ray.cluster_resources()), ray.put(self.task)
        running: dict[Any, int] = {}
        returns: dict[int, JobReturn] = {}
        try:
            while True:
                while len(running) < room and (job := next_job()) is not None:
                    running[remote.remote(task, job, self.threads)] = job[0]
                if not running:
                    return returns
                for done in ray.wait(list(running))[0]:
                    number = running.pop(done)
                    returns[number] = self.result(ray, done, number)
                    ended(number, returns[number])
        except (KeyboardInterrupt, SystemExit):
            for started in running:
                ray.cancel(started)  # as by Ctrl-C: the trial is saved
            if running:
                ray.wait(list(running), num_returns=len(running))
            raise
        finally:
            ray.shutdown()

    def room(self, resources: Mapping[str, float]) -> int:
        if self.jobs is not None:
            return self.jobs
        fits = [resources.get("CPU", 1) // self.threads]
        if self.gpus:
            fits.append(resources.get("GPU", 0) // self.gpus)
        return max(1, int(min(fits)))

    def result(self, ray: Any, done: Any, number: int) -> JobReturn:
        try:
            return ray.get(done)
        except ray.exceptions.RayError as error:  # the task's process has died
            return died(number, f"ended: {error}")


def _run(task: JobTask, job: Job, threads: int) -> JobReturn:
    return task.run(job, threads)
