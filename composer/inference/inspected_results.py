"""The tables of an inspection's page: the metrics of the run, its classes, and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from composer.inference.data_evaluation import better
from composer.inference.model import Model
from composer.metrics import LOSS, Evaluation
from composer.metrics.details import HeadDetails
from composer.runs.folder import RunFolder
from composer.views.html_page import HtmlTable, PageSection
from composer.views.tables import cut_text

#: The examples of the largest loss that are listed for every head.
WORST = 8

#: The rows of a table by class, and the characters of a cell of an example.
CLASSES, TEXT = 30, 200

#: What a head says of an example.
SAID = ("predicted", "probability", "wanted")

VALID = "valid/"


def metrics_section(model: Model, evaluation: Evaluation | None) -> PageSection | None:
    """The metrics of the checkpoint: those that its run has noted, or those of the examples of this page."""
    record = RunFolder(model.path.parent.parent).read_record()
    valid = {name.removeprefix(VALID): v for name, v in record.result.items() if name.startswith(VALID)}
    if record.result_step == model.step and valid:
        test = record.test if record.test_step == model.step else {}
        monitor = f", chosen by {record.monitor}" if record.monitor not in (None, LOSS) else ""
        note = f"The checkpoint of step {model.step:,}{monitor}, as its run has noted them."
        names = ["metric", "validation", *(["test", "95 % interval of the test"] if test else []), ""]
        rows = [
            [name, _number(valid.get(name)), *(_with_interval(test.get(name, {})) if test else []), better(name)]
            for name in dict.fromkeys([*valid, *test])
        ]
        return PageSection("Metrics", [note], tables=[HtmlTable("", names, rows)])
    if evaluation is None:
        return None
    rows = [[name, *_with_interval(found), better(name)] for name, found in evaluation.report().items()]
    return PageSection("Metrics", ["Over the examples of this page."],
                       tables=[HtmlTable("", ["metric", "value", "95 % interval", ""], rows)])  # fmt: skip


def class_tables(details: Mapping[str, HeadDetails]) -> Iterator[HtmlTable]:
    """By head, the figures of every class and the examples with the largest loss."""
    for head, found in details.items():
        if (counts := found.by_name) is not None:
            rows = counts.rows()
            shares = ("precision", "recall", "f1", "support")
            shown = [[str(row[counts.kind]) or "(empty)", *(_number(row[key]) for key in shares)] for row in rows]
            left = f", the {CLASSES} commonest of {len(rows):,}" if len(rows) > CLASSES else ""
            yield HtmlTable(f"{head} by {counts.kind}{left}", [counts.kind, *shares], shown[:CLASSES])
        if found.worst:
            names = [name for name in found.worst[0] if name not in ("right", "head", "loss")]
            listed = [[_number(row["loss"]), *(_text(row.get(name, "")) for name in names)] for row in found.worst]
            yield HtmlTable(f"The examples with the largest loss of {head}", ["loss", *names], listed)


def example_table(records: Sequence[Mapping[str, Any]], fields: Sequence[str], heads: Sequence[str]) -> HtmlTable:
    """What the model reads and says of some examples; what one of several heads says is named by the head as well."""
    several = heads if len(heads) > 1 else []
    rows = [
        {key: value for key, value in record.items() if key not in several}
        | {f"{head} {key}": value for head in several for key, value in record.get(head, {}).items()}
        for record in records
    ]
    kept = (*fields, *(f"{head} {said}".strip() for head in several or [""] for said in SAID))
    names = [name for name in rows[0] if name in kept]
    return HtmlTable("", names, [[_text(row[name]) for name in names] for row in rows])


def _with_interval(found: Mapping[str, Any]) -> tuple[str, str]:
    low, high = found.get("low"), found.get("high")
    bounds = "" if low is None or high is None else f"{_number(low)} to {_number(high)}"
    return _number(found.get("value")), bounds


def _number(value: Any) -> str:
    return "-" if value is None or value != value else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _text(value: Any) -> str:
    words = isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)
    return cut_text(" ".join(value) if words else str(value), TEXT)
