"""The details of an evaluation as text: a table by class, the confusion matrix, the worst examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from composer.inference.data_evaluation import WIDE
from composer.metrics.details import HeadDetails
from composer.metrics.outcomes import ByName, ClassOutcomes
from composer.views.tables import cut_text, text_table

#: The most classes in the table by class, and in a matrix; then the number of confusions that are listed of more.
ROWS, MATRIX, CONFUSIONS = 20, 10, 10

#: The most characters of a name in a table, and of a text of an example.
NAME, TEXT = 24, 300

PLURALS = {"class": "classes", "entity": "entities"}


def details_text(details: Mapping[str, HeadDetails]) -> str:
    """The details of all heads."""
    parts: list[str] = []
    for head, found in details.items():
        several = f" of {head}" if len(details) > 1 else ""
        if found.by_name is not None:
            parts.append(f"by {found.by_name.kind}{several}\n\n{class_table(found.by_name)}")
        if found.outcomes is not None and found.outcomes.confusion.sum():
            parts.append(confusion_text(found.outcomes, several))
        if found.worst:
            parts.append("\n".join([f"examples with the largest loss{several}", *worst_lines(found.worst)]))
    return "\n\n".join(parts)


def class_table(counts: ByName) -> str:
    """Precision, recall, F1 and support of the commonest classes, types of entities or labels."""
    rows, shares = counts.rows(), ("precision", "recall", "f1")
    shown = [
        (_cut(str(row[counts.kind])), *(_share(row[key]) for key in shares), f"{row['support']:,}")
        for row in rows[:ROWS]
    ]
    table = text_table([counts.kind, *shares, "support"], shown, width=WIDE)
    left = len(rows) - ROWS
    kind = PLURALS.get(counts.kind, f"{counts.kind}s") if left != 1 else counts.kind
    return f"{table}\n({left:,} rarer {kind}: --json)" if left > 0 else table


def confusion_text(outcomes: ClassOutcomes, several: str = "") -> str:
    """Targets by row, predictions by column; of many classes the commonest mistakes."""
    matrix = outcomes.confusion
    there = (matrix.sum(0) + matrix.sum(1)).nonzero()[:, 0].tolist()
    if len(there) <= MATRIX:
        names = [_cut(outcomes.names[i]) for i in there]
        rows = [(name, *(f"{matrix[i, j]:,.0f}" for j in there)) for name, i in zip(names, there, strict=True)]
        table = text_table(["", *names], rows, width=WIDE)
        return f"confusion matrix{several}: targets by row, predictions by column\n\n{table}"
    wanted = dict(zip(outcomes.names, matrix.sum(1).tolist(), strict=True))
    mistakes = [(a, b, count) for a, b, count in outcomes.cells() if a != b][:CONFUSIONS]
    if not mistakes:
        return f"confusions{several}: none"
    rows = [(_cut(a), _cut(b), f"{count:,}", _share(count / wanted[a])) for a, b, count in mistakes]
    table = text_table(["target", "predicted", "count", "share of the target"], rows, width=WIDE)
    return f"commonest confusions{several}, of {len(there):,} classes\n\n{table}"


def worst_lines(worst: list[dict[str, Any]]) -> Iterator[str]:
    for row in worst:
        yield ""
        shown = {"loss": f"{row['loss']:.4g}"} | {key: row[key] for key in row if key not in ("loss", "right")}
        width = max(map(len, shown))
        yield from (f"  {key.ljust(width)}  {_line(str(value))}" for key, value in shown.items())


def _share(value: Any) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _cut(name: str) -> str:
    return _line(name or "(empty)", NAME)


def _line(text: str, count: int = TEXT) -> str:
    return cut_text(text.replace("\n", "\\n"), count)
