"""kill -9 of a sweep between its last trial and its end, at every change of a file there."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.survival.programs import CONFIG, ROOT, Program, Tally, fork

TRIALS = [*(word for word in CONFIG if not word.startswith(("training.steps", "model.dim"))), "training.steps=5"]

STUDY = "# @package _global_\nstudy:\n  arms: {narrow: [], wide: [model.dim=32]}\n  seeds: [1]\n"

#: A sweep of two trials of every kind, with a name and without.
SWEEPS = {
    "grid": ["model.dim=16", "seed=1,2"],
    "named grid": ["model.dim=16", "seed=1,2", "name=mine"],
    "named search": [
        "model.dim=16", "search=random", "search.trials=2", "optimiser.learning_rate=interval(1e-3,1e-2)", "name=mine",
    ],
    "study": ["--config-dir", "own", "study=two"],
}  # fmt: skip


def sweeps(place: Path, times: int) -> Tally:
    """Kill the endings of sweeps, one change of a file after the other, then go on by the same command."""
    tally = Tally("kill -9 of a sweep's end")
    bases = {kind: ended(place / kind, words) for kind, words in SWEEPS.items()}
    changes = dict.fromkeys(SWEEPS, 0)
    while tally.times < times:
        kind = list(SWEEPS)[tally.times % len(SWEEPS)]
        folder = Path(shutil.copytree(bases[kind], place / f"{kind}{tally.times}"))
        before = trained(folder)
        code = start(folder, SWEEPS[kind], changes[kind]).wait()
        if code == 0:  # there are no more changes: from the first one again
            tally.expect(changes[kind] > 3, f"{kind}: only {changes[kind]} changes at its end")
            changes[kind] = 0
            tally.count(f"{kind} left alone")
            continue
        tally.expect(code == -signal.SIGKILL, f"{kind}, change {changes[kind]}: exit code {code}")
        program = start(folder, SWEEPS[kind])
        again, found = program.wait(), list((folder / "runs").iterdir())
        what = f"{kind} killed before change {changes[kind]}"
        tally.expect(again == 0, f"{what}: exit code {again}: {program.errors[-3:]}")
        tally.expect(len(found) == 1, f"{what}: another sweep was begun")
        tally.expect(trained(folder) == before, f"{what}: a trial was touched")
        tally.expect(whole(found[0]), f"{what}: the ending is not whole")
        changes[kind] += 1
        tally.count(f"{kind} went on")
    return tally


def ended(folder: Path, words: Sequence[str]) -> Path:
    """A sweep that was killed when its trials were done and nothing of its ending was."""
    (folder / "own" / "study").mkdir(parents=True)
    (folder / "own" / "study" / "two.yaml").write_text(STUDY)
    program = start(folder, words, 0)
    assert program.wait() == -signal.SIGKILL, program.errors
    return folder


def trained(folder: Path) -> dict[str, bytes]:
    """The files of all trials, by their paths."""
    files = (path for path in folder.glob("runs/*/*/**/*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def whole(sweep: Path) -> bool:
    written = all((sweep / name).is_file() for name in ("results.json", "report.html"))
    return written and json.loads((sweep / "sweep.json").read_text())["status"] == "finished"


def start(folder: Path, words: Sequence[str], change: int | None = None) -> Program:
    """
    change: the change of a file, counted from the end of the last trial, before which the process kills itself
    """
    return fork(_sweep, str(folder), ["-m", *TRIALS, *words], change)


def _sweep(folder: str, words: list[str], change: int | None, output: str) -> None:
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(output, name), os.O_CREAT | os.O_WRONLY), number)
    os.chdir(folder)
    tempfile.tempdir = str(Path(output, "tmp"))
    sys.argv = [str(ROOT / "train.py"), *words]
    torch.set_num_threads(1)
    if change is not None:
        _kill_before(change, folder)
    runpy.run_path(sys.argv[0], run_name="__main__")


def _kill_before(change: int, folder: str) -> None:
    from composer.studies.sweep import sweep_results

    left, conclude = [change + 1], sweep_results.conclude

    def watched(*arguments: Any) -> None:
        sys.addaudithook(count)
        conclude(*arguments)

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[1], str) and not arguments[1].startswith("r")
        path = arguments[0] if writes or event in ("os.rename", "os.mkdir", "os.remove", "os.chmod") else None
        if isinstance(path, str | Path) and os.path.abspath(path).startswith(folder):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    sweep_results.conclude = watched
