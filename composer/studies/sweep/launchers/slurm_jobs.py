"""The launcher ``slurm``: trials as jobs of a Slurm cluster, which submitit sends as arrays and watches.

submitit's own plugin for Hydra gives up a whole array when one of its jobs dies. Here every job ends by itself. Jobs
that are queued or running when the sweep is stopped stay in Slurm's queue.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.utils import JobReturn

from composer.core.extras import extra
from composer.core.problems import UserError
from composer.studies.sweep.launchers.hydra_job import Job, Jobs, JobTask, died

#: Seconds between two looks for results.
POLL = 1.0

#: Seconds that the result of a job may take to appear on a network file system after Slurm calls the job ended.
PATIENCE = 15.0

#: The parameters of submitit that are the same for every kind of cluster. All others belong to Slurm.
COMMON = ("name", "timeout_min", "mem_gb", "cpus_per_task", "gpus_per_node")


@dataclass(frozen=True)
class SlurmTask:
    """What submitit calls in a job."""

    task: JobTask
    threads: int

    def __call__(self, job: Job) -> JobReturn:
        return self.task.run(job, self.threads)

    def checkpoint(self, job: Job) -> Any:
        """The same call again, if the job's time is up or the job is preempted: the trial resumes by itself."""
        return extra("submitit", "hydra/launcher=slurm", "slurm").helpers.DelayedSubmission(self, job)


class SlurmJobs(Jobs[Any]):
    """
    folder: of the scripts and the output of the jobs; %j stands for a job's number
    room: for jobs at a time
    parameters: of submitit, as in conf/hydra/launcher/slurm.yaml
    """

    def __init__(
        self, task: JobTask, folder: str, room: int, max_num_timeout: int, parameters: Mapping[str, Any]
    ) -> None:
        self.task, self.room, self.parameters = task, room, parameters
        self.submitit = extra("submitit", "hydra/launcher=slurm", "slurm")
        self.ended_at: dict[Any, float] = {}
        try:
            self.executor = self.submitit.AutoExecutor(folder, cluster="slurm", slurm_max_num_timeout=max_num_timeout)
        except RuntimeError as error:
            raise UserError(
                "hydra/launcher=slurm: the command srun is not found. Start the sweep where jobs can be submitted."
            ) from error
        given = {key: value for key, value in parameters.items() if value is not None}
        self.executor.update_parameters(**{key if key in COMMON else f"slurm_{key}": given[key] for key in given})

    def start(self, jobs: Sequence[Job]) -> Iterator[Any]:
        """Queue the jobs as one array."""
        if jobs:
            task = SlurmTask(self.task, self.parameters["cpus_per_task"])
            failures = self.submitit.core.utils.FailedJobError, self.submitit.core.utils.FailedSubmissionError
            try:
                yield from self.executor.map_array(task, jobs)
            except failures as error:
                raise UserError(f"hydra/launcher=slurm: sbatch refuses the jobs: {error}") from error

    def wait(self, running: Sequence[Any]) -> Sequence[Any]:
        found = [job for job in running if self.over(job)]
        if not found:
            time.sleep(POLL)
        return found

    def over(self, job: Any) -> bool:
        """Whether a job has a result, or Slurm calls it ended and no result has come for some time."""
        if job.paths.result_pickle.exists():
            return True
        if not job.done():
            return False
        return time.monotonic() - self.ended_at.setdefault(job, time.monotonic()) > PATIENCE

    def result(self, job: Any, number: int) -> JobReturn:
        self.ended_at.pop(job, None)
        if not job.paths.result_pickle.exists():
            words = (job.stderr() or "").strip()[-1000:] or f"see {job.paths.stderr}"
            return died(number, f"ended without a result, in Slurm's state {job.state}: {words}")
        try:
            return job.result()
        except self.submitit.core.utils.UncompletedJobError as error:
            return died(number, f"ended: {error}")
