"""Metrics by their names: the registered class, the better direction, the meaning, and the headline of a run."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from composer.core import registry
from composer.core.problems import UserError, did_you_mean, listed
from composer.metrics.metric import Direction, Metric

#: The metric that every graph has: the monitor where users agree on no other, or of several heads; it breaks ties.
LOSS = "loss"

#: The possible values of a metric that says nothing about them.
ANY = (-math.inf, math.inf)

#: A head that is judged by one of these predicts classes or tokens, so that its loss, of a probability, is above 0.
OF_CLASSES = frozenset({"accuracy", "token_accuracy", "perplexity", "exact", "micro_f1"})


def find_metric(name: str) -> type[Metric]:
    """The registered metric of a name, which may begin with the name of a head: 'bleu', 'output/bleu'."""
    known, bare = registry.entries("metric"), name.rpartition("/")[2]
    if bare not in known:
        raise UserError(
            f"There is no metric '{name}'.{did_you_mean(bare, known)}  (metrics: {listed(known, len(known))})"
        )
    found = known[bare]
    where = f"The metric '{bare}' of {found.__module__}"
    if not (isinstance(found, type) and issubclass(found, Metric)):
        raise UserError(f"{where} is no subclass of composer.Metric.")
    if getattr(found, "direction", None) not in ("min", "max") or not isinstance(getattr(found, "meaning", None), str):
        raise UserError(f"{where} does not say its direction, 'min' or 'max', and its meaning, a sentence.")
    return found


def direction(name: str) -> Direction:
    """Whether a lower value of a metric is better ("min") or a higher one ("max")."""
    return find_metric(name).direction


def describe(name: str) -> str:
    """The meaning of a metric, in a sentence."""
    return find_metric(name).meaning


def possible(name: str, beside: Collection[str] = ()) -> tuple[float, float]:
    """The lowest and the highest value that a metric of a split can have; any, of one that is not registered.

    beside: the metrics that were measured with it, which tell what the heads predict whose loss it is
    """
    split, _, own = name.rpartition("/")[0].partition("/")
    bare = name.rpartition("/")[2]
    if bare != LOSS:
        found = registry.entries("metric").get(bare)
        return getattr(found, "possible", ANY)
    heads: dict[str, set[str]] = {}
    for other in beside:
        where, _, metric = other.rpartition("/")
        if metric != LOSS and where.partition("/")[0] == split:
            heads.setdefault(where.partition("/")[2], set()).add(metric)
    judged = [metrics for head, metrics in heads.items() if not own or head == own]
    return (0.0, math.inf) if judged and all(metrics & OF_CLASSES for metrics in judged) else ANY


def headline(names: Iterable[str]) -> str:
    """The metric, among these, that summarises a run best."""
    ranks = [(find_metric(name).quoted, name) for name in names]
    quoted = [(rank, name) for rank, name in ranks if rank is not None]
    return min(quoted, key=lambda ranked: ranked[0])[1] if quoted else LOSS
