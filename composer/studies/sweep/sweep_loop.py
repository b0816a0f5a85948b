"""Starts the trials of a sweep that nobody trains, until all are done.

Several processes may work on the same sweep: the locks of the trials' folders divide the work among them.
"""

from __future__ import annotations

import sys
import time
from itertools import islice

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher

from composer.config.overrides import check_overrides
from composer.core.problems import UserError
from composer.runs.folder import RunFolder
from composer.runs.lock import folder_lock
from composer.runs.record import RunRecord
from composer.runs.sweep_folder import SweepFolder
from composer.studies.planning.trial import DONE, Trial
from composer.studies.sweep.trials import Trials

#: Seconds between two looks at trials that other processes train.
POLL = 1.0

#: How often a trial is started without reaching a new checkpoint before it counts as failed.
ATTEMPTS = 2


class SweepLoop:
    """
    at_once: how many trials the launcher is given at once; None for all that are ready, or that it asks for
    """

    def __init__(self, folder: SweepFolder, trials: Trials, launcher: Launcher, at_once: int | None) -> None:
        self.folder, self.trials, self.launcher, self.at_once = folder, trials, launcher, at_once
        self.started: dict[int, Trial] = {}  # and not yet ended
        self.attempts: dict[int, tuple[int, int]] = {}  # by number: the last checkpoint's time, and starts since then
        self.deaths: dict[int, str] = {}  # by number: how the trial's process ended without a result
        self.done: dict[int, RunRecord] = {}

    def run(self) -> None:
        """Train until every trial is done, here or in another process."""
        self.repair()
        while True:
            self.start_all()
            with folder_lock(self.folder.path, wait=True):
                if next(self.trials.ready(self.record), None) is None:
                    return
            time.sleep(POLL)  # the rest is trained elsewhere

    def repair(self) -> None:
        """Set the run.json of a trial aside that cannot be read, so that the trial is planned and trained again."""
        for run in self.folder.runs():
            with folder_lock(run.path) as lock:
                note = run.mend_record() if lock is not None else None
            if note is not None:
                print(note, file=sys.stderr)

    def start_all(self) -> None:
        """Start trials as long as there is one that nobody trains."""
        refill = getattr(self.launcher, "launch_as_ready", None)
        if refill is not None:  # a launcher of ours, which asks for the next trial whenever a process is free
            refill(self.next_job, self.job_ended)
            return
        while batch := list(islice(iter(self.claim, None), self.at_once)):
            try:
                self.launcher.launch([self.job(trial) for trial in batch], batch[0].number)
            except Exception as error:  # whatever the process of a job died of; the other jobs may still run
                if all(self.record(trial).status == "waiting" for trial in batch):
                    raise UserError(f"the launcher cannot start a trial: {error}") from error
            self.started.clear()

    def claim(self) -> Trial | None:
        """The next trial that nobody trains, written down in its folder; None if there is none at the moment."""
        with folder_lock(self.folder.path, wait=True):
            for trial in self.trials.ready(self.record):
                if trial.number not in self.started and self.plan(trial):
                    self.started[trial.number] = trial
                    return trial
        return None

    def plan(self, trial: Trial) -> bool:
        """Write what is known of a trial into its folder. Returns whether the trial can be started now."""
        place = self.folder.run(trial.name)
        with folder_lock(place.path) as lock:
            status = place.read_record().status
            if lock is None or status in DONE:
                return False
            if not place.record_file.is_file():
                place.update_record(**trial.record())
            checkpoint = place.last.stat().st_mtime_ns if place.last.is_file() else 0
            before, starts = self.attempts.get(trial.number, (0, 0))
            starts = starts if before == checkpoint else 0
            if starts == ATTEMPTS:
                self.give_up(place, status, self.deaths.get(trial.number, "was it killed?"))
                return False
            self.attempts[trial.number] = checkpoint, starts + 1
        return True

    def give_up(self, place: RunFolder, status: str | None, last: str) -> None:
        """Record that a trial has failed whose process died again and again."""
        if status == "waiting" and all(run.read_record().status == "waiting" for run in self.folder.runs()):
            raise UserError(f"the launcher cannot start a trial: {last}")  # no trial has begun, so the others cannot
        reason = f"its process ended {ATTEMPTS} times without a result or a new checkpoint: {last}"
        place.update_record(status="failed", reason=reason)

    def job(self, trial: Trial) -> list[str]:
        """A trial's overrides for a launcher, with the trial's folder."""
        check_overrides(trial.overrides)  # those of a study or a search come from files
        folder = str(self.folder.path.resolve()).replace("'", "\\'")
        return [*trial.overrides, f"hydra.sweep.dir='{folder}'", f"hydra.sweep.subdir='{trial.name}'"]

    def record(self, trial: Trial) -> RunRecord:
        """The record of a trial. That of a trial that is done is read once."""
        record = self.done.get(trial.number) or self.folder.run(trial.name).read_record()
        if record.status in DONE:
            self.done[trial.number] = record
        return record

    def next_job(self) -> tuple[int, list[str]] | None:
        room = self.at_once is None or len(self.started) < self.at_once
        trial = self.claim() if room else None
        return (trial.number, self.job(trial)) if trial is not None else None

    def job_ended(self, number: int, result: JobReturn) -> None:
        del self.started[number]
        if result.status is JobStatus.FAILED:
            self.deaths[number] = str(result._return_value)
