"""The command runs: all runs and sweeps below a folder. Nothing here imports torch, and run.json says all of it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from composer.cli.options import json_option, output, rest_argument
from composer.core.problems import UserError, did_you_mean
from composer.runs.finding import Skipped, Unreadable, find_runs, read_record
from composer.runs.folder import RunFolder, last_lines
from composer.runs.lock import is_attended, is_held
from composer.runs.record import RunRecord, SweepRecord, chosen
from composer.runs.sweep_folder import SweepFolder
from composer.views.tables import Column, cut_line, terminal_width, text_table

#: The folder of runs where the config names no other.
RUNS = Path("runs")

#: The metric of a run that names none, of its validations and of its training.
LOSS = ("valid/loss", "loss")


@dataclass(frozen=True)
class ListedRun:
    """
    folder: as it was found, below the folder that the user named
    sweep: the folder of the sweep whose trial the run is; None for a run by itself
    state: waiting, running, finished, stopped, failed, pruned; or killed: its process died without a word
    reason: of a run that has failed
    overrides: what was chosen on the command line, or by the sweep
    step, steps: how far the run has come, and all that it is to take; None if an earlier version began it
    metric, value: of the best checkpoint; while the run trains, of its last validation
    seconds: of training, in all starts
    """

    folder: str
    name: str
    sweep: str | None
    state: str
    reason: str | None
    overrides: list[str]
    arm: str | None
    seed: int | None
    parameters: float | None
    step: int
    steps: int | None
    metric: str | None
    value: float | None
    began: str | None
    ended: str | None
    seconds: float | None


@dataclass(frozen=True)
class ListedSweep:
    """
    kind: grid, search or study
    state: running, finished, stopped; or killed: no process works on it
    trials, done: how many there are, at most, and how many have ended; None if an earlier version began the sweep
    metric, value, best: that judges the trials, of the best one, and its folder
    seconds: of all trials
    """

    folder: str
    name: str
    kind: str
    state: str
    overrides: list[str]
    done: int
    trials: int | None
    metric: str
    value: float | None
    best: str | None
    began: str | None
    ended: str | None
    seconds: float


def runs_options(command: argparse.ArgumentParser) -> None:
    rest_argument(command, "folders", "folder", "a folder of runs, or a sweep, whose trials are then listed")
    json_option(command, "print JSON, for programs, with all trials of all sweeps")


def run_runs(options: argparse.Namespace) -> None:
    """List runs, sweeps and studies, the newest first.

    examples:
      composer runs                             everything in runs/, a sweep in a line
      composer runs runs/2026-01-31_12-00-00    the trials of a sweep
      composer runs runs elsewhere --json       for programs
    A run that is killed can go on: python train.py resume=FOLDER. The metric is that of the best checkpoint, and of the
    last validation while the run trains.
    """
    folders = [Path(folder) for folder in options.folders] or [RUNS]
    for folder in folders:
        if not folder.is_dir():
            others = [other.name for other in folder.parent.iterdir()] if folder.parent.is_dir() else []
            near = did_you_mean(folder.name, others)
            raise UserError(f"there is no folder '{folder}'.{near} Name the folder of your runs.")
    runs, sweeps, skipped = listed_runs(folders)
    named = {str(folder) for folder in folders}
    apart = [run for run in runs if run.sweep is None or run.sweep in named or run.folder in named]
    entries: list[ListedRun | ListedSweep] = [*apart, *(sweep for sweep in sweeps if sweep.folder not in named)]
    output(
        options,
        lambda: {
            "runs": [asdict(run) for run in runs],
            "sweeps": [asdict(sweep) for sweep in sweeps],
            "skipped": [{"folder": str(path), "reason": reason} for path, reason in skipped],
        },
        lambda: "\n\n".join(filter(None, [table(newest_first(entries)), *told(folders, entries, skipped)])),
    )


def listed_runs(paths: Sequence[Path]) -> tuple[list[ListedRun], list[ListedSweep], list[Skipped]]:
    """The runs and the sweeps at or below some paths, newest first, and the folders that are neither."""
    runs: dict[Path, ListedRun] = {}
    records: dict[Path, dict[Path, RunRecord]] = {}  # of the trials, by the folders of their sweeps
    skipped: list[Skipped] = []
    for path in paths:
        folders, foreign = find_runs(path)
        skipped += foreign
        for folder in folders:
            try:
                record = read_record(folder / "run.json", RunRecord)
            except Unreadable as error:
                skipped.append((folder, str(error)))
                continue
            swept = SweepFolder(folder.parent).record_file.is_file()
            if swept:
                records.setdefault(folder.parent, {})[folder] = record
            runs[folder] = listed_run(folder, record, folder.parent if swept else None)
    sweeps = []
    for folder, trials in records.items():
        try:
            plan = read_record(SweepFolder(folder).record_file, SweepRecord)
        except Unreadable as error:
            skipped.append((folder, str(error)))
            continue
        sweeps.append(listed_sweep(folder, plan, trials, [runs[trial] for trial in trials]))
    return newest_first(runs.values()), newest_first(sweeps), skipped


def listed_run(path: Path, record: RunRecord, sweep: Path | None) -> ListedRun:
    state, step, last, seconds = record.status or "waiting", record.last_step or 0, record.result, record.seconds
    if state == "running":
        state = "running" if is_held(path) else "killed"
        lines = last_lines(RunFolder(path).metrics)
        step = lines[-1]["step"] if lines else 0
        last = {name: value for line in lines for name, value in line.items()}  # the latest of each
        seconds = max(seconds or 0.0, last.get("seconds") or 0.0)
    monitor = f"valid/{(record.monitor or 'loss').removeprefix('valid/')}"
    metric = next((name for name in (monitor, *LOSS) if last.get(name) is not None), None)
    return ListedRun(
        folder=str(path), name=path.name, sweep=None if sweep is None else str(sweep), state=state,
        reason=record.reason, overrides=chosen(record.overrides),
        arm=None if record.arm is None else str(record.arm), seed=record.seed,
        parameters=record.size.get("parameters"), step=step, steps=record.steps,
        metric=metric, value=None if metric is None else last[metric],
        began=record.began, ended=None if state in ("running", "killed") else record.ended, seconds=seconds,
    )  # fmt: skip


def listed_sweep(
    path: Path, plan: SweepRecord, records: Mapping[Path, RunRecord], runs: Sequence[ListedRun]
) -> ListedSweep:
    state = plan.status or "running"
    if state == "running" and not is_attended(path) and not any(run.state == "running" for run in runs):
        state = "killed"
    judged = plan.judged or LOSS[0]
    values = {folder: record.judged(judged) for folder, record in records.items() if record.status == "finished"}
    values = {folder: value for folder, value in values.items() if math.isfinite(value)}
    best = (max if plan.direction == "max" else min)(values, key=lambda folder: values[folder], default=None)
    return ListedSweep(
        folder=str(path), name=path.name, kind=plan.kind, state=state, overrides=chosen(plan.arguments),
        done=sum(run.state in ("finished", "failed", "pruned") for run in runs), trials=plan.trials,
        metric=judged, value=None if best is None else values[best], best=None if best is None else str(best),
        began=plan.began, ended=plan.ended, seconds=round(sum(run.seconds or 0.0 for run in runs), 1),
    )  # fmt: skip


Listed = TypeVar("Listed", bound=ListedRun | ListedSweep)


def newest_first(found: Iterable[Listed]) -> list[Listed]:
    return sorted(found, key=lambda each: _time(each.began), reverse=True)


def _time(text: str | None) -> float:
    """A time of a record, to sort by; a trial that waits has none."""
    try:
        return math.inf if text is None else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return -math.inf


def table(entries: Sequence[ListedRun | ListedSweep]) -> str:
    """A line for each, and below it what was chosen, where the name does not say it."""
    if not entries:
        return ""
    cut, number = (lambda name: Column(name, cut=True)), (lambda name: Column(name, right=True))
    heads = ("began", cut("run"), "state", number("step"), cut("best"), number("time"))
    width = terminal_width()
    head, rule, *lines = text_table(heads, map(row, entries), width=width).split("\n")
    shown = [head, rule]
    for entry, line in zip(entries, lines, strict=True):
        shown.append(line)
        if isinstance(entry, ListedSweep) or entry.sweep is None:
            shown += [cut_line(f"    {' '.join(entry.overrides)}", width)] * bool(entry.overrides)
        if isinstance(entry, ListedRun) and entry.reason:
            shown.append(cut_line(f"    {' '.join(entry.reason.split())}", width))
    return "\n".join(shown)


def row(entry: ListedRun | ListedSweep) -> tuple[str, ...]:
    if isinstance(entry, ListedSweep):
        trials = "trials" if entry.trials is None else f"of {entry.trials:,} trials"
        done, state = f"{entry.done:,} {trials}", entry.state
    else:
        ended = entry.steps is None or (entry.step == entry.steps and entry.state == "finished")
        done, state = f"{entry.step:,}" if ended else f"{entry.step:,} of {entry.steps:,}", entry.state
    best = "" if entry.value is None else f"{str(entry.metric).removeprefix('valid/')} {entry.value:.4g}"
    began = "" if entry.began is None else entry.began[5:16].replace("T", " ")
    return began, entry.name, state, done, best, duration(entry.seconds)


def duration(seconds: float | None) -> str:
    """'12 s', '3.5 min', '2.1 h', '1.2 d'."""
    if seconds is None:
        return ""
    for unit, size, most in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{seconds / size:.0f} {unit}" if size == 1 else f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86400:.3g} d"


def told(
    folders: Sequence[Path], entries: Sequence[ListedRun | ListedSweep], skipped: Sequence[Skipped]
) -> Iterator[str]:
    """What is to be done about killed runs, and what is not listed."""
    if not entries:
        yield f"There is no run in {', '.join(map(str, folders))}."
    killed = next((entry for entry in entries if entry.state == "killed"), None)
    if killed is not None:
        many = "-m " * isinstance(killed, ListedSweep)
        yield f"Killed runs can go on from their last checkpoints: python train.py {many}resume={killed.folder}"
    broken = [(path, reason) for path, reason in skipped if path not in folders]
    if broken:
        path, reason = broken[0]
        more = f"; so are {len(broken) - 1:,} more" if len(broken) > 1 else ""
        yield f"Not listed: {path} ({reason}){more}."
