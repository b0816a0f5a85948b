"""The job that a launcher runs: the training of one trial, wherever and in whichever process."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import yaml

from composer.config.composition import Composed
from composer.core.problems import UserError
from composer.core.program import training_command
from composer.core.storage.atomic_files import write_text
from composer.core.storage.json_output import SIGNALLED
from composer.runs.folder import RunFolder
from composer.runs.lock import folder_lock, pass_on
from composer.studies.planning.trial import DONE
from composer.studies.sweep.search.search_pruning import TRIAL, pruning_of
from composer.studies.sweep.sweep_results import judged_metric


def run_trial(compose: Callable[[], Composed], folder: Path, overrides: Sequence[str]) -> float:
    """Train a trial in its folder, from its last checkpoint if there is one, and return its judged metric.

    A trial that is done is not trained again. NaN is returned if the trial failed, or if another process trains it.
    Errors are recorded in the folder and not raised, so that the other trials of the sweep go on.
    """
    place = RunFolder(folder)
    with folder_lock(folder) as lock:
        if lock is None:
            return math.nan
        if place.read_record().status not in DONE:
            stopped_by = _train(compose, place, overrides, lock)
            if stopped_by is not None:  # the trial is saved; now the signal has the effect that it has on this process
                signal.raise_signal(stopped_by)
        return place.read_record().judged(judged_metric(folder.parent)[0])


def _train(compose: Callable[[], Composed], place: RunFolder, overrides: Sequence[str], lock: IO[str]) -> int | None:
    """Train a trial. Returns the signal that stopped it, if one did."""
    planned = place.record_file.is_file()  # by our sweeper, which shows the trials' progress itself
    try:
        composed = compose()
        name = place.path.parent.name
        composed.values |= {"runs": str(place.path.parent), "name": place.path.name, "group": name}
        budget = place.read_record().budget
        composed.values |= {"budget": budget} if budget is not None else {}
        if composed.values["trainer"].get("strategy") == "single":
            code = _train_here(composed, place, quiet=planned)
        else:
            code = _train_in_group(composed, place, overrides, lock, quiet=planned)
    except UserError as error:
        _fail(place, overrides, str(error))
    except Exception as error:
        _fail(place, overrides, f"{type(error).__name__}: {error}", traceback.format_exc())
    else:
        return code - SIGNALLED if code > SIGNALLED else None
    return None


def _train_here(composed: Composed, place: RunFolder, *, quiet: bool) -> int:
    from composer.training.run.train import train  # imports torch and Lightning

    if place.saved() or place.read_record().saved:
        composed = Composed({**composed.values, "resume": str(place.path)}, (), {})
    return train(composed, folder=place, brief=True, quiet=quiet, prune=pruning_of(place.path)).exit_code


def _train_in_group(
    composed: Composed, place: RunFolder, overrides: Sequence[str], lock: IO[str], *, quiet: bool
) -> int:
    """Train on several devices, in a process group of its own.

    Every process of a distributed run starts the program again, with a single run as its command line. The group shares
    the lock: if this process is killed, the trial is held until the group has ended.
    """
    if not place.config.is_file():
        write_text(place.config, yaml.safe_dump(composed.written(), sort_keys=False, allow_unicode=True))
    if not place.record_file.is_file():
        place.update_record(overrides=list(overrides))
    plugins = ",".join(f"'{plugin}'" for plugin in composed.values["plugins"])
    program, found = training_command()
    command = [*program, f"resume='{place.path}'", f"plugins=[{plugins}]"]
    output = subprocess.DEVNULL if quiet else None
    # In a job of Slurm, Lightning would leave it to srun to start the processes of the group.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
    process = subprocess.Popen(
        command, start_new_session=True, pass_fds=[lock.fileno()], stdout=output, stderr=subprocess.PIPE, text=True,
        env={**environment, **found, TRIAL: str(place.path), **pass_on(lock)},
    )  # fmt: skip
    with handling_signals(lambda number: os.killpg(process.pid, number)):  # the group saves its run and ends
        _, errors = process.communicate()
    # Lightning ends a process by a signal when another one of its group has ended first, as all do when told to stop.
    code = process.returncode if process.returncode >= 0 else SIGNALLED - process.returncode
    if code == 2:
        raise UserError(errors.strip())
    if code not in (0, SIGNALLED + signal.SIGINT, SIGNALLED + signal.SIGTERM):
        raise UserError(f"the trial's processes ended with code {process.returncode}: {errors.strip()[-2000:]}")
    return code


@contextmanager
def handling_signals(handle: Callable[[int], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call a function with the number of the signal."""
    own = threading.current_thread() is threading.main_thread()  # Python lets no other thread handle signals
    stops = (signal.SIGINT, signal.SIGTERM) if own else ()
    before = {number: signal.signal(number, lambda number, _: handle(number)) for number in stops}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fail(place: RunFolder, overrides: Sequence[str], reason: str, details: str = "") -> None:
    if not place.read_record().trial:  # by another sweeper, which shows nothing of a failure
        print(f"{place.path.name}: {details or reason}", file=sys.stderr, flush=True)
        place.update_record(overrides=list(overrides))
    with place.log.open("a", encoding="utf-8") as log:
        log.write(f"{details or reason}\n")
    place.update_record(status="failed", reason=reason)
