"""Times of several functions side by side: interleaved, the best of many rounds.

A machine is never quiet for long. Taken in turns, every function meets the same disturbances, and the best of its
times is the one least disturbed; ratios of bests hold where single times do not.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping


def best_times(functions: Mapping[str, Callable[[], object]], seconds: float, rounds: int = 5) -> dict[str, float]:
    """Each function's best time in seconds, after as many rounds as fit into ``seconds`` and at least ``rounds``."""
    best = dict.fromkeys(functions, float("inf"))
    for function in functions.values():
        function()  # the first call allocates and chooses kernels
    gc.collect()
    gc.disable()
    try:
        done, end = 0, time.perf_counter() + seconds
        while done < rounds or time.perf_counter() < end:
            for name, function in functions.items():
                begin = time.perf_counter()
                function()
                best[name] = min(best[name], time.perf_counter() - begin)
            done += 1
    finally:
        gc.enable()
    return best
