"""kill -9: of a run at random instants from its start to its end, and of one rank of two."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.survival.programs import CONFIG, Baseline, Program, Tally, go_on, one_sentence, start, status
from composer.runs import checkpoint

#: How the name of torch's cache begins, a folder for all programs of a user.
CACHE = "torchinductor_"

#: Seconds that a process may live on after another one of its group has died.
PATIENCE = 60


def kills(place: Path, baseline: Baseline, times: int, seed: int, *, real: bool = False) -> Tally:
    """Kill a run at random instants, then go on.

    Most of the life of a whole program is spent on imports, so every other one is killed after its folder was made.
    """
    tally, draw = Tally(f"kill -9 of {'python train.py' if real else 'a run'}"), random.Random(seed)
    longest = {False: baseline.made if real else baseline.seconds, True: baseline.seconds - baseline.made}
    while tally.times < times:
        folder, late = place / f"killed{tally.times}", real and tally.times % 2 == 1
        program = start([*CONFIG, f"runs={place}", f"name={folder.name}"], real=real)
        if late:
            until(lambda folder=folder: folder.exists(), program)
        time.sleep(draw.uniform(0, longest[late]))
        if program.ended():  # the machine is less busy than it was; a kill that comes too late does not count
            longest[late] *= 0.9
            shutil.rmtree(folder)
            continue
        os.kill(program.pid, signal.SIGKILL)
        program.wait()
        tally.expect("Traceback" not in " ".join(program.errors), f"{folder.name}: {program.errors[-3:]}")
        left = [path.name for path in (program.output / "tmp").iterdir() if not path.name.startswith(CACHE)]
        tally.expect(not left, f"{folder.name}: temporary files stay: {left}")
        tally.count(go_on(tally, baseline, folder))
    return tally


def ranks(place: Path, times: int, seed: int) -> Tally:
    """Kill rank 1 or rank 0 of a run over two processes, at random instants while both of them train."""
    extra = ["trainer=ddp", "trainer.devices=2", "trainer.accelerator=cpu", "training.steps=200"]
    tally, draw = Tally("kill -9 of one rank of two"), random.Random(seed)
    program = start([*CONFIG, *extra, f"runs={place}", "name=alone"], real=True)
    until(lambda: training(place / "alone"), program)
    began = time.monotonic()
    assert program.wait() == 0, program.errors
    longest = time.monotonic() - began
    baseline = Baseline(place / "alone", checkpoint.load(place / "alone" / "checkpoints" / "last.safetensors"), longest)
    while tally.times < times:
        folder, rank = place / f"rank{tally.times}", 1 - tally.times % 2
        program = start([*CONFIG, *extra, f"runs={place}", f"name={folder.name}"], real=True)
        other = second(program)
        until(lambda folder=folder: training(folder), program)
        time.sleep(draw.uniform(0, longest))
        if status(folder) == "finished":  # too late, as above
            program.wait()
            longest *= 0.9
            shutil.rmtree(folder)
            continue
        os.kill(other if rank == 1 else program.pid, signal.SIGKILL)
        code, began = program.wait(), time.monotonic()
        while alive(other) and time.monotonic() - began < PATIENCE:
            time.sleep(0.1)
        tally.expect(not alive(other), f"{folder.name}: the other process lives on")
        finished = status(folder) == "finished"
        if not finished:
            tally.expect(code == (2 if rank == 1 else -signal.SIGKILL), f"{folder.name}: exit code {code}")
            said = one_sentence(program) and f"rank {rank} of this run" in program.errors[0]
            tally.expect(said, f"{folder.name}: {program.errors[:5]}")
            tally.expect(status(folder) == "failed", f"{folder.name}: status {status(folder)}")
        last = folder / "checkpoints" / "last.safetensors"
        step = checkpoint.load(last)["step"] if last.is_file() else 0
        go_on(tally, baseline, folder, real=True)
        tally.count("was finished" if finished else f"rank {rank} behind step {step}: said, resumed")
    return tally


def until(happened: Callable[[], bool], program: Program) -> None:
    """Wait until something has happened, or the program has ended."""
    while not happened() and not program.ended():
        time.sleep(0.01)


def training(folder: Path) -> bool:
    """Whether the processes of a run have met and taken steps together."""
    metrics = folder / "metrics.jsonl"
    return metrics.is_file() and metrics.stat().st_size > 0


def second(program: Program) -> int:
    """The process that the first one starts, once it is there."""
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    while not program.ended():
        for child in children.read_text().split():
            if b"train.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        time.sleep(0.05)
    raise AssertionError(f"the run ended before its second process began: {program.errors}")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
