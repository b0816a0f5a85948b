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
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from hydra.core.utils import JobReturn

from composer.studies.sweep.launchers.hydra_job import Ended, Job, JobTask, NextJob, died

#: The modules that the server imports before the first fork.
PRELOADED = ["composer.training.run.train", "composer.studies.sweep.job"]


@dataclass
class ProcessPlace:
    """A place for one process at a time.

    environment: variables of its processes, such as the GPU that they see
    """

    environment: dict[str, str]
    number: int = -1
    process: BaseProcess | None = None
    connection: Connection | None = None


@dataclass
class ParallelJobs:
    """Runs jobs in the places, and asks for the next one whenever a place is free.

    threads: of a process whose config does not set trainer.threads
    """

    task: JobTask
    places: list[ProcessPlace]
    threads: int
    returns: dict[int, JobReturn] = field(default_factory=dict)

    def run(self, next_job: NextJob, ended: Ended) -> dict[int, JobReturn]:
        """Run jobs until there is no next one while nothing runs. Returns what they returned, by their numbers."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        try:
            while True:
                for place in self.places:
                    if place.process is None and (job := next_job()) is not None:
                        self.start(context, place, job)
                running = {place.connection: place for place in self.places if place.connection is not None}
                if not running:
                    return self.returns
                for connection in wait(list(running)):
                    place = running[connection]  # type: ignore[index]
                    self.end(place)
                    ended(place.number, self.returns[place.number])
        except (KeyboardInterrupt, SystemExit):
            self.stop()
            raise

    def start(self, context: Any, place: ProcessPlace, job: Job) -> None:
        receiver, sender = context.Pipe(duplex=False)
        place.number, place.connection = job[0], receiver
        arguments = (self.task, job, self.threads, place.environment, sender)
        place.process = context.Process(target=_run, args=arguments, name=f"trial {job[0]}")
        place.process.start()
        sender.close()

    def end(self, place: ProcessPlace) -> None:
        """Take the result of a process that has ended, whatever became of it."""
        assert place.process is not None
        assert place.connection is not None
        try:
            self.returns[place.number] = place.connection.recv()
            place.process.join()
        except EOFError:
            place.process.join()
            self.returns[place.number] = died(place.number, f"ended with code {place.process.exitcode}")
        place.connection.close()
        place.process = place.connection = None

    def stop(self) -> None:
        """Pass the signal to stop on to the processes, which save their trials, and wait for them."""
        running = [place.process for place in self.places if place.process is not None]
        for process in running:
            process.terminate()
        for process in running:
            process.join()


def places(jobs: int | None, threads: int, gpus: Sequence[int] | None) -> list[ProcessPlace]:
    """
    jobs: processes at a time; None for one on each GPU, or as many as the machine's cores have threads for
    gpus: the GPUs that the processes use in turn; None to leave the choice to them
    """
    if jobs is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        jobs = len(gpus) if gpus else max(1, cores // threads)
    environments = [{"CUDA_VISIBLE_DEVICES": str(gpus[i % len(gpus)])} if gpus else {} for i in range(jobs)]
    return [ProcessPlace({"OMP_NUM_THREADS": str(threads), **environment}) for environment in environments]


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
