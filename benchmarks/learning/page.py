"""docs/learning.md, written from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.learning.curves import draw_curves
from benchmarks.learning.results import Run
from benchmarks.learning.table import table
from benchmarks.learning.task import Task
from benchmarks.learning.verdicts import OUTCOMES, Pair, Verdict, verdicts

INTRODUCTION = """\
# How well models learn

Written by `python -m benchmarks.learning --write`; the figures come from `{results}`.

Models of this project stand beside models from elsewhere. What a peer has otherwise than ours is listed under each
table: few are the same architecture, and a difference between two rows is one of everything that is listed. Both sides
read the same batches of the same tokens in the same order, for the same number of steps. Ours is trained with the
defaults of `conf/`: AdamW, a warm-up over a tenth of the steps, then a cosine down to zero. The clipping is the same on
both sides, and neither has dropout, unless a section says otherwise. All sections but one train for an epoch or less:
they measure how fast a model learns early on. "Sentiment of sentences, until the loss rises" measures where it ends.

{summary}

**Learning rates.** One rule for both sides: the usual rate (0.003 for ours and for peers with our schedule, 0.005 for
NLinear, 0.001 for the others) times 0.5, 1 and 2 with the first seed; while the best is the highest or the lowest, one
more beyond it, by a factor of two. The best rate, in bold, then gets the other seeds. A model whose best rate is still
at an end gets no verdict. The first seed thus chose the rate and counts among the seeds, on both sides.

**Figures.** A figure is that of a run's best checkpoint on the rows of the validation split that also chose the
checkpoint and the rate, as a mean over {seeds} with its 95 % interval (Student's t). It is good for comparing rows, and
optimistic as an estimate of the figure on new data.

**Verdicts.** "better", "worse" and "not distinguishable" are about ours and the first figure, by a t-test of the
differences between runs of the same seed, with Holm's correction for the {comparisons} comparisons of this page: as far
as the differences are normal, the probability of any false "better" or "worse" is at most 5 %. p-values are shown
before the correction. With three seeds the test is weak: "not distinguishable" does not mean equal.
"""


def write_page(
    path: Path, tasks: Sequence[Task], runs: Sequence[Run], *, steps: int | None, results: Path
) -> None:  # fmt: skip
    """The page, and a picture a task in a folder beside it that has its name."""
    seeds = len({run.seed for run in runs})
    judged = verdicts(tasks, runs, steps)
    introduction = INTRODUCTION.format(
        results=results,
        summary=_summary(tasks, judged),
        seeds=f"{seeds} seed{'s' * (seeds != 1)}",
        comparisons=sum(verdict.p is not None for verdict in judged.values()),
    )
    parts = [introduction]
    for task in tasks:
        if not any(run.task == task.name for run in runs):
            continue
        taken = task.steps if steps is None else steps
        picture = path.with_suffix("") / f"{task.name}.svg"
        drawn = draw_curves(task, runs, taken, picture)
        parts += [f"## {task.title}\n", f"{task.description} {taken:,} steps.\n"]
        parts += ["\n".join(table(task, runs, taken, judged)) + "\n"]
        if differences := [f"- {name}: {arm.differs}." for name, (arm, _) in task.arms.items() if arm.differs]:
            parts += ["\n".join(differences) + "\n"]
        if task.findings:
            parts += [f"{task.findings}\n"]
        if drawn:
            parts += [f"![{task.title}: figures by steps]({picture.parent.name}/{picture.name})\n"]
    path.write_text("\n".join(parts), encoding="utf-8")


def _summary(tasks: Sequence[Task], judged: Mapping[Pair, Verdict]) -> str:
    """Every verdict, as a list: the outcome, and by section the peers with that outcome."""
    outcomes: dict[str, dict[str, list[str]]] = {outcome: {} for outcome in OUTCOMES}
    titles = {task.name: task.title for task in tasks}
    for (task, ours, peer), verdict in judged.items():
        pair = f"{peer} ({ours.removeprefix('ours, ')})"
        outcomes[verdict.outcome].setdefault(titles[task], []).append(pair)
    lines = [f"The {len(judged)} comparisons, with the mixer of ours in brackets:\n"]
    for outcome, sections in outcomes.items():
        found = "; ".join(f"{title}: {', '.join(pairs)}" for title, pairs in sections.items())
        lines.append(f"- **Ours is {outcome}**: {found or 'nowhere'}.")
    return "\n".join(lines)
