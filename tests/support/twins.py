"""Blocks made by name, ragged sequences, and a comparison of values and gradients."""

import torch

from composer.core import registry
from composer.core.signals import Seq

LENGTHS = [5, 3, 1]


def make(kind, name, *facts, **knobs):
    torch.manual_seed(0)
    return registry.blocks(kind)[name](*facts, **knobs).double().eval()


def seq(dim=4, lengths=LENGTHS, seed=1):
    """A ragged sequence with NaN in its padding."""
    values = torch.randn(len(lengths), max(lengths), dim, generator=torch.Generator().manual_seed(seed)).double()
    x = Seq(values, torch.tensor(lengths))
    return Seq(x.filled(float("nan")).requires_grad_(), x.lengths)


def rows(x):
    """Every row alone, without its padding."""
    return [row[:count] for row, count in zip(x.values, x.counts.tolist(), strict=True)]


def same(found, wanted, inputs=(), module=None):
    """Equal values, and equal gradients of every input and parameter under random weights."""
    found, wanted = torch.cat([f.flatten() for f in found]), torch.cat([w.flatten() for w in wanted])
    torch.testing.assert_close(found, wanted)
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(3)).double()
    leaves = [*inputs, *(module.parameters() if module is not None else ())]
    leaves = [leaf for leaf in leaves if leaf.requires_grad]
    if leaves:
        ours = torch.autograd.grad((found * weights).sum(), leaves, allow_unused=True, retain_graph=True)
        theirs = torch.autograd.grad((wanted * weights).sum(), leaves, allow_unused=True, retain_graph=True)
        for one, other in zip(ours, theirs, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                torch.testing.assert_close(one, other)
