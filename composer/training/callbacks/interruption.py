"""Ctrl-C and SIGTERM: the current step is finished and the run is saved. A second signal ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any

from lightning import Callback, Trainer


class Interrupted(Exception):
    """A signal has ended the training after a complete step, or a validation before its end."""


class Interruption(Callback):
    """Signal handlers that store the first signal. After the current step, the training ends with ``Interrupted``.

    A signal reaches the processes of a distributed run at different instants. They stop after the next step, before
    which they agree on it. The last of the callbacks, so that the others have done what is due after the step.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.signal: int | None = None
        self.before: dict[int, Any] = {}

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self._take) for number in self.SIGNALS}

    def release(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}

    def on_train_batch_start(self, trainer: Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        if self.signal is not None:
            module.stop = True

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if module.stopping or self._alone(trainer):
            raise Interrupted

    def on_validation_batch_start(
        self, trainer: Trainer, module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        if self._alone(trainer):
            raise Interrupted

    def _alone(self, trainer: Trainer) -> bool:
        return self.signal is not None and trainer.world_size == 1

    def on_train_end(self, trainer: Trainer, module: Any) -> None:
        self.release()

    def on_exception(self, trainer: Trainer, module: Any, exception: BaseException) -> None:
        self.release()

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.signal = number

    @property
    def exit_code(self) -> int:
        """The exit code by which a shell recognises a program that a signal ended: 128 plus the signal's number."""
        return 128 + (self.signal or 0)
