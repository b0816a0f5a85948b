"""The shortest case that still fails in the same way: overrides and lines of YAML are left out while it does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks.fuzz.cases import Case


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float) -> Case:
    end = time.monotonic() + seconds
    shorter = True
    while shorter and time.monotonic() < end:
        shorter = False
        for at in reversed(range(len(case.overrides))):
            one = replace(case, overrides=case.overrides[:at] + case.overrides[at + 1 :])
            if time.monotonic() < end and fails(one):
                case, shorter = one, True
        lines = (case.experiment or "").split("\n")
        for at in reversed(range(len(lines))) if case.experiment is not None else ():
            indent = len(lines[at]) - len(lines[at].lstrip())
            stop = next(
                (i for i in range(at + 1, len(lines)) if len(lines[i]) - len(lines[i].lstrip()) <= indent), len(lines)
            )
            one = replace(case, experiment="\n".join(lines[:at] + lines[stop:]))
            if time.monotonic() < end and fails(one):
                case, shorter = one, True
                lines = str(case.experiment).split("\n")
    return case
