"""The screen while a run trains: a progress bar on a terminal, otherwise a line every 30 seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from composer.core.program import as_started
from composer.core.storage.json_output import events
from composer.training.notebook_bar import NotebookBar, in_notebook

#: Seconds between two updates of the progress bar, and between two lines if there is no bar.
REFRESH, LINES = 0.5, 30.0

#: The only task of a bar, the first one.
TASK = TaskID(0)


class Screen:
    """Prints text, above the progress bar if there is one, and appends a copy to a log file.

    Where events were asked for (--json), it also writes those: what a person reads in the text, for programs.

    quiet: print nothing; set on every process but the first, and where a sweep shows its own table
    silent: write no events, as for the runs of a sweep, which has events of its own
    """

    def __init__(
        self, log: Path | None = None, *, quiet: bool = False, silent: bool = False, console: Console | None = None
    ) -> None:
        self.log, self.quiet = log, quiet
        self.console = console or Console(
            highlight=False, markup=False, emoji=False, soft_wrap=True, force_jupyter=False
        )
        self.events = None if quiet or silent else events.get()
        self.bar: Progress | NotebookBar | None = None
        self.shown = self.printed = 0.0

    def say(self, text: str = "") -> None:
        text = as_started(text)
        if not self.quiet:
            self.console.print(text)
        if self.log is not None:
            try:
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(text + "\n")
            except OSError as error:  # what matters is written elsewhere, and fails there if the disk is full
                if not self.quiet:
                    self.console.print(f"cannot write '{self.log}': {error.strerror}. No more is copied there.")
                self.log = None

    def event(self, name: str, **facts: Any) -> None:
        """For a program that reads events; people read ``say``."""
        if self.events is not None:
            self.events.write(name, **facts)

    def begin(self, step: int, steps: int) -> None:
        self.steps, self.started, self.first = steps, time.monotonic(), step
        self.printed = self.started
        if in_notebook() and not self.quiet:
            self.bar = NotebookBar(step, steps)
        elif self.console.is_terminal and not self.quiet:
            self.bar = Progress(
                TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[figures]}"),
                TextColumn("left"), TimeRemainingColumn(compact=True), console=self.console, auto_refresh=False,
            )  # fmt: skip
            self.bar.start()
            self.bar.add_task("training", total=steps, completed=step, figures="")

    def due(self) -> bool:
        """Whether an update would be shown now. The caller computes its figures only then."""
        if self.quiet:
            return False
        now = time.monotonic()
        if self.bar is not None:
            return now - self.shown >= REFRESH
        return now - self.printed >= LINES

    def update(self, step: int, figures: str) -> None:
        self.shown = self.printed = time.monotonic()
        if self.bar is not None:
            self.bar.update(TASK, completed=step, figures=figures)
            self.bar.refresh()
        else:
            each = (self.shown - self.started) / max(1, step - self.first)
            self.say(f"step {step:,} of {self.steps:,}  {figures}  {left((self.steps - step) * each)} left")

    def end(self) -> None:
        if self.bar is not None:
            self.bar.refresh()
            self.bar.stop()
            self.bar = None


def left(seconds: float) -> str:
    """'1 h 05 min', '3 min 20 s', '12 s'."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
