"""The processes of a distributed run (trainer=ddp, trainer=fsdp): one that dies ends the others, in one sentence.

The first process (rank 0) starts the others of its machine and watches them, and they watch the first. Under torchrun
or Slurm, which start all processes, a process sees only that the connection to another one is lost.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import lightning
from lightning.pytorch.strategies import ParallelStrategy

from composer.core.problems import UserError
from composer.core.program import training_command
from composer.runs.folder import RunFolder
from composer.runs.lock import folder_lock

#: Seconds between two looks at the other processes.
POLL = 0.1

#: Seconds in which the training loop may notice by itself that another process has died. Then this process ends.
GRACE = 5.0

#: The environment variable by which the first process tells the others who it is, and the run's folder.
FIRST = "COMPOSER_RANK_0"

#: The environment variables by which Lightning knows the place of a process that was started for it.
PLACE = ("LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")

#: Exit codes of a process that has ended as it should: at the end of the run, or told to stop.
ORDERLY = (0, 128 + signal.SIGINT, 128 + signal.SIGTERM)

#: Parts of the errors that torch.distributed raises when another process is gone.
GONE = ("gloo", "NCCL", "Connection closed by peer", "Connection reset by peer", "Broken pipe", "TCPStore")


def process_rank() -> int:
    """The rank of this process, as its launcher has set it; 0 where it was started by hand."""
    found = (os.environ.get(name) for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK"))
    return next((int(rank) for rank in found if rank is not None), 0)


@contextmanager
def together(trainer: lightning.Trainer, folder: RunFolder | None) -> Iterator[None]:
    """Around the training of a distributed run: if another process dies, this one ends with a ``UserError``.

    folder: the run's folder on the first process, None on the others
    """
    if trainer.world_size == 1:
        yield
        return
    before = set(os.environ)
    others = other_processes(trainer, folder)
    try:
        yield
    except RuntimeError as error:
        if not any(part in str(error) for part in GONE):
            others.end()
            raise
        sentence = others.seen()
        others.end()
        if not others.speaks(sentence):
            raise SystemExit(2) from error
        raise UserError(sentence) from error
    except BaseException:
        others.end()
        raise
    finally:
        others.over.set()
        for name in {FIRST, *PLACE} - before:
            os.environ.pop(name, None)


class OtherProcesses:
    """The other processes of a run, as far as this one sees them: not those that a launcher such as torchrun started.

    A thread ends this process if another one has died and the training loop does not notice it. The loop does not
    notice before the processes are connected, for instance.

    folder: the run's folder; None where no process is seen
    started: the processes that this one has started, if it is the first
    first: the number of the first process, if it has started this one
    """

    def __init__(
        self, folder: RunFolder | None = None, started: Sequence[subprocess.Popen[bytes]] = (), first: int | None = None
    ) -> None:
        self.folder, self.started, self.first = folder, started, first
        self.over = threading.Event()
        threading.Thread(target=self._watch, daemon=True, name="watch of the processes").start()

    def died(self) -> str | None:
        """A sentence about another process that has died; None if there is none, or if it cannot be seen."""
        for rank, process in enumerate(self.started, start=1):
            if process.poll() not in (None, *ORDERLY):
                code = process.returncode
                how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
                return self._sentence(rank, process.pid, how)
        if self.first is not None and os.getppid() != self.first:
            return self._sentence(0, self.first, "has died without a word, as by SIGKILL")
        return None

    def _sentence(self, rank: int, pid: int, how: str) -> str:
        assert self.folder is not None
        saved = f"The run is saved up to its last checkpoint: go on with resume={self.folder.path}"
        return f"rank {rank} of this run (process {pid}) {how}. {saved}"

    def seen(self) -> str:
        """What has happened to another process, whose death is seen a moment after its connection is lost."""
        deadline = time.monotonic() + GRACE / 4
        while (sentence := self.died()) is None and time.monotonic() < deadline:
            time.sleep(POLL)
        return sentence or "the connection to another process of this run is lost: its launcher says how it ended."

    def end(self) -> None:
        """End the processes that this one has started, which wait for it."""
        for process in self.started:
            process.kill()

    def speaks(self, sentence: str) -> bool:
        """Whether this process is the one to report the sentence.

        The first process reports what happens as long as it lives; then the first one does that holds the run.
        """
        if self.first is None:
            return True
        assert self.folder is not None
        if self.died() is None:
            return False
        with folder_lock(self.folder.path) as lock:
            if lock is None or self.folder.read_record().status != "running":
                return False
            self.folder.update_record(status="failed", reason=sentence)
            return True

    def _watch(self) -> None:
        while not self.over.wait(POLL):
            sentence = self.died()
            if sentence is not None and not self.over.wait(GRACE):
                self.end()
                if self.folder is not None and self.started:
                    self.folder.update_record(status="failed", reason=sentence)
                if self.speaks(sentence):
                    print(sentence, file=sys.stderr, flush=True)
                os._exit(2)


def other_processes(trainer: lightning.Trainer, folder: RunFolder | None) -> OtherProcesses:
    """The other processes of a run. Those of this machine are started here, unless a launcher has started all."""
    strategy = trainer.strategy
    assert isinstance(strategy, ParallelStrategy)
    if (known := os.environ.get(FIRST)) is not None:
        first = json.loads(known)
        return OtherProcesses(RunFolder(Path(first["folder"])), first=first["pid"])
    if strategy.cluster_environment is None or strategy.cluster_environment.creates_processes_externally:
        return OtherProcesses()
    assert folder is not None
    return OtherProcesses(folder, start(trainer, folder))


def start(trainer: lightning.Trainer, folder: RunFolder) -> list[subprocess.Popen[bytes]]:
    """Start this program once more for every other process of this machine, in the environment that Lightning reads."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = str(free.getsockname()[1])
    told = dict(zip(PLACE, ("0", str(trainer.world_size), "0", "127.0.0.1", port), strict=True))
    told[FIRST] = json.dumps({"pid": os.getpid(), "folder": str(folder.path.resolve())})
    os.environ.update({name: value for name, value in told.items() if name not in os.environ})
    program, found = training_command()
    return [
        subprocess.Popen([*program, *sys.argv[1:]], env=os.environ | found | {"LOCAL_RANK": str(rank)})
        for rank in range(1, trainer.num_devices)
    ]
