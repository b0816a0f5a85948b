"""The screen while a run trains."""

from __future__ import annotations

from typing import Any

from lightning import Callback, Trainer

from composer.training.screen import Screen


class ScreenProgress(Callback):
    """Shows step, loss, best validation and speed on a bar or in lines, as seldom as the screen wants."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        self.screen.begin(module.progress.step, module.steps)

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self.screen.due():
            self._show(module)

    def on_train_end(self, trainer: Trainer, module: Any) -> None:
        if self.screen.bar is not None:  # which may have shown an earlier step last
            self._show(module)

    def _show(self, module: Any) -> None:
        progress, report, window = module.progress, module.report, module.window
        rate = report.get("tokens_per_second", 0.0)
        if window.seconds > 0:  # within a logging window, that of this process so far
            rate = window.tokens / window.seconds
        loss = f"loss {report['loss']:.4g}  " if report else ""
        best = f"best {progress.best:.4g}  " if progress.best is not None else ""
        self.screen.update(progress.step, f"{loss}{best}{rate:,.0f} tokens/s")
