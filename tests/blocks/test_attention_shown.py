"""The weights of attention can be looked at, and looking costs only whoever looks."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from composer.core import registry
from composer.core.recording import watch
from composer.testing import subject
from composer.testing.strategies import subjects_of
from tests.support.registered import FAMILIES

SHOWING = [(kind, name) for kind, name in FAMILIES if getattr(registry.blocks(kind)[name], "shows", "") == "attention"]


def test_all_attention_can_be_looked_at():
    expected = {"attention", "simple_attention", "additive_attention", "sliding_window", "sparse", "linear_attention"}
    assert expected <= {name for kind, name in SHOWING if kind == "mixer"}
    assert ("cross", "cross_attention") in SHOWING


@pytest.mark.parametrize(("kind", "name"), SHOWING)
@given(data=st.data())
def test_weights_can_be_asked_for_and_change_nothing(kind, name, data):
    looked_at = data.draw(subjects_of(registry.blocks(kind)[name]))
    (before,) = looked_at.run(looked_at.inputs)[0].values()
    with watch() as seen:
        (after,) = looked_at.run(looked_at.inputs)[0].values()
    assert torch.equal(before.values, after.values)
    (weights,) = seen[looked_at.module]  # (B, H, T, S)
    queries, keys = looked_at.axis, looked_at.inputs.get("memory", looked_at.axis)
    asks = queries.mask if after.timed else (queries.counts > 0)[:, None]  # a pool asks once for every row
    assert (weights.shape[0], *weights.shape[2:]) == (*asks.shape, keys.time)
    sums = (weights * keys.mask[:, None, None]).sum(-1).transpose(1, 2)[asks]  # over real keys, of real queries
    if looked_at.scale > 1:  # the kernel of linear attention is 0 for inputs far below 0: then no step has any weight
        sums = torch.where(sums == 0, 1, sums)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    assert not weights.requires_grad


@pytest.mark.parametrize(("kind", "name"), SHOWING)
def test_looking_costs_only_whoever_looks(kind, name):
    looked_at = subject(registry.blocks(kind)[name])

    def operations():
        with Counted() as counted:
            looked_at.run(looked_at.inputs)
        return counted.number

    unseen = operations()
    with watch():
        assert operations() > unseen
    assert operations() == unseen


class Counted(TorchDispatchMode):
    """The number of tensor operations that run."""

    number = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.number += 1
        return func(*args, **(kwargs or {}))
