"""Is a trained model better than the untrained one, a baseline, or could the difference be chance?

A few windows that overlap tell little: after any training, the validation split of some random walks seems easier to
foretell than it is. The one-standard-error rule keeps the simpler model, here the baseline, unless another is better by
more than a standard error (Breiman et al., 1984).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from composer.metrics.bootstrap import Examples


def squared_errors(errors: Mapping[str, list[Tensor]]) -> dict[str, Tensor]:
    """By head, the mean squared error of every example, (N,), from the errors of batches, (B, T, D)."""
    every = {head: torch.cat([part.square().flatten(1).nanmean(1) for part in parts]) for head, parts in errors.items()}
    return {head: found[~found.isnan()] for head, found in every.items()}


def within_chance(now: Tensor, before: Tensor, examples: Examples, steps: int) -> bool:
    """Whether squared errors of the same examples are lower than before by less than a standard error, if at all.

    steps: of a prediction. Examples count as independent where their predictions share no step
    """
    if len(now) != len(before) or len(now) < 2:
        return False
    shared = min(examples.overlap, steps)
    independent = min(len(now), max(1.0, examples.size / shared)) if shared > 1 else len(now)
    difference = now - before
    return bool(difference.mean() > -difference.std() / independent**0.5)
