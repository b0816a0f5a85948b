"""Ctrl-C and SIGTERM: the current step is finished and the run is saved. A second signal ends the process at once."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any


class Interruption:
    """Signal handlers that store the first signal, which the training loop checks between steps."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.signal: int | None = None
        self.before: dict[int, Any] = {}

    def install(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self._take) for number in self.SIGNALS}

    def release(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        self.before = {}

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.signal = number

    @property
    def exit_code(self) -> int:
        """The exit code by which a shell recognises a program that a signal ended: 128 plus the signal's number."""
        return 128 + (self.signal or 0)
