"""Optimisers by name, over groups of parameters with a rate and a weight decay each (node_rates.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    ALIKE,
    NOTHING,
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


def bind_groups(config: Mapping[str, Any], locate: Locate = lambda path: "") -> GroupSettings:
    """Check the settings by node in a config's ``optimiser`` section. Older runs have none."""
    values = {key: config[key] for key in GROUP_KEYS if config.get(key) is not None}
    return bind_section("optimiser", GroupSettings, values, "optimiser", locate)()


def bind_optimiser(
    config: Mapping[str, Any], locate: Locate = lambda path: "", meta: Graph | None = None
) -> MakeOptimiser:
    """Check a config's ``optimiser`` section, and return the function that makes the optimiser from the parameters.

    meta: the compiled graph, from which the layer of every parameter is read, and what its blocks declare of it
    """
    make = bind_entry("optimiser", {key: value for key, value in config.items() if key not in GROUP_KEYS}, locate)
    settings = bind_groups(config, locate)
    above, declared = ({}, NOTHING) if meta is None else (layers_above(meta), Declared.by(meta))

    def make_of(parameters: Iterable[tuple[str, nn.Parameter]]) -> Optimizer:
        groups = grouped(parameters, settings if meta is not None else ALIKE, above, declared)
        scales = [group.pop(SCALE) for group in groups]
        optimiser: Optimizer = make(groups)
        for group, scale in zip(optimiser.param_groups, scales, strict=True):
            group["lr"] *= scale
        return optimiser

    return make_of
