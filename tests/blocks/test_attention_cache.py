"""The cache of attention: step by step is the whole, continuations do not disturb each other, nothing is copied."""

import pytest
import torch

from composer.core import registry
from composer.core.block import Signature
from composer.core.signals import Seq
from tests.support.attention import DIM, LENGTHS, build, sequence


def streamed(block, x, cuts, context):
    with context():
        state, pieces = block.start(x.batch), []
        for start, stop in zip([0, *cuts], [*cuts, x.time], strict=True):
            y, state = block(x.steps(start, stop), state)
            pieces.append(y.values)
        return torch.cat(pieces, dim=1), state


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("position", [None, "rotary", "alibi", "relative"])
@pytest.mark.parametrize("name", ["attention", "sliding_window", "sparse", "simple_attention", "additive_attention"])
def test_without_gradients_step_by_step_is_the_whole(name, position, lengths, context):
    slots = Signature.of(registry.blocks("mixer")[name]).slots
    if position is not None and "position" not in slots:
        return
    block = build("mixer", name, **({"position": position} if slots else {}))
    x = sequence() if lengths else Seq(torch.randn(2, 150, DIM).double())
    cuts = [3, 4, *range(5, x.time)]
    found, _ = streamed(block, x, cuts, context)
    expected = block(x)[0].values
    real = slice(None) if x.mask is None else x.mask
    torch.testing.assert_close(found[real], expected[real], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("name", ["attention", "simple_attention", "sliding_window", "linear_attention", "retention"])
def test_two_continuations_of_one_state_do_not_see_each_other(name, context):
    block = build("mixer", name)
    prompt, left, right, last = (sequence([5, 5], seed=seed).steps(0, 1 + 4 * (seed == 0)) for seed in range(4))
    prompt, left, right, last = (Seq(part.values.detach()) for part in (prompt, left, right, last))
    with context():
        _, state = block(prompt, block.start(2))
        _, state = block(last, state)  # now there is room behind the cache
        _, ours = block(left, state)
        kept = {key: leaf.clone() for key, leaf in ours.items()}
        _, theirs = block(right, state)
        swapped, _ = block(last, {key: leaf[[1, 0]] for key, leaf in ours.items()})
        after, _ = block(last, ours)
        other, _ = block(last, theirs)
        assert all(torch.equal(kept[key], ours[key]) for key in kept)
        for found, middle in ((after, left), (other, right)):
            whole = Seq(torch.cat([prompt.values, last.values, middle.values, last.values], dim=1))
            torch.testing.assert_close(found.values[:, 0], block(whole)[0].values[:, -1], rtol=1e-9, atol=1e-9)
        rows = Seq(torch.cat([p.values for p in (prompt, last, left)], dim=1)[[1, 0]])
        whole = Seq(torch.cat([rows.values, last.values], dim=1))
        torch.testing.assert_close(swapped.values[:, 0], block(whole)[0].values[:, -1], rtol=1e-9, atol=1e-9)


def test_a_state_begun_in_inference_mode_goes_on_outside_it():
    block, x = build("mixer", "attention"), Seq(torch.randn(1, 6, DIM).double())
    with torch.inference_mode():
        _, state = block(x.steps(0, 4), block.start(1))
        _, state = block(x.steps(4, 5), state)
    with torch.no_grad():
        y, _ = block(x.steps(5, 6), state)
    torch.testing.assert_close(y.values[:, 0], block(x)[0].values[:, -1])


def test_a_step_does_not_copy_the_cache():
    block, x = build("mixer", "attention"), Seq(torch.randn(1, 300, DIM).double())
    with torch.no_grad():
        _, state = block(x.steps(0, 10), block.start(1))
        places = []
        for step in range(10, 300):
            _, state = block(x.steps(step, step + 1), state)
            places.append(state["steps"].data_ptr())
    assert len(set(places)) <= 4  # as often as the room ran out
