"""docs/learning.md, written from the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.learning.curves import draw_curves
from benchmarks.learning.results import Run
from benchmarks.learning.table import table
from benchmarks.learning.task import Task

INTRODUCTION = """\
# How well models learn

Written by `python -m benchmarks.learning --write`; the figures come from `{results}`.

Every model of this project stands beside an implementation of the same architecture from elsewhere. Both sides read
the same batches of the same tokens in the same order, for the same number of steps. Ours is trained with the defaults
of `conf/`: optimiser, schedule, clipping. A peer keeps its own initialisation and recipe, Adam with a constant
learning rate unless a section says otherwise, and the same clipping. Neither has dropout, unless a section says
otherwise. Each side is tried with its usual learning rate times {factors} and the first seed (0.5, 1 and 2, and one or
two beyond where the best of these is at an end); the best rate then gets the other seeds. A figure is that of the
run's best checkpoint on the validation split, as a mean over {seeds} with its 95 % interval (Student's t). "better",
"worse" and "not distinguishable" are about the first figure, by the interval of the differences between runs of the
same seed. Recurrent peers have as many layers as ours and a width at which they have about as many parameters.
Milliseconds are those of one CPU core, for forward, backward and optimiser.
"""


def write_page(
    path: Path, tasks: Sequence[Task], runs: Sequence[Run], *, steps: int | None, results: Path
) -> None:  # fmt: skip
    """The page, and a picture a task in a folder beside it that has its name."""
    factors = sorted({run.factor for run in runs})
    seeds = len({run.seed for run in runs})
    introduction = INTRODUCTION.format(
        results=results,
        factors=" or ".join(f"{factor:g}" for factor in factors) or "1",
        seeds=f"{seeds} seed{'s' * (seeds != 1)}",
    )
    parts = [introduction]
    for task in tasks:
        if not any(run.task == task.name for run in runs):
            continue
        taken = task.steps if steps is None else steps
        picture = path.with_suffix("") / f"{task.name}.svg"
        drawn = draw_curves(task, runs, taken, picture)
        parts += [f"## {task.title}\n", f"{task.description} {taken:,} steps.\n", *_lines(table(task, runs, taken))]
        if drawn:
            parts += [f"![{task.title}: figures by steps and by seconds]({picture.parent.name}/{picture.name})\n"]
    path.write_text("\n".join(parts), encoding="utf-8")


def _lines(rows: Sequence[str]) -> list[str]:
    return ["\n".join(rows) + "\n"]
