"""What is written into a checkpoint is read from it bit for bit: any tree of tensors and plain data."""

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.runs import checkpoint_file
from tests.support.trees import assert_same, bits

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128, torch.uint8,
    torch.int8, torch.int16, torch.int32, torch.int64, torch.bool,
]  # fmt: skip


@st.composite
def tensors(draw):
    """Of any type, empty ones and numbers among them, in any order in memory, and parts of other tensors."""
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(st.lists(st.integers(0, 3), max_size=4))
    count, generator = math.prod(shape), torch.Generator().manual_seed(draw(st.integers(0, 100)))
    size = count * dtype.itemsize
    raw = torch.randint(0, 2 if dtype == torch.bool else 256, (size,), generator=generator, dtype=torch.uint8)
    tensor = raw.view(dtype).reshape(shape) if size else torch.empty(shape, dtype=dtype)
    if shape and draw(st.booleans()):
        tensor = tensor.permute(*draw(st.permutations(range(len(shape)))))
    if shape and draw(st.booleans()):
        tensor = tensor[..., ::2]
    return tensor


NAMES = st.text(max_size=4) | st.sampled_from(
    ["content", "$tensor", "$items", "/", "a/b", "a", "\ud800", "__metadata__"]
)
LEAVES = st.one_of(
    tensors(), st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
    st.sampled_from(["$tensor", {}]),
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(NAMES, inner, max_size=3),
        st.dictionaries(st.integers() | NAMES | st.booleans(), inner, max_size=3),
    ),
    max_leaves=12,
)


def through(tree, folder):
    checkpoint_file.write(folder / "tree.safetensors", tree)
    return checkpoint_file.read(folder / "tree.safetensors")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trees")


@given(tree=st.dictionaries(NAMES, TREES, max_size=4))
def test_any_tree_comes_back_bit_for_bit(folder, tree):
    assert_same(through(tree, folder), tree)


@given(tensor=tensors())
def test_a_tensor_comes_back_in_its_order_in_memory(folder, tensor):
    found = through({"a": tensor}, folder)["a"]
    dense = tensor.permute(sorted(range(tensor.dim()), key=lambda axis: -tensor.stride(axis))).is_contiguous()
    if dense and tensor.numel() > 1:
        assert [s for s, n in zip(found.stride(), found.shape, strict=True) if n > 1] == [
            s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1
        ]


def test_tied_weights_are_one_entry_and_tied_again(folder):
    weight = torch.randn(100, 100)
    found = through({"model": {"in": weight, "out": weight, "row": weight[0], "turned": weight.t()}}, folder)["model"]
    assert found["in"].data_ptr() == found["out"].data_ptr()
    assert bits(found["row"]) == bits(weight[0])
    assert bits(found["turned"]) == bits(weight.t())
    assert (folder / "tree.safetensors").stat().st_size < 2 * weight.nbytes + 10_000


def test_a_text_may_be_longer_than_a_header(folder):
    """The header of a safetensors file holds at most 100 MB; vocabularies are no part of it."""
    through({"source": {"tokens": ["word" * 10] * 50_000}}, folder)
    with (folder / "tree.safetensors").open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        assert length < 1000
        assert json.loads(file.read(length))["__metadata__"]["format"] == "pt"
