"""The most memory that a run has used: allocated on the GPU, or resident in the process of a run on the CPU."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

import torch

#: Linux sets the peak of a process back to its present memory when a 5 is written here.
CLEAR = Path("/proc/self/clear_refs")


def reset_peak_memory(on_gpu: bool) -> None:
    """Forget earlier peaks, of runs that the same process trained before."""
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    elif CLEAR.exists():
        with suppress(OSError):  # a container may forbid it; the peak is then that of the whole process
            CLEAR.write_text("5")


def peak_memory(on_gpu: bool) -> int:
    """Bytes at the peak, on the first process of a run."""
    if on_gpu:
        return torch.cuda.max_memory_allocated()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB
