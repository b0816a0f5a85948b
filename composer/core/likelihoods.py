"""The log-probabilities of a head's tokens or classes, whichever method of the head gives them."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from composer.core.capabilities import offers
from composer.core.signals import Signal


def has_likelihoods(head: Any) -> bool:
    """Whether a head gives the log-probabilities of its tokens or classes."""
    return offers(head, "log_marginals") or offers(head, "log_probabilities")


def log_likelihoods(head: Any, output: Signal) -> Tensor | None:
    """(B, T, V) or (B, V): the log-probability of every token or class; None where the head gives none."""
    if offers(head, "log_marginals"):
        return head.log_marginals(output)
    return head.log_probabilities(output.values) if offers(head, "log_probabilities") else None
