"""Optimisers by name, and the parameter groups for weight decay.

Weight decay applies to matrices, and not to biases, norms and other vectors.
"""

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
from composer.training.node_rates import SCALE, Decay, Groups, GroupSettings, grouped, layers_above


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

    meta: the compiled graph, from which the layer of every parameter is read; needed for settings by node
    """
    make = bind_entry("optimiser", {key: value for key, value in config.items() if key not in GROUP_KEYS}, locate)
    settings = bind_groups(config, locate)
    if meta is None or settings == GroupSettings():
        return lambda parameters: make(decay_groups(parameters))
    above = layers_above(meta)

    def make_by_node(parameters: Iterable[tuple[str, nn.Parameter]]) -> Optimizer:
        optimiser: Optimizer = make(grouped(parameters, settings, above))
        for group in optimiser.param_groups:
            group["lr"] *= group.pop(SCALE)
        return optimiser

    return make_by_node


def decay_groups(parameters: Iterable[tuple[str, nn.Parameter]]) -> Groups:
    """Two parameter groups: matrices, with weight decay, and all other parameters, without."""
    trained = [parameter for _, parameter in parameters if parameter.requires_grad]
    matrices = [parameter for parameter in trained if parameter.dim() >= 2]
    rest = [parameter for parameter in trained if parameter.dim() < 2]
    return [{"params": matrices}, *([{"params": rest, "weight_decay": 0.0}] if rest else [])]
