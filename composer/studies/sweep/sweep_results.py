"""The end of a sweep: results.json, the table of all trials, the comparison of the arms, and the report.

This module does not import torch, because Hydra imports the module for every command.
"""

from __future__ import annotations

import math
import shlex
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, read_write

from composer.config.composition import check_sweep
from composer.config.overrides import as_typed
from composer.config.sentences import hydra_errors
from composer.core.problems import UserError, user_errors
from composer.core.storage.atomic_files import write_json
from composer.core.storage.json_output import events
from composer.runs.lock import attending
from composer.runs.record import RunRecord, chosen, now
from composer.runs.sweep_folder import SweepFolder
from composer.studies.planning.trial import trial_rank
from composer.studies.ranked_table import RankedColumn, ranked_table
from composer.views.tables import terminal_width

#: The metric by which trials are judged unless a search names another, and whether a lower or a higher value is better.
JUDGED = ("valid/loss", "min")


class Results(Callback):
    """The Hydra callback around a sweep, by our sweeper or by another one: checks what only the command line can choose
    before anything is written, and writes and prints the results at the end."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        with user_errors(), hydra_errors(as_typed(config.hydra.overrides.task)):
            check_sweep(config.hydra.overrides.task)
        folder = str(config.hydra.sweep.dir).replace("'", "\\'")
        with read_write(config.hydra.overrides):  # of all trials, whichever folder of runs a trial's own files name
            config.hydra.overrides.hydra.append(f"hydra.sweep.dir='{folder}'")

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        try:
            with user_errors():
                conclude(SweepFolder(Path(config.hydra.sweep.dir)), list(config.plugins))
        except Exception as error:  # Hydra would print a warning without the traceback, and exit with code 0
            traceback.print_exc()
            raise SystemExit(1) from error


def conclude(folder: SweepFolder, plugins: Sequence[str]) -> None:
    """Do what is left once all trials are done. The program's exit code is 1 if a trial failed.

    A rate at which a tuned arm cannot be trained is a result of its tuning, not a failure of the study.
    """
    with attending(folder.path):
        for step in STEPS:
            step(folder, plugins)
    code = int(failed(folder))
    if (stream := events.get()) is not None:
        stream.write("finished", folder=str(folder.path), exit_code=code)
    if code:
        raise SystemExit(code)


def failed(folder: SweepFolder) -> bool:
    """Whether a trial failed, other than tuning trials of an arm that has its final runs."""
    known = records_of(folder).values()
    tuned = {record.arm for record in known if record.phase == "final"}
    return any(
        record.status not in ("finished", "pruned") and not (record.phase == "tuning" and record.arm in tuned)
        for record in known
    )


def write_results(folder: SweepFolder, plugins: Sequence[str]) -> None:
    """Write the status and the result of every trial, and print them as a table."""
    records = records_of(folder)
    shown = ("status", "reason", "seconds", "result", "result_step")
    rows = [
        {"run": name, "overrides": chosen(record.overrides), **{key: getattr(record, key) for key in shown}}
        for name, record in records.items()
    ]
    write_json(folder.results, rows)
    print(f"\n{table(records, *judged_metric(folder.path))}", flush=True)


def write_conclusion(folder: SweepFolder, plugins: Sequence[str]) -> None:
    """Write the report. The comparison of the arms is printed where an arm has several seeds."""
    from composer.core import registry
    from composer.studies.comparison import compare
    from composer.studies.report import write_report
    from composer.studies.terminal import WIDTH, as_data, show

    registry.load(plugins)  # which may have registered metrics
    try:
        comparison = compare([folder.path])
    except UserError as error:  # no trial has a result
        print(f"\nno report: {error}")
    else:
        named = [word for plugin in plugins for word in ("--plugin", plugin)]
        command = ["python", "-m", "composer", "compare", str(folder.path), *named, "-o", str(folder.report)]
        write_report(comparison, folder.report, command=shlex.join(command), plugins=plugins)
        if any(len(arm.runs) > 1 for arm in comparison.arms):
            print(f"\n{show(comparison, terminal_width(WIDTH))}")
        print(f"\nreport    {folder.report}, to be opened in a browser")
        if (stream := events.get()) is not None:
            stream.write("compared", report=str(folder.report), comparison=as_data(comparison))
    print(f"sweep     {folder.path}", flush=True)


def finish(folder: SweepFolder, plugins: Sequence[str]) -> None:
    """From now on the same command begins another sweep."""
    if folder.record_file.is_file():  # a sweep by our sweeper
        folder.update_record(status="finished", ended=now())


#: The steps after the last trial, in their order. The same command takes all of them again until the last one is done,
#: so that a process may be killed at any instant.
STEPS = (write_results, write_conclusion, finish)


def judged_metric(folder: Path) -> tuple[str, str]:
    """The metric by which the trials of a sweep are judged, and its direction: min or max."""
    record = SweepFolder(folder).read_record()  # empty for a sweep by another sweeper than ours
    return (record.judged, record.direction) if record.judged else JUDGED


def records_of(folder: SweepFolder) -> dict[str, RunRecord]:
    """The records of the trials by the names of their folders, in the order of their numbers."""
    return {run.path.name: run.read_record() for run in folder.runs()}


def table(records: Mapping[str, RunRecord], judged: str, direction: str) -> str:
    """The trials with the metrics of their best checkpoints, the best first, pruned and failed ones last.

    The column ``step`` is the step of the best checkpoint.
    """
    rank = lambda record: trial_rank(record.status or "", record.judged(judged), direction)  # noqa: E731
    runs = sorted(records, key=lambda name: rank(records[name]))
    rows = [records[name] for name in runs]
    names = list(dict.fromkeys(k for row in rows for k, value in row.result.items() if math.isfinite(value or 0.0)))
    names = sorted(names, key=lambda name: name != judged)[:6]  # the judged metric first
    columns = [RankedColumn("run", runs, 9, right=False)]
    for i, name in enumerate(names):
        figures = [f"{row.result[name]:.4g}" if name in row.result else "" for row in rows]
        columns.append(RankedColumn(name.removeprefix("valid/"), figures, 8 - i))
    steps = [f"{row.result_step:,}" if row.result else "" for row in rows]
    seconds = [f"{row.seconds:.0f}" if row.seconds is not None else "" for row in rows]
    endings = [_ending(row) for row in rows]
    columns += [RankedColumn("step", steps, 7), RankedColumn("seconds", seconds, 7)]
    columns += [RankedColumn("", endings, 9, right=False, wraps=True)] * any(endings)
    return "\n".join(filter(None, ranked_table(columns)))


def _ending(record: RunRecord) -> str:
    status = "" if record.status == "finished" else str(record.status)
    return f"{status}: {shortened(record.reason)}" if record.reason else status


def shortened(reason: str, width: int = 100) -> str:
    """The reason of a failure in one line, without its heading and cut to ``width`` characters."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    text = " ".join(lines[1:]) if len(lines) > 1 and lines[0].endswith(":") else " ".join(lines)
    return text if len(text) <= width else text[: width - 3] + "..."
