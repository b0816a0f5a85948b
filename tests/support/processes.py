"""Runs in processes of their own, begun quickly: a server imports torch once, and every process is a fork of it."""

import multiprocessing
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import chdir
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path

from tests.support.paths import ROOT

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    ["composer.training.run.train", "composer.testing", "composer.cli.main", "hydra", "optuna", "tests.support.warm"]
)


@dataclass
class Done:
    """code: that of the program, or minus the signal that ended it"""

    code: int
    out: str
    err: str


class Running:
    def __init__(self, target, *arguments, environment=None):
        self.folder = tempfile.TemporaryDirectory()
        arguments = (target, arguments, environment or {}, self.folder.name)
        with chdir(ROOT):
            forkserver.ensure_running()  # it finds tests.support only from here; a process has the folder of its caller
        self.process = _context.Process(target=_call, args=arguments)
        self.process.start()

    def join(self, timeout=240):
        self.process.join(timeout)
        assert self.process.exitcode is not None, "it did not come to an end"
        out, err = (Path(self.folder.name, name).read_text() for name in ("out", "err"))
        self.folder.cleanup()
        print(out, err, sep="\n")  # pytest shows it where a test fails
        return Done(self.process.exitcode, out, err)


def run(target, *arguments, environment=None):
    return Running(target, *arguments, environment=environment).join()


def _call(target, arguments, environment, folder):
    import torch

    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(folder, name), os.O_CREAT | os.O_WRONLY), number)
    sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115 - for as long as the process lives
    os.environ.update(environment)
    torch.set_num_threads(1)
    sys.argv = ["train.py"]
    try:
        code = target(*arguments)
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def program(arguments, cwd):
    """``python <script> ...`` or ``python -m <module> ...`` as a user runs it, without waiting for the imports."""
    done = run(_program, [str(word) for word in arguments], str(cwd))
    return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)


def _program(arguments, cwd):
    os.chdir(cwd)
    if arguments[0] == "-m":
        sys.path.insert(0, cwd)
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


def train(overrides):
    """What train.py does, without Hydra's own main: compose and train."""
    from composer.config.composition import compose
    from composer.core.problems import user_errors
    from composer.training.run.train import train

    with user_errors():
        return train(compose(overrides)).exit_code


def train_well(overrides):
    """A run that has to succeed."""
    done = run(train, overrides)
    assert done.code == 0, done.err


def train_on(world, overrides):
    """The same on several processes, as torchrun begins them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = [
        Running(
            train,
            overrides,
            environment={
                "RANK": str(rank), "LOCAL_RANK": str(rank), "GROUP_RANK": "0", "WORLD_SIZE": str(world),
                "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                "TORCHELASTIC_RUN_ID": "test", "GLOO_SOCKET_IFNAME": "lo",
            },
        )
        for rank in range(world)
    ]  # fmt: skip
    return [process.join() for process in running]
