"""The scans equal their recurrences written as loops, values and gradients, by whichever solver and blocks."""

import pytest
import torch
from composer.catalogue.mixer.mingru import MinGRU
from composer.catalogue.mixer.selective import Selective
from composer.catalogue.scan import blend, scan, selective
from composer.catalogue.scan.blend import blend_step
from composer.catalogue.scan.solve import BLOCK, SOLVERS, by_width, loop, tree
from torch.autograd import gradcheck

from composer.core.signals import Seq

TIMES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]


@pytest.fixture(
    params=[("whole", loop), ("blocks", loop), ("whole", tree), ("blocks", tree)],
    ids=["whole-loop", "blocks-loop", "whole-tree", "blocks-tree"],
)
def solver(request, monkeypatch):
    """Small examples in one block and in several, step by step and by the tree."""
    size, function = request.param
    monkeypatch.setitem(SOLVERS, "cpu", function)
    if size == "blocks":
        monkeypatch.setitem(BLOCK, "cpu", 3 * 2 * 4)  # three steps of (2, 4)
    return request.param


def randn(*shape, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=dtype)


def written_out(a, b, start):
    h, found = start, []
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        found.append(h)
    return torch.stack(found, dim=1)


def same_with_gradients(one, other, inputs):
    """Two functions of the same inputs give the same outputs and gradients."""
    inputs = [value.clone().requires_grad_() for value in inputs]
    results = []
    for function in (one, other):
        outputs = function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        weights = [randn(*output.shape, dtype=output.dtype, seed=5) for output in outputs]
        total = sum((output * weight).sum() for output, weight in zip(outputs, weights, strict=True))
        total = total.real if total.is_complex() else total
        results.append([*outputs, *torch.autograd.grad(total, inputs)])
    for mine, its in zip(*results, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("time", TIMES)
def test_the_tree_equals_the_loop(time, backwards):
    a, b = randn(time - 1, 2, 3), randn(time, 2, 3)
    results = [b.clone() for _ in range(2)]
    for solver, result in zip((loop, tree), results, strict=True):
        solver(a, result, backwards)
    torch.testing.assert_close(*results)


def test_the_loop_is_the_recurrence_both_ways():
    a, b = torch.tensor([2.0, 3.0]), torch.tensor([1.0, 10.0, 100.0])
    ahead, back = b.clone(), b.clone()
    loop(a, ahead, False)
    loop(a, back, True)
    assert ahead.tolist() == [1, 12, 136]
    assert back.tolist() == [621, 310, 100]


@pytest.mark.parametrize(("time", "width"), [(300, 8), (300, 2000), (10, 8)])
def test_a_cpu_may_choose_by_width(time, width):
    a, b = randn(time - 1, width).sigmoid(), randn(time, width)
    found, expected = b.clone(), b.clone()
    by_width(a, found, False)
    loop(a, expected, False)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("time", [1, 2, 7, 9])
def test_a_scan_equals_its_recurrence(solver, time, dtype):
    inputs = randn(2, time, 4, dtype=dtype), randn(2, time, 4, dtype=dtype, seed=1), randn(2, 4, dtype=dtype)
    same_with_gradients(scan, written_out, inputs)


def test_a_scan_takes_any_layout_and_any_lanes(solver):
    a, b = (randn(7, 2, 2, 2, seed=seed).transpose(0, 1) for seed in (0, 1))
    same_with_gradients(scan, written_out, (a, b, randn(2, 2, 2)))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("gates", [1, 2])
@pytest.mark.parametrize("time", [1, 2, 7, 9])
def test_a_blend_equals_its_gates_and_recurrence(solver, time, gates, positive):
    def expected(raw, start):
        *given, candidate = raw.split(4, dim=-1)
        given = [torch.sigmoid(gate) for gate in given]
        z = given[0] if gates == 1 else given[1] / (given[0] + given[1])
        if positive:
            candidate = torch.where(candidate >= 0, candidate + 0.5, torch.sigmoid(candidate))
        return written_out(1 - z, z * candidate, start)

    inputs = randn(2, time, 4 * (gates + 1)), randn(2, 4)
    same_with_gradients(lambda raw, start: blend(raw, start, positive), expected, inputs)


def test_two_closed_gates_give_numbers():
    raw = torch.full((1, 3, 3), -200.0, requires_grad=True)
    h = blend(raw, torch.ones(1, 1))
    (gradient,) = torch.autograd.grad(h.sum(), raw)
    assert torch.isfinite(h).all()
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize(
    "logits", [(-95, -90), (-90, -95), (-200, -90), (-1000, -1000), (-90, 3), (90, 95), (-39, -41)]
)
def test_closed_gates_share_as_single_steps_do(logits):
    """In float32 both sigmoids are zero below -104, and too coarse to compare below -87."""
    raw = torch.tensor([[*logits, 1.0]] * 3)[None]
    found, exact = raw.clone().requires_grad_(), raw.double().requires_grad_()
    whole, start = blend(found, torch.zeros(1, 1)), torch.zeros(1, 1, dtype=torch.float64)
    h, steps = start, []
    for step in range(3):
        h = blend_step(exact[:, step], h, False)
        steps.append(h)
    expected = torch.stack(steps, dim=1)
    torch.testing.assert_close(whole, expected.float())
    gradients = [torch.autograd.grad(y.sum(), x)[0].float() for y, x in ((whole, found), (expected, exact))]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("time", [1, 2, 7, 10])
def test_a_selective_scan_equals_its_recurrence(solver, time):
    def expected(step, x, a, b, c, start):
        h, found = start, []
        for t in range(x.shape[1]):
            h = torch.exp(step[:, t, :, None] * a) * h + (step * x)[:, t, :, None] * b[:, t, None]
            found.append((h * c[:, t, None]).sum(-1))
        return torch.stack(found, dim=1), h

    inputs = (
        randn(2, time, 4).exp(), randn(2, time, 4, seed=1), -randn(4, 3).exp(), randn(2, time, 3),
        randn(2, time, 3, seed=1), randn(2, 4, 3),
    )  # fmt: skip
    same_with_gradients(selective, expected, inputs)


def test_gradients_equal_finite_differences(solver):
    inputs = [value.requires_grad_() for value in (randn(2, 5, 4), randn(2, 5, 4, seed=1), randn(2, 4))]
    assert gradcheck(scan, inputs)


def kept_for_backward(run):
    """The storages that autograd keeps between forward and backward, in numbers each."""
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return kept


def test_mingru_keeps_three_numbers_a_step_and_channel():
    B, T, D = 3, 50, 8
    block, x = MinGRU(D, None), torch.randn(B, T, D, requires_grad=True)
    kept = kept_for_backward(lambda: block(Seq(x)))
    weights = sum(parameter.numel() for parameter in block.parameters())
    mine = sum(size for pointer, size in kept.items() if pointer != x.untyped_storage().data_ptr())
    assert mine <= 3 * B * T * D + weights + B * D


@pytest.mark.parametrize("block_size", [1, 2**18])
def test_a_selective_scan_keeps_no_state_for_every_step(block_size, monkeypatch):
    monkeypatch.setitem(BLOCK, "cpu", block_size)
    B, T, D, N = 2, 400, 16, 16
    block = Selective(D, expansion=1, states=N)
    kept = kept_for_backward(lambda: block(Seq(torch.randn(B, T, D, requires_grad=True))))
    assert max(kept.values()) < B * T * D * N / 4
    assert sum(kept.values()) < B * T * D * N
