"""The launcher ``slurm``: trials as jobs of a Slurm cluster, which submitit sends as arrays and watches.

submitit's own plugin for Hydra gives up a whole array when one of its jobs dies. Here every job ends by itself. Jobs
that are queued or running when the sweep is stopped stay in Slurm's queue.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from hydra.core.utils import JobReturn

from composer.core.extras import extra
from composer.core.problems import UserError
from composer.studies.sweep.launchers.hydra_job import Ended, Job, JobTask, NextJob, died

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


@dataclass
class SlurmJobs:
    """
    folder: of the scripts and the output of the jobs; %j stands for a job's number
    jobs: at a time
    parameters: of submitit, as in conf/hydra/launcher/slurm.yaml
    """

    task: JobTask
    folder: str
    jobs: int
    max_num_timeout: int
    parameters: Mapping[str, Any]
    ended_at: dict[int, float] = field(default_factory=dict)

    def run(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        """Run jobs until there is no next one while nothing runs. Returns what they returned, by their numbers."""
        submitit = extra("submitit", "hydra/launcher=slurm", "slurm")
        executor = self.executor(submitit)
        running: dict[int, Any] = {}
        returns: dict[int, JobReturn] = {}
        while True:
            ready = list(islice(iter(next_job, None), self.jobs - len(running)))
            running |= self.submit(submitit, executor, ready)
            if not running:
                return returns
            over = [number for number, job in running.items() if self.over(number, job)]
            for number in over:
                returns[number] = self.result(submitit, running.pop(number), number)
                ended(number, returns[number])
            if not over:
                time.sleep(POLL)

    def executor(self, submitit: Any) -> Any:
        try:
            executor = submitit.AutoExecutor(self.folder, cluster="slurm", slurm_max_num_timeout=self.max_num_timeout)
        except RuntimeError as error:
            raise UserError(
                "hydra/launcher=slurm: the command srun is not found. Start the sweep where jobs can be submitted."
            ) from error
        given = {key: value for key, value in self.parameters.items() if value is not None}
        executor.update_parameters(**{key if key in COMMON else f"slurm_{key}": given[key] for key in given})
        return executor

    def submit(self, submitit: Any, executor: Any, ready: Sequence[Job]) -> dict[int, Any]:
        """Queue some jobs as one array."""
        if not ready:
            return {}
        task = SlurmTask(self.task, self.parameters["cpus_per_task"])
        try:
            jobs = executor.map_array(task, ready)
        except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
            raise UserError(f"hydra/launcher=slurm: sbatch refuses the jobs: {error}") from error
        return {number: job for (number, _), job in zip(ready, jobs, strict=True)}

    def over(self, number: int, job: Any) -> bool:
        """Whether a job has a result, or Slurm calls it ended and no result has come for some time."""
        if job.paths.result_pickle.exists():
            return True
        if not job.done():
            return False
        return time.monotonic() - self.ended_at.setdefault(number, time.monotonic()) > PATIENCE

    def result(self, submitit: Any, job: Any, number: int) -> JobReturn:
        self.ended_at.pop(number, None)
        if not job.paths.result_pickle.exists():
            words = (job.stderr() or "").strip()[-1000:] or f"see {job.paths.stderr}"
            return died(number, f"ended without a result, in Slurm's state {job.state}: {words}")
        try:
            return job.result()
        except submitit.core.utils.UncompletedJobError as error:
            return died(number, f"ended: {error}")
