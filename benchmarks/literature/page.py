"""docs/literature.md, written from the published figures and our results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import groupby
from pathlib import Path

from benchmarks.literature.cell import CHECKED, Cell, Paper
from benchmarks.literature.results import Result

INTRODUCTION = """\
# Published figures, and ours

Written by `python -m benchmarks.literature --write`; our figures come from `benchmarks/literature/results.jsonl`, in
which that script keeps what the studies reached, and from the gallery's results. Every cell is a figure of a paper.
Ours is computed by the paper's statistic; beside it stand the mean over our seeds with its 95 % interval, cut at 0
and 1 for accuracies, and the seconds that all runs of the arm took, tuning included, on two CPU cores with whatever
else ran beside them. A cell is reached where the rule of its table says so; where a model that guesses would reach
it, too, the page says so. A cell is left out where the study does not have its arm. The settings are not the papers':
each section says what was changed, so that a miss is not a refutation, and a hit is not a reproduction at the paper's
size.
"""

HEADINGS = (
    "model",
    "task",
    "arm",
    "goal",
    "ours",
    "mean and interval",
    "seeds",
    "seconds",
    "outcome",
    "value of the paper",
)


def write_page(path: Path, cells: Sequence[Cell], results: Mapping[str, Result]) -> None:
    path.write_text(page(cells, results), encoding="utf-8")


def page(cells: Sequence[Cell], results: Mapping[str, Result]) -> str:
    sections = [section(study, list(own), results) for study, own in groupby(cells, key=lambda cell: cell.study)]
    return "\n".join([INTRODUCTION, summary(cells, results), *sections, misses(cells, results), waiting(cells)])


class Outcome(Enum):
    """What became of a cell, and its column in the summary.

    GUESSED: reached, but a model that guesses would reach it, too
    """

    REACHED = "reached"
    GUESSED = "reached, as by guessing"
    MISSED = "missed"
    NOT_RUN = "not run yet"
    LEFT_OUT = "left out"
    WAITS = "waits for a block"


def outcome(cell: Cell, results: Mapping[str, Result]) -> Outcome:
    if cell.waits_for:
        return Outcome.WAITS
    if cell.id not in results:
        return Outcome.LEFT_OUT if cell.left_out else Outcome.NOT_RUN
    if not cell.rule.reached(results[cell.id].value, cell.goal):
        return Outcome.MISSED
    return Outcome.GUESSED if cell.guessed else Outcome.REACHED


def in_words(cell: Cell, found: Outcome) -> str:
    words = {Outcome.WAITS: f"waits for {cell.waits_for}", Outcome.LEFT_OUT: f"left out: {cell.left_out}",
             Outcome.MISSED: "**missed**"}  # fmt: skip
    return words.get(found, found.value)


def summary(cells: Sequence[Cell], results: Mapping[str, Result]) -> str:
    """How many cells of every study have each outcome."""
    lines = [f"| study | cells | {' | '.join(kind.value for kind in Outcome)} |", "| --- " * (len(Outcome) + 2) + "|"]
    total: Counter[Outcome] = Counter()
    for study, own in groupby(cells, key=lambda cell: cell.study):
        counts = Counter(outcome(cell, results) for cell in own)
        lines.append(f"| [{study}](#{study}) | {_counted(counts)} |")
        total += counts
    return "\n".join([*lines, f"| all | {_counted(total)} |", ""])


def _counted(counts: Counter[Outcome]) -> str:
    return " | ".join(str(count) for count in (counts.total(), *(counts[kind] for kind in Outcome)))


def section(study: str, cells: Sequence[Cell], results: Mapping[str, Result]) -> str:
    commands = list(dict.fromkeys(results[cell.id].command for cell in cells if cell.id in results))
    paper, rules = cells[0].paper, list(dict.fromkeys(str(cell.rule) for cell in cells))
    statistics = list(dict.fromkeys(statistic(cell) for cell in cells))
    lines = [
        f"## {study}\n",
        f"{source(paper)}\n",
        f"- the paper reports: {paper.statistic}",
        f"- its settings: {paper.settings}",
        f"- changed here: {paper.changed}",
        f"- where the values were seen: {paper.seen}",
        f"- ours is the {'; the '.join(statistics)}; reached: {' or '.join(rules)}",
        "- commands: " + ", ".join(f"`{command}`" for command in (commands or [cells[0].command])) + "\n",
        f"| {' | '.join(HEADINGS)} |",
        "| --- " * len(HEADINGS) + "|",
        *(row(cell, results) for cell in cells),
        "",
    ]
    differing = list(dict.fromkeys((cell.model, cell.stands_for) for cell in cells if cell.stands_for))
    if differing:
        lines.append("".join(f"- {model}: {words}\n" for model, words in differing))
    return "\n".join(lines)


def statistic(cell: Cell) -> str:
    """How ours is computed, in words."""
    alike = ", by the mean over test sequences of the accuracy of each: every sequence counts alike"
    return cell.statistic.words + (alike if cell.by_sequence else "")


def source(paper: Paper) -> str:
    return f"{paper.name}: {paper.title}, [arXiv:{paper.arxiv}](https://arxiv.org/abs/{paper.arxiv}), {paper.where}."


def row(cell: Cell, results: Mapping[str, Result]) -> str:
    found = results.get(cell.id) if not cell.waits_for else None
    cells = [
        cell.model, cell.task.replace("_", " "), cell.arm or "", f"{cell.goal:.3f}",
        f"{found.value:.3f}" if found is not None else "", measured(found) if found is not None else "",
        str(found.seeds) if found is not None else "", f"{found.seconds:,.0f}" if found is not None else "",
        in_words(cell, outcome(cell, results)), CHECKED[cell.checked],
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def measured(result: Result) -> str:
    """The mean and its interval, of the metric itself."""
    if result.low is None or result.high is None:
        return f"{result.metric} {result.mean:.3f}"
    return f"{result.metric} {result.mean:.3f} [{result.low:.3f}, {result.high:.3f}]"


def misses(cells: Sequence[Cell], results: Mapping[str, Result]) -> str:
    missed = [cell for cell in cells if outcome(cell, results) is Outcome.MISSED]
    lines = [
        f"- {cell.study}, {cell.model}, {cell.task.replace('_', ' ')}: {results[cell.id].value:.3f} instead of "
        f"{cell.goal:.3f}. {cell.known or 'Nothing is known about it yet.'}"
        for cell in missed
    ]
    return "\n".join(["## Misses\n", *(lines or ["There are none."]), ""])


def waiting(cells: Sequence[Cell]) -> str:
    """The blocks that are missing, and how many cells wait for each."""
    blocks: dict[str, int] = {}
    for cell in cells:
        if cell.waits_for:
            blocks[cell.waits_for] = blocks.get(cell.waits_for, 0) + 1
    lines = [f"- {block}: {count} cells" for block, count in blocks.items()]
    return "\n".join(["## Waiting\n", *(lines or ["No cell waits for a block."]), ""])
