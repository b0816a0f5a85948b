"""The results as a table: for every model the learning rates tried, its figures over the seeds, and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.learning.results import Run
from benchmarks.learning.task import Ours, Peer, Task
from benchmarks.learning.verdicts import Line, Pair, Verdict, line_of


def table(task: Task, runs: Sequence[Run], steps: int, judged: Mapping[Pair, Verdict]) -> list[str]:
    """Lines of a Markdown table. What is said of ours stands in the row of the peer that it is compared with."""
    names = [name.replace("_", " ") for name in task.figures]
    goal = [f"steps to {task.goal[0]} {task.goal[1]:g}"] if task.goal is not None else []
    contested = any(task.pairs())
    compared = [f"ours minus this, {names[0]}", "ours is"] if contested else []
    head = ["model", "parameters", "learning rates tried" if contested else "learning rate", *names, *goal, *compared]
    rows = [head, ["---"] * len(head)]
    for name, (arm, _) in task.arms.items():
        line = line_of(task, name, runs, steps)
        if line is None:
            rows.append([name, reason(arm), *[""] * (len(head) - 2)])
            continue
        figures = [str(line.figure(task, figure)) for figure in task.figures]
        if task.goal is not None:
            steps_taken = [run.reached(*task.goal) for run in line.runs]
            figures.append(" ".join("never" if taken is None else str(taken) for taken in steps_taken))
        said = _said(task, name, judged) if contested else []
        rows.append([name, f"{line.runs[0].parameters:,}", _rates(line), *figures, *said])
    return ["| " + " | ".join(row) + " |" for row in rows]


def _rates(line: Line) -> str:
    """All that were tried; of several, the best in bold."""
    if not line.learns:
        return "-"
    best = line.runs[0].rate
    return ", ".join(f"**{rate:g}**" if rate == best and len(line.rates) > 1 else f"{rate:g}" for rate in line.rates)


def _said(task: Task, peer: str, judged: Mapping[Pair, Verdict]) -> list[str]:
    """The differences and the words; with the name of our model where a peer is compared with several."""
    own = [ours for ours, other in task.pairs() if other == peer and (task.name, ours, peer) in judged]
    found = [(f"{ours.removeprefix('ours, ')}: " * (len(own) > 1), judged[task.name, ours, peer]) for ours in own]
    return ["; ".join(f"{who}{v.difference}" for who, v in found), "; ".join(f"{who}{v.words}" for who, v in found)]


def reason(arm: Ours | Peer) -> str:
    """Why a model has no result."""
    return f"not installed: {arm.install}" if isinstance(arm, Peer) and arm.missing else "not run"
