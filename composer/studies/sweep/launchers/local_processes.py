"""The launcher ``parallel``: several trials at once on this machine, each in a process of its own.

The processes are forks of a server that has imported torch, so that a trial starts in a fraction of a second. Each is a
process group: Ctrl-C reaches the sweep alone, which passes the signal on once, and every trial saves itself and ends.
If the sweep is killed, its trials save themselves and end, too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from hydra.core.utils import JobReturn

from composer.studies.sweep.launchers.hydra_job import Job, Jobs, JobTask, died

#: The modules that the server imports before the first fork.
PRELOADED = ["composer.training.run.train", "composer.studies.sweep.job"]


@dataclass(frozen=True, eq=False)
class JobProcess:
    """
    connection: receives what the job returned
    environment: variables of the process, such as the GPU that it sees
    """

    process: BaseProcess
    connection: Connection
    environment: dict[str, str]


class ParallelJobs(Jobs[JobProcess]):
    """
    environments: the variables of the processes that run at a time
    threads: of a process whose config does not set trainer.threads
    """

    def __init__(self, task: JobTask, environments: Sequence[dict[str, str]], threads: int) -> None:
        self.task, self.threads, self.room = task, threads, len(environments)
        self.free = list(environments)
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOADED)

    def start(self, jobs: Sequence[Job]) -> Iterator[JobProcess]:
        for job in jobs:
            receiver, sender = self.context.Pipe(duplex=False)
            arguments = (self.task, job, self.threads, self.free[0], sender)
            process = self.context.Process(target=_run, args=arguments, name=f"trial {job[0]}")
            process.start()
            sender.close()
            yield JobProcess(process, receiver, self.free.pop(0))

    def wait(self, running: Sequence[JobProcess]) -> Sequence[JobProcess]:
        ready = wait([job.connection for job in running])
        return [job for job in running if job.connection in ready]

    def result(self, job: JobProcess, number: int) -> JobReturn:
        try:
            found = job.connection.recv()
            job.process.join()
        except EOFError:
            job.process.join()
            found = died(number, f"ended with code {job.process.exitcode}")
        job.connection.close()
        self.free.append(job.environment)
        return found

    def stop(self, running: Sequence[JobProcess]) -> None:
        for job in running:
            job.process.terminate()
        for job in running:
            job.process.join()


def environments(jobs: int | None, threads: int, gpus: Sequence[int] | None) -> list[dict[str, str]]:
    """The variables of the processes that run at a time.

    jobs: processes at a time; None for one on each GPU, or as many as the machine's cores have threads for
    gpus: the GPUs that the processes use in turn; None to leave the choice to them
    """
    if jobs is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        jobs = len(gpus) if gpus else max(1, cores // threads)
    own = [{"CUDA_VISIBLE_DEVICES": str(gpus[i % len(gpus)])} if gpus else {} for i in range(jobs)]
    return [{"OMP_NUM_THREADS": str(threads), **each} for each in own]


def _run(task: JobTask, job: Job, threads: int, environment: dict[str, str], sender: Connection) -> None:
    """A process: run one job, and send what it returned."""
    os.setpgid(0, 0)
    os.environ.update(environment)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sender.send(task.run(job, threads))


def _end_with_parent() -> None:
    """When the process that wanted this one has died, stop as by SIGTERM: the trial is saved."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
