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
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from hydra.core.utils import JobReturn

from composer.studies.sweep.launchers.hydra_job import Ended, Job, JobTask, NextJob, died

#: The modules that the server imports before the first fork.
PRELOADED = ["composer.training.run.train", "composer.studies.sweep.job"]


@dataclass(frozen=True)
class JobProcess:
    """
    environment: variables of the process, such as the GPU that it sees
    """

    number: int
    process: BaseProcess
    environment: dict[str, str]


@dataclass(frozen=True)
class ParallelJobs:
    """Runs as many jobs at a time as there are environments, and asks for the next one whenever one of these is free.

    threads: of a process whose config does not set trainer.threads
    """

    task: JobTask
    environments: list[dict[str, str]]
    threads: int

    def run(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        """Run jobs until there is no next one while nothing runs. Returns what they returned, by their numbers."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        free, returns = list(self.environments), dict[int, JobReturn]()
        running: dict[Connection, JobProcess] = {}
        try:
            while True:
                while free and (job := next_job()) is not None:
                    connection, process = self.start(context, job, free[0])
                    running[connection] = JobProcess(job[0], process, free.pop(0))
                if not running:
                    return returns
                ready = wait(list(running))
                for connection in [each for each in running if each in ready]:
                    over = running.pop(connection)
                    returns[over.number] = result(connection, over)
                    free.append(over.environment)
                    ended(over.number, returns[over.number])
        except (KeyboardInterrupt, SystemExit):
            for each in running.values():  # which save their trials
                each.process.terminate()
            for each in running.values():
                each.process.join()
            raise

    def start(self, context: Any, job: Job, environment: dict[str, str]) -> tuple[Connection, BaseProcess]:
        receiver, sender = context.Pipe(duplex=False)
        arguments = (self.task, job, self.threads, environment, sender)
        process = context.Process(target=_run, args=arguments, name=f"trial {job[0]}")
        process.start()
        sender.close()
        return receiver, process


def result(connection: Connection, over: JobProcess) -> JobReturn:
    """The result of a process that has ended, whatever became of it."""
    try:
        found = connection.recv()
        over.process.join()
    except EOFError:
        over.process.join()
        found = died(over.number, f"ended with code {over.process.exitcode}")
    connection.close()
    return found


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
