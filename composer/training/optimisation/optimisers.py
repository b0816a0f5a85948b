"""Optimisers by name, over groups of parameters with a rate and a weight decay each (node_rates.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from composer.core.binding import bind_entry, bind_section
from composer.core.block import Probability, Scale
from composer.core.problems import Locate
from composer.core.registry import register
from composer.graph.graph import Graph
from composer.training.optimisation.node_rates import (
    SCALE,
    Decay,
    Declared,
    Groups,
    GroupSettings,
    grouped,
    layers_above,
)


@register("optimiser", "adamw")
def adamw(
    groups: Groups, *, learning_rate: Scale = 0.003, weight_decay: Decay = 0.01, beta1: Probability = 0.9,
    beta2: Probability = 0.999, eps: Scale = 1e-8,
) -> Optimizer:  # fmt: skip
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""
    return torch.optim.AdamW(
        groups, lr=learning_rate, weight_decay=weight_decay, betas=(beta1, beta2), eps=eps, fused=True
    )


@register("optimiser", "adam")
def adam(
    groups: Groups, *, learning_rate: Scale = 0.003, weight_decay: Decay = 0.0, beta1: Probability = 0.9,
    beta2: Probability = 0.999, eps: Scale = 1e-8,
) -> Optimizer:  # fmt: skip
    """Adam (Kingma and Ba, 2015); its weight decay is part of the gradient."""
    return torch.optim.Adam(
        groups, lr=learning_rate, weight_decay=weight_decay, betas=(beta1, beta2), eps=eps, fused=True
    )


@register("optimiser", "sgd")
def sgd(
    groups: Groups, *, learning_rate: Scale = 0.1, weight_decay: Decay = 0.0, momentum: Probability = 0.9,
    nesterov: bool = False,
) -> Optimizer:  # fmt: skip
    """Plain gradient descent, with momentum."""
    return torch.optim.SGD(
        groups, lr=learning_rate, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov and momentum > 0
    )


@register("optimiser", "adafactor")
def adafactor(
    groups: Groups, *, learning_rate: Scale = 0.01, weight_decay: Decay = 0.0, beta2_decay: float = -0.8
) -> Optimizer:
    """Second moments kept as rows and columns, in little memory (Shazeer and Stern, 2018)."""
    return torch.optim.Adafactor(groups, lr=learning_rate, weight_decay=weight_decay, beta2_decay=beta2_decay)


#: Makes an optimiser over named parameters.
MakeOptimiser = Callable[[Iterable[tuple[str, nn.Parameter]]], Optimizer]


#: The keys of the section ``optimiser`` that are not knobs of the optimiser itself.
GROUP_KEYS = ("groups", "layer_decay")


@dataclass(frozen=True)
class BoundOptimiser:
    """The checked ``optimiser`` section of a config: makes the optimiser of named parameters, which are all alike.

    make: the registered optimiser with its knobs
    settings: those by node and by layer, which need a graph
    """

    make: Callable[[Groups], Optimizer]
    settings: GroupSettings

    def __call__(self, parameters: Iterable[tuple[str, nn.Parameter]]) -> Optimizer:
        return self._make(grouped(parameters))

    def over(self, meta: Graph) -> MakeOptimiser:
        """The same with the settings by node and layer of a compiled graph, and what the graph's blocks declare."""
        above, declared = layers_above(meta), Declared.by(meta)
        return lambda parameters: self._make(grouped(parameters, self.settings, above, declared))

    def _make(self, groups: list[dict[str, Any]]) -> Optimizer:
        scales = [group.pop(SCALE) for group in groups]
        optimiser = self.make(groups)
        for group, scale in zip(optimiser.param_groups, scales, strict=True):
            group["lr"] *= scale
        return optimiser


def bind_optimiser(config: Mapping[str, Any], locate: Locate = lambda path: "") -> BoundOptimiser:
    """Check a config's ``optimiser`` section. Older runs have no settings by node."""
    own = {key: value for key, value in config.items() if key not in GROUP_KEYS}
    groups = {key: config[key] for key in GROUP_KEYS if config.get(key) is not None}
    make = bind_entry("optimiser", own, locate)
    return BoundOptimiser(make, bind_section("optimiser", GroupSettings, groups, "optimiser", locate)())
