"""The processes of a distributed run (trainer=ddp, trainer=fsdp): one that dies ends the others, in one sentence.

The first process (rank 0) starts the others of its machine and watches them, and they watch the first. Under torchrun
or Slurm, which start all processes, a process sees only that the connection to another one is lost.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning
from lightning.fabric.utilities.distributed import _set_num_threads_if_needed
from lightning.pytorch.strategies.launchers import _SubprocessScriptLauncher

from composer.core.problems import UserError
from composer.runs.folder import RunFolder
from composer.runs.lock import folder_lock

#: Seconds between two looks at the other processes.
POLL = 0.1

#: Seconds in which the training loop may notice by itself that another process has died. Then this process ends.
GRACE = 5.0

#: The environment variable by which the first process tells the others who it is, and the run's folder.
FIRST = "COMPOSER_RANK_0"

#: Exit codes of a process that has ended as it should: at the end of the run, or told to stop.
ORDERLY = (0, 128 + signal.SIGINT, 128 + signal.SIGTERM)

#: Parts of the errors that torch.distributed raises when another process is gone.
GONE = ("gloo", "NCCL", "Connection closed by peer", "Connection reset by peer", "Broken pipe", "TCPStore")


@contextmanager
def together(trainer: lightning.Trainer, folder: RunFolder | None) -> Iterator[None]:
    """Around the training of a distributed run: if another process dies, this one ends with a ``UserError``.

    folder: the run's folder on the first process, None on the others
    """
    if trainer.world_size == 1:
        yield
        return
    group = group_of(trainer, folder)
    watch = Watch(group)
    try:
        yield
    except RuntimeError as error:
        if not any(part in str(error) for part in GONE):
            group.end()
            raise
        sentence = watch.seen()
        group.end()
        if not group.speaks(sentence):
            raise SystemExit(2) from error
        raise UserError(sentence) from error
    except BaseException:
        group.end()
        raise
    finally:
        watch.over.set()
        os.environ.pop(FIRST, None)


class Group:
    """The other processes, as a process sees them that a launcher such as torchrun has started: not at all."""

    def died(self) -> str | None:
        """A sentence about another process that has died; None if there is none, or if it cannot be seen."""
        return None

    def end(self) -> None:
        """End the other processes, which wait for this one."""

    def speaks(self, sentence: str) -> bool:
        """Whether this process is the one to report the sentence."""
        return True


class Started(Group):
    """The processes that the first one has started."""

    def __init__(self, launcher: Launcher, folder: RunFolder) -> None:
        self.launcher, self.folder = launcher, folder
        os.environ[FIRST] = json.dumps({"pid": os.getpid(), "folder": str(folder.path.resolve())})

    def died(self) -> str | None:
        for rank, process in enumerate(self.launcher.procs, start=1):
            if process.poll() not in (None, *ORDERLY):
                return f"rank {rank} of this run (process {process.pid}) {how(process)}. {advice(self.folder.path)}"
        return None

    def end(self) -> None:
        self.launcher.kill(signal.SIGKILL)


class First(Group):
    """The first process, for one that it has started."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid, self.folder = pid, folder

    def died(self) -> str | None:
        if os.getppid() == self.pid:
            return None
        return f"rank 0 of this run (process {self.pid}) has died without a word, as by SIGKILL. {advice(self.folder)}"

    def speaks(self, sentence: str) -> bool:
        """The first process reports what happens as long as it lives; then the first one does that holds the run."""
        if self.died() is None:
            return False
        with folder_lock(self.folder) as lock:
            place = RunFolder(self.folder)
            if lock is None or place.read_record().status != "running":
                return False
            place.update_record(status="failed", reason=sentence)
            return True


def group_of(trainer: lightning.Trainer, folder: RunFolder | None) -> Group:
    launcher = trainer.strategy.launcher
    if not isinstance(launcher, _SubprocessScriptLauncher) or launcher.cluster_environment.creates_processes_externally:
        known = os.environ.get(FIRST)
        return First(**{**json.loads(known), "folder": Path(json.loads(known)["folder"])}) if known else Group()
    assert folder is not None
    watched = Launcher(launcher.cluster_environment, launcher.num_processes, launcher.num_nodes)
    trainer.strategy._launcher = watched
    return Started(watched, folder)


class Launcher(_SubprocessScriptLauncher):
    """Lightning's launcher without its watch, which would kill this process without a word."""

    def launch(self, function: Callable, *args: Any, trainer: Any = None, **kwargs: Any) -> Any:
        self.cluster_environment.validate_settings(num_devices=self.num_processes, num_nodes=self.num_nodes)
        self._call_children_scripts()
        _set_num_threads_if_needed(num_processes=self.num_processes)
        return function(*args, **kwargs)


class Watch:
    """A thread that ends this process if another one has died and the training loop does not notice.

    The loop does not notice before the processes are connected, for instance.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.over = threading.Event()
        threading.Thread(target=self._run, daemon=True, name="watch of the processes").start()

    def _run(self) -> None:
        while not self.over.wait(POLL):
            sentence = self.group.died()
            if sentence is not None and not self.over.wait(GRACE):
                self._end(sentence)

    def _end(self, sentence: str) -> None:
        self.group.end()
        if isinstance(self.group, Started):
            self.group.folder.update_record(status="failed", reason=sentence)
        if self.group.speaks(sentence):
            print(sentence, file=sys.stderr, flush=True)
        os._exit(2)

    def seen(self) -> str:
        """What has happened to another process, whose death is seen a moment after its connection is lost."""
        deadline = time.monotonic() + GRACE / 4
        while (sentence := self.group.died()) is None and time.monotonic() < deadline:
            time.sleep(POLL)
        return sentence or "the connection to another process of this run is lost: its launcher says how it ended."


def how(process: subprocess.Popen[Any]) -> str:
    """How a process ended: 'was ended by SIGKILL'."""
    code = process.returncode
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def advice(folder: Path) -> str:
    return f"The run is saved up to its last checkpoint: go on with resume={folder}"
