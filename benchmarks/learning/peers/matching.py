"""A width for a peer whose layers are built otherwise than ours, so that both have as many parameters."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from composer.training.run.plan import TrainingPlan

#: The widths to choose from.
WIDTHS = range(32, 513, 8)


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def matched_width(plan: TrainingPlan, build: Callable[[int], nn.Module]) -> int:
    """The width at which the peer has about as many parameters as our graph. Nothing is allocated."""
    wanted = count(plan.meta)
    with torch.device("meta"):
        return min(WIDTHS, key=lambda width: abs(count(build(width)) - wanted))
