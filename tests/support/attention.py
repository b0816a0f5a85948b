"""Attention written out by hand, to compare the blocks with."""

import math

import torch

from composer.core import registry
from composer.core.signals import Seq
from composer.testing.defaults import class_recipe

DIM, HEADS, WIDTH = 8, 4, 2
LENGTHS = [23, 9, 1]


def build(kind, name, dim=DIM, causal=True, memory_dim=None, **knobs):
    torch.manual_seed(0)
    found = class_recipe(registry.blocks(kind)[name], knobs)
    return found.build(dim=dim, causal=causal, memory_dim=memory_dim).double()


def sequence(lengths=LENGTHS, dim=DIM, seed=1):
    values = torch.randn(len(lengths), max(lengths), dim, generator=torch.Generator().manual_seed(seed)).double()
    return Seq(values.requires_grad_(), torch.tensor(lengths))


def agree(signal, expected, *tensors):
    """The real outputs and the gradients that they give the tensors."""
    real = signal.mask[..., None]
    values, expected = signal.values.masked_fill(~real, 0), expected.masked_fill(~real, 0)
    torch.testing.assert_close(values, expected, rtol=1e-9, atol=1e-9)
    weight = torch.randn(values.shape, generator=torch.Generator().manual_seed(3)).double()
    ours, theirs = (torch.autograd.grad((v * weight).sum(), tensors, retain_graph=True) for v in (values, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-9)


def heads_of(values, width=WIDTH):
    return values.unflatten(-1, (-1, width)).transpose(1, 2)


def visible(x, causal, rule=lambda distance: distance == distance):
    """(B, 1, T, T): real keys, not in the future where that is asked for, at distances i - j that the rule allows."""
    steps = torch.arange(x.time)
    distance = steps[:, None] - steps
    seen = rule(distance) & ((distance >= 0) | (not causal)) & x.mask[:, None]
    return (seen | ~seen.any(-1, keepdim=True))[:, None]


def by_hand(block, x, mask, bias=0.0, scores=None):
    """Attention as its formula has it, with the block's own weights."""
    groups = block.kv_heads * block.width
    parts = block.project(x.filled()).split([block.heads * block.width, groups, groups], dim=-1)
    q, k, v = (heads_of(part, block.width) for part in parts)
    k, v = (part.repeat_interleave(block.heads // block.kv_heads, dim=1) for part in (k, v))
    found = q @ k.transpose(-1, -2) / math.sqrt(block.width) if scores is None else scores(q, k)
    weights = (found + bias).masked_fill(~mask, -math.inf).softmax(-1)
    return block.output((weights @ v).transpose(1, 2).flatten(2))
