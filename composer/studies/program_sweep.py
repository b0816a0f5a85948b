"""Sweeps and studies for a program, such as a notebook: those of ``python train.py -m``, in a process of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO

from composer.core.problems import UserError
from composer.core.program import training_command
from composer.core.storage.json_output import SIGNALLED
from composer.studies.comparison import Comparison, compare
from composer.studies.sweep.sweeper import FOUND


def study(
    name: str, overrides: Sequence[str] = (), config_dir: str | Path | None = None, *, quiet: bool = False
) -> Comparison:
    """Plan a study and train all of its runs, as ``python train.py -m study=name`` does, and compare its arms.

    overrides: such as ``["training.steps=100", "hydra/launcher=parallel"]``
    config_dir: a folder with YAML of your own, as ``--config-dir``
    quiet: do not print how far it is
    """
    return sweep([f"study={name}", *_words(overrides)], config_dir, quiet=quiet)


def sweep(
    overrides: Sequence[str], config_dir: str | Path | None = None, *, quiet: bool = False
) -> Comparison:  # fmt: skip
    """Train a run for every combination of values, such as ``["mixer=lstm,gru", "seed=1,2"]``, and compare the runs.

    An interrupted sweep is saved, and the same call goes on with it, as ``python train.py -m`` does.
    """
    program, found = training_command()
    options = [] if config_dir is None else ["--config-dir", str(config_dir)]
    command = [*program, "-m", *_words(overrides), *options]
    with TemporaryDirectory() as place:
        answer = Path(place, "folder")
        environment = {**os.environ, **found, FOUND: str(answer), "PYTHONUNBUFFERED": "1"}
        code, errors = run_program(command, environment, quiet)
        if code == 0:
            return compare(answer.read_text(encoding="utf-8"))
    if code in (SIGNALLED + signal.SIGINT, -signal.SIGINT):
        raise KeyboardInterrupt
    if code == SIGNALLED + signal.SIGTERM:
        raise UserError("the sweep was told to stop, and is saved. The same call goes on with it.")
    raise UserError(errors.strip() or f"the sweep ended with code {code}.")


def _words(overrides: Sequence[str]) -> list[str]:
    if isinstance(overrides, str):
        raise UserError(f"overrides are a list of texts, such as ['seed=1,2'], and not {overrides!r}.")
    return list(overrides)


def run_program(command: Sequence[str], environment: dict[str, str], quiet: bool) -> tuple[int, str]:
    """Run a program, whose output is printed as it comes. Returns its exit code, and what it wrote of errors.

    The output goes through Python, because the screen of a notebook is not that of its process. The program is in a
    group of its own, so that an interrupt reaches it once, and it saves what it has.
    """
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        errors="replace", start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[str] = []
    reader = Thread(target=_collect, args=(process.stderr, errors), daemon=True)
    reader.start()
    with process.stdout:
        while True:
            try:
                line = process.stdout.readline()
                if not line:
                    break
                if not quiet:
                    print(line, end="", flush=True)
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
    code = process.wait()
    reader.join()
    written = "".join(errors)
    if code == 0 and written and not quiet:
        print(written, end="", file=sys.stderr)
    return code, written


def _collect(stream: IO[str], lines: list[str]) -> None:
    with stream:
        lines.extend(stream)
