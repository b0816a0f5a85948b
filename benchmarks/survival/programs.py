"""Runs in processes of their own, and what is compared: the weights of a run that nothing happened to."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from composer.runs import checkpoint

ROOT = Path(__file__).parents[2]

#: A small run with everything that has a state: dropout, a moving average, micro-batches, validations.
CONFIG = [
    "data=copy", "data.train_size=100", "data.valid_size=20", "data.length=6", "model.dim=16", "mixer=gru",
    "training.steps=40", "training.batch=8", "training.accumulate=2", "training.checkpoint_every=5",
    "training.validate_every=10", "training.decode_rows=4", "training.log_every=3", "training.ema=0.9",
    "training.figures=false", "trainer.threads=1", "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1",
    "model.nodes.encoder.dropout=0.1",
]  # fmt: skip

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["composer.training.run.train", "hydra", "blocks"])


@dataclass
class Program:
    """A run in a process of its own: a fork that has the imports behind it, or ``python train.py``.

    output: the folder of its output, and its folder for temporary files
    """

    process: Any
    output: Path

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    def ended(self) -> bool:
        return (
            self.process.poll() if isinstance(self.process, subprocess.Popen) else self.process.exitcode
        ) is not None

    def wait(self, seconds: float = 600) -> int:
        """The exit code, or minus the signal that ended the process."""
        if isinstance(self.process, subprocess.Popen):
            return self.process.wait(seconds)
        self.process.join(seconds)
        assert self.process.exitcode is not None, "the process did not come to an end"
        return int(self.process.exitcode)

    @property
    def errors(self) -> list[str]:
        return (self.output / "err").read_text(encoding="utf-8").strip().splitlines()


def start(arguments: list[str], *, real: bool = False) -> Program:
    """
    real: ``python train.py``, with its imports; otherwise a fork, in which nothing but the run takes time
    """
    if real:
        output = _output()
        files = {name: (output / name).open("w") for name in ("out", "err")}
        process: Any = subprocess.Popen(
            [sys.executable, str(ROOT / "train.py"), *arguments], stdout=files["out"], stderr=files["err"], cwd=ROOT,
            env={**os.environ, "TMPDIR": str(output / "tmp"), "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        return Program(process, output)
    return fork(_train, arguments)


def fork(target: Callable[..., None], *arguments: Any) -> Program:
    """Call a function in a fork that has the imports behind it. Its last argument is the folder of its output."""
    output = _output()
    process = _context.Process(target=target, args=(*arguments, str(output)))
    process.start()
    return Program(process, output)


def _output() -> Path:
    output = Path(tempfile.mkdtemp(prefix="survival-"))
    (output / "tmp").mkdir()
    (output / "err").touch()  # which a process that is killed at once does not make
    return output


def run(arguments: list[str], *, real: bool = False) -> tuple[int, Program]:
    program = start(arguments, real=real)
    return program.wait(), program


def _train(arguments: list[str], output: str) -> None:
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(output, name), os.O_CREAT | os.O_WRONLY), number)
    tempfile.tempdir = str(Path(output, "tmp"))
    sys.argv = ["train.py", *arguments]
    torch.set_num_threads(1)
    from composer.config.composition import compose
    from composer.core.problems import user_errors
    from composer.training.run.train import train

    with user_errors():
        code = train(compose(arguments)).exit_code
    sys.stdout.flush()
    os._exit(code)


@dataclass
class Tally:
    """The outcome of one kind of trouble.

    outcomes: how often which outcome was seen
    faults: what should not have happened, in sentences
    """

    name: str
    times: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def count(self, outcome: str) -> None:
        self.times += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        print(".", end="", file=sys.stderr, flush=True)

    def expect(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)


@dataclass
class Baseline:
    """The run that nothing happened to: its folder, its last checkpoint, and how long it took.

    made: the seconds after which its folder was there
    """

    folder: Path
    content: dict[str, Any]
    seconds: float
    made: float = 0.0

    @classmethod
    def train(cls, place: Path, extra: list[str] | None = None, *, real: bool = False) -> Baseline:
        arguments = [*CONFIG, *(extra or []), f"runs={place}", "name=alone"]
        if not real:
            run([*arguments[:-1], "name=warm"])  # the server of the forks is started by the first of them
        began, folder = time.monotonic(), place / "alone"
        program = start(arguments, real=real)
        while not folder.exists() and not program.ended():
            time.sleep(0.01)
        made = time.monotonic() - began
        assert program.wait() == 0, program.errors
        return cls(folder, checkpoint.load(folder / "checkpoints" / "last.safetensors"), time.monotonic() - began, made)

    def same(self, folder: Path) -> bool:
        """Whether a run has reached the same weights, bit for bit, and has a line of metrics for the same steps."""
        found = checkpoint.load(folder / "checkpoints" / "last.safetensors")
        for key in ("model", "average"):
            if any(not torch.equal(weight, found[key][name]) for name, weight in self.content[key].items()):
                return False
        return found["step"] == self.content["step"] and steps(folder) == steps(self.folder)


def steps(folder: Path) -> list[int]:
    lines = (folder / "metrics.jsonl").read_bytes().split(b"\n")
    found = []
    for line in lines:
        try:
            found.append(json.loads(line)["step"])
        except (ValueError, TypeError, KeyError):  # a line that a flipped bit has spoilt
            found.append(-1)
    return found


def status(folder: Path) -> str | None:
    """The status in run.json; None if the run's folder is not there."""
    return str(json.loads((folder / "run.json").read_text())["status"]) if folder.exists() else None


def one_sentence(program: Program) -> bool:
    """Whether the errors are one line, and no traceback."""
    return len(program.errors) == 1 and "Traceback" not in program.errors[0]


def go_on(tally: Tally, baseline: Baseline, folder: Path, extra: list[str] | None = None, *, real: bool = False) -> str:
    """Resume a run, or start it again if nothing of it is there. Its weights have to be those of the baseline."""
    if not folder.exists():
        arguments, outcome = [*CONFIG, *(extra or []), f"runs={folder.parent}", f"name={folder.name}"], "begun again"
    else:
        arguments, outcome = [f"resume={folder}"], "resumed"
        if status(folder) == "finished":
            outcome = "was finished"
    if outcome != "was finished":
        code, program = run(arguments, real=real)
        tally.expect(code == 0, f"{folder.name}: {outcome}, exit code {code}: {program.errors[-3:]}")
    tally.expect(baseline.same(folder), f"{folder.name}: not the weights of the run that nothing happened to")
    left = [path for path in folder.parent.rglob(".*") if path.name != ".lock"]
    tally.expect(not left, f"left behind: {left}")
    return outcome
