"""The progress bar of a training in a notebook: one output that changes. It needs no widgets."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from rich.console import Console


def in_notebook() -> bool:
    """Whether the program is that of a notebook."""
    return Console().is_jupyter


class NotebookBar:
    """Has the methods of rich's bar that the screen uses. rich's own bar needs ipywidgets in a notebook, and is lost
    when the notebook is saved."""

    def __init__(self, step: int, steps: int) -> None:
        from IPython.display import display  # a notebook has it

        self.step, self.steps, self.figures, self.began = step, steps, "", time.monotonic()
        self.output: Any = display(self._shown(), raw=True, display_id=True)

    def update(self, task: int, *, completed: int, figures: str) -> None:
        self.step, self.figures = completed, figures

    def refresh(self) -> None:
        self.output.update(self._shown(), raw=True)

    def stop(self) -> None:
        self.refresh()

    def _shown(self) -> dict[str, str]:
        """The bar for a page, and for readers of plain text."""
        seconds = time.monotonic() - self.began
        text = "  ".join(filter(None, [f"{self.step:,}/{self.steps:,}", self.figures, f"{seconds:.0f} s"]))
        bar = f'<progress value="{self.step}" max="{self.steps}" style="width: 20em"></progress>'
        return {"text/html": f"training {bar} {escape(text)}", "text/plain": f"training {text}"}
