"""Trees of tensors and plain data, compared bit for bit."""

import torch
from torch.utils import _pytree as pytree


def assert_same(found, wanted):
    left, shape = pytree.tree_flatten(found)
    right, other = pytree.tree_flatten(wanted)
    assert shape == other
    for one, two in zip(left, right, strict=True):
        assert type(one) is type(two)
        if isinstance(one, torch.Tensor):
            assert (one.dtype, one.shape) == (two.dtype, two.shape)
            assert bits(one) == bits(two)
        else:
            assert repr(one) == repr(two)  # NaN is itself


def bits(tensor):
    values = tensor.detach().contiguous().flatten()
    return values.view(torch.uint8).numpy().tobytes() if len(values) else b""
