"""The trials while a sweep runs: a table that is updated on a terminal, otherwise a line when a trial ends.

A thread reads the run folders of the trials, so that trials of other processes and machines are shown, too.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from composer.core.storage.json_output import events
from composer.runs.folder import RunFolder, last_lines
from composer.runs.record import chosen
from composer.runs.sweep_folder import SweepFolder
from composer.studies.planning.trial import DONE, trial_rank
from composer.studies.sweep.sweep_results import judged_metric, shortened
from composer.training.screen import left

#: Seconds between two looks at the trials. More of them are looked at less often.
REFRESH = 1.0


@dataclass(frozen=True)
class Row:
    """A trial in the table.

    step: of the last line of its metrics
    value: the judged metric, of the best checkpoint once the trial is done; NaN before the first validation
    """

    name: str
    status: str
    reason: str
    step: int
    value: float
    seconds: float


class SweepProgress:
    """Shows the trials of a sweep during a ``with`` block, and writes the events of their beginnings and ends.

    total: the trials of the whole sweep
    at_most: whether there may be fewer
    """

    def __init__(
        self, folder: SweepFolder, total: int, console: Console | None = None, *, at_most: bool = False
    ) -> None:
        self.folder, self.total = folder, total
        self.judged, self.direction = judged_metric(folder.path)
        self.most = "at most " if at_most else ""
        self.console = console or Console(highlight=False)
        self.rows: dict[str, Row] = {}
        self.live: Live | None = None
        self.events = events.get()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True, name="sweep progress")

    def __enter__(self) -> SweepProgress:
        for run in self.folder.runs():  # what an earlier process has done is not shown again
            self._look(run)
        if self.console.is_terminal:
            self.live = Live(self.render(), console=self.console, auto_refresh=False)
            self.live.start()
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.over.set()
        self.thread.join()
        self.update()
        if self.live is not None:
            self.live.stop()

    def _watch(self) -> None:
        while not self.over.wait(max(REFRESH, len(self.rows) / 100)):
            self.update()

    def update(self) -> None:
        """Read what has changed in the run folders, and show it."""
        for run in self.folder.runs():
            before = self.rows.get(run.path.name)
            if before is not None and before.status in DONE:
                continue
            row = self._look(run)
            self._tell(row, before)
            if row.status in DONE and self.live is None:
                self.console.print(Text(self.line(row)), soft_wrap=True)
        if self.live is not None:
            self.live.update(self.render(), refresh=True)

    def _tell(self, row: Row, before: Row | None) -> None:
        """The events of a trial since the last look, which may be both."""
        if self.events is None:
            return
        if row.status != "waiting" and (before is None or before.status == "waiting"):
            overrides = chosen(self.folder.run(row.name).read_record().overrides)
            self.events.write("trial_started", trial=row.name, overrides=overrides)
        if row.status in DONE:
            facts = {"step": row.step, "metric": self.judged, "value": row.value, "seconds": row.seconds}
            self.events.write("trial_ended", trial=row.name, status=row.status, **facts, reason=row.reason or None)

    def _look(self, run: RunFolder) -> Row:
        record = run.read_record()
        status = record.status or "waiting"
        if status in DONE:
            step, value, seconds = record.last_step or 0, record.judged(self.judged), record.seconds or 0.0
        else:
            lines, best = last_lines(run.metrics), min if self.direction == "min" else max
            step = lines[-1]["step"] if lines else 0
            value = best((line[self.judged] for line in lines if line.get(self.judged) is not None), default=math.nan)
            seconds = next((line["seconds"] for line in reversed(lines) if "seconds" in line), 0.0)
        row = Row(run.path.name, status, shortened(record.reason or "", 60), step, value, seconds)
        self.rows[row.name] = row
        return row

    def line(self, row: Row) -> str:
        """A trial that has ended, in a line."""
        done = sum(row.status in DONE for row in self.rows.values())
        value = "" if math.isnan(row.value) else f"  {self.judged.removeprefix('valid/')} {row.value:.4g}"
        reason = f"  {row.reason}" if row.reason else ""
        return f"{done} of {self.most}{self.total}  {row.status}  {row.name}{value}  {row.seconds:.0f} s{reason}"

    def render(self) -> RenderableType:
        """The trials that run, the best ones, and a summary, cut to the terminal's height."""
        table = Table(box=None, pad_edge=False, show_edge=False)
        for title in ("trial", "state", "step", self.judged.removeprefix("valid/"), "seconds"):
            table.add_column(title, justify="left" if title in ("trial", "state") else "right", no_wrap=True)
        table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)  # what a trial failed of
        shown = sorted(self.rows.values(), key=self._order)[: max(3, self.console.height - 6)]
        best = self.best()
        for row in shown:
            value = "" if math.isnan(row.value) else f"{row.value:.4g}"
            style = "bold" if best is not None and row.name == best.name else ""
            step = f"{row.step:,}" if row.step else ""
            cells = (row.name, row.status, step, value, f"{row.seconds:.0f}", row.reason)
            table.add_row(*(Text(cell) for cell in cells), style=style)  # Text: a name is never read as markup
        return Group(table, Text(), Text(self.summary()))

    def _order(self, row: Row) -> tuple[int, float]:
        return trial_rank(row.status, row.value, self.direction)

    def best(self) -> Row | None:
        found = [row for row in self.rows.values() if row.status == "finished" and not math.isnan(row.value)]
        return min(found, key=self._order) if found else None

    def summary(self) -> str:
        """How many trials are in which state, the best value, and the time left."""
        states = [row.status for row in self.rows.values()]
        counts = {state: states.count(state) for state in ("running", "pruned", "failed") if state in states}
        done = sum(state in DONE for state in states)
        parts = [f"{done} of {self.most}{self.total} done", *(f"{count} {state}" for state, count in counts.items())]
        best = self.best()
        if best is not None:
            parts.append(f"best {best.value:.4g}")
        seconds = [row.seconds for row in self.rows.values() if row.status in ("finished", "pruned")]
        if seconds and done < self.total:
            each = sum(seconds) / len(seconds) / max(1, counts.get("running", 0))
            parts.append(f"{self.most or 'about '}{left((self.total - done) * each)} left")
        return ", ".join(parts)
