"""What mixers cost by the length of the sequence, counted in FLOPs."""

from itertools import pairwise

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from composer.core import registry
from composer.core.meta import on_meta
from composer.core.signals import Seq
from composer.testing.defaults import class_recipe

TIMES = [512, 1024, 2048, 4096, 8192]


def training_cost(name, time, **knobs):
    """FLOPs of a forward pass over ``time`` steps, and the bytes it keeps for the backward pass."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    with on_meta(), FlopCounterMode(display=False) as counter, saved_tensors_hooks(keep, lambda tensor: tensor):
        block = class_recipe(registry.blocks("mixer")[name], knobs).build(dim=32, causal=True)
        block(Seq(torch.empty(1, time, 32)))
    return counter.get_total_flops(), sum(kept.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sliding_window", "linear_attention", "retention"])
def test_linear_mixers_cost_what_the_length_says(name):
    costs = [training_cost(name, time) for time in TIMES]
    for shorter, longer in pairwise(costs):
        for small, large in zip(shorter, longer, strict=True):
            assert 1.9 < large / small < 2.1
    full = [training_cost("attention", time)[0] for time in TIMES]
    assert full[-1] / full[-2] > 3  # the measure sees what is quadratic


def test_sparse_attention_costs_less_than_the_square():
    costs = [training_cost("sparse", time, stride=int(time**0.5)) for time in (1024, 4096)]
    assert all(large / small < 9 for small, large in zip(*costs, strict=True))  # 4 ** 1.5 = 8, not 16


def step_cost(name, past):
    """FLOPs of one step after ``past`` ones, and the bytes of the state then."""
    with on_meta(), torch.no_grad():
        block = class_recipe(registry.blocks("mixer")[name], {}).build(dim=32, causal=True)
        _, state = block(Seq(torch.empty(1, past, 32)), block.start(1))
        with FlopCounterMode(display=False) as counter:
            _, state = block(Seq(torch.empty(1, 1, 32)), state)
    return counter.get_total_flops(), sum(leaf.numel() * leaf.element_size() for leaf in state.values())


@pytest.mark.parametrize("name", ["sliding_window", "linear_attention", "retention"])
def test_a_step_costs_the_same_however_late(name):
    assert step_cost(name, 512) == step_cost(name, 8192)


@pytest.mark.parametrize("name", ["attention", "sparse", "simple_attention"])
def test_a_cached_step_costs_what_was_read(name):
    (few, small), (more, large) = step_cost(name, 4096), step_cost(name, 8192)
    assert more / few < 2.05
    assert large / small < 2.05
