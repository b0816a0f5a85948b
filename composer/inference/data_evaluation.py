"""Metrics over held-out data, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from composer.batching import drawn_batches
from composer.core.binding import bind_section
from composer.core.problems import Invalid
from composer.decoding import Settings
from composer.graph.graph import Graph
from composer.inference.run_data import Data
from composer.metrics import Evaluation, direction, evaluate, find_metric
from composer.metrics.evaluation import CONFIDENCE
from composer.training.settings import Training
from composer.views.tables import text_table

#: The most cells of a line: a row of a table is one line, however wide, so that other programs can read it.
WIDE = 1000

ARROWS = {"min": "lower is better", "max": "higher is better"}


def evaluate_data(
    graph: Graph,
    data: Data,
    training: Mapping[str, Any] | None,
    *,
    rows: int | None = None,
    decode_rows: int | None = None,
    beams: int | None = None,
    normalisation: Literal["none", "mean", "gnmt"] | None = None,
    alpha: float | None = None,
    worst: int | None = None,
) -> Evaluation:
    """Every metric that fits the model's heads, in batches of the run's size.

    With the same number of rows, the rows are those of a validation during training.

    training: the section of the run's config, in which keys that have their defaults may be missing
    rows: the number of rows, drawn in a fixed random order; None for all
    decode_rows: the number of these rows that are decoded autoregressively; None for all
    beams: the width of a beam search; None for greedy decoding
    normalisation, alpha: of the scores of beam search by length: see ``Settings``
    worst: the number of examples of the largest loss in the details of every head; None for no details
    """
    data.checked()
    if beams is None and (normalisation is not None or alpha is not None):
        raise Invalid("normalisation" if alpha is None else "alpha", "has no effect on greedy decoding. Set beams.")
    chosen = {key: value for key, value in (training or {}).items() if key in ("batch", "batch_tokens")}
    sizes = bind_section("training", Training, chosen, "training", lambda _: "the config of the run")()
    decoded, forced = drawn_batches(
        data.objective, data.split, batch=sizes.batch, batch_tokens=sizes.batch_tokens,
        rows=rows, decode_rows=decode_rows,
    )  # fmt: skip
    search = None
    if beams is not None:
        normalisation = normalisation or Settings.normalisation
        search = Settings(search="beam", beams=beams, normalisation=normalisation, alpha=alpha)
    return evaluate(graph, data.objective, decoded, forced=forced, search=search, keep=True, samples=0, worst=worst)


def table(metrics: Mapping[str, Mapping[str, float | None]]) -> str:
    """A table with one line per metric."""
    head = ("metric", "value", f"{100 * CONFIDENCE:g} % interval", "")
    lines = [
        (name, _shown(m["value"]), f"{_shown(m['low'])} to {_shown(m['high'])}", better(name))
        for name, m in metrics.items()
    ]
    return text_table(head, lines, width=WIDE)


def better(name: str) -> str:
    nominal = find_metric(name).nominal
    return ARROWS[direction(name)] if nominal is None else f"{nominal:g} is right"


def table_over(values: Sequence[str], found: Sequence[Mapping[str, Mapping[str, float | None]]], key: str) -> str:
    """A table with one line per value of the varied key, and one column per metric."""
    names = list(found[0])
    lines = [
        (value, *(f"{_shown(m[n]['value'])} ({_shown(m[n]['low'])} to {_shown(m[n]['high'])})" for n in names))
        for value, m in zip(values, found, strict=True)
    ]
    return text_table([key, *names], lines, width=WIDE)


def notes(found: Evaluation) -> list[str]:
    """How the intervals were computed, and the signature of every metric that has one."""
    return [found.examples.method, *(f"{name}: {words}" for name, words in found.signatures.items())]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
