"""Single steps: a streaming copy computes what its original does, and its watchers see the original."""

import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from composer import Ids, Pointwise, Recurrence, Seq, State, cached_for_generation
from composer.core.block import Recipe
from composer.core.recording import watch
from composer.core.registry import blocks
from composer.core.signals import Field
from composer.core.streaming.block_steps import pointwise_step, state_step
from composer.core.streaming.streaming_copy import SMALL, StreamingCopy, by_columns, original, streaming_copy
from composer.decoding import greedy
from composer.graph.compiler import compile_graph
from composer.training.memory import recompute_sublayers

FIELDS = {"target": Field("ids", vocabulary=11, start=0)}


def decoder(mixer="gru", **more):
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 8, "from": "target"},
        "decoder": {"kind": "stack", "from": "embedding", "mixer": mixer, "norm": "layer", "ffn": "mlp", **more},
        "output": {"kind": "head", "type": "categorical", "tied": "embedding", "from": "decoder", "predicts": "target"},
    }
    return compile_graph(nodes, FIELDS).materialise(1).eval()


def mixer(name):
    return Recipe("mixer", name, blocks("mixer")[name], {}, "").build(dim=8, causal=True).eval()


class Doubled(Pointwise):
    """Counts how often its constant is computed."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.inner = nn.Linear(4, 4)
        self.register_buffer("shift", torch.zeros(4))
        self.computed = []

    def map(self, values: Tensor) -> Tensor:
        return self.inner(values) * self.doubled + self.shift

    @cached_for_generation
    def doubled(self) -> Tensor:
        self.computed.append(1)
        return 2 * self.weight


# The copy -------------------------------------------------------------------------------------------------------------


def test_a_copy_has_the_tensors_of_its_original_as_ordinary_attributes():
    module = Doubled()
    copy = streaming_copy(module)
    assert copy is not module
    assert isinstance(copy, Doubled)
    assert vars(copy)["weight"] is module.weight
    assert vars(copy)["shift"] is module.shift
    assert copy.inner.weight is module.inner.weight
    assert list(copy.parameters()) == list(module.parameters())
    assert original(copy) is module
    assert original(module) is module


def test_only_small_matrices_are_stored_by_columns():
    small, large = torch.randn(4, 5), torch.empty(2, SMALL)
    assert torch.equal(by_columns(small), small)
    assert by_columns(small).stride() == (1, 4)
    assert by_columns(large) is large
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert by_columns(small) is small


def test_a_copy_calls_forward_and_nothing_around_it(monkeypatch):
    copy = streaming_copy(Doubled())
    x = torch.randn(2, 4)
    expected = copy.map(x)

    def never(self, *args, **kwargs):
        raise AssertionError("nn.Module.__call__ was used")

    monkeypatch.setattr(nn.Module, "_call_impl", never)
    assert torch.equal(copy.map(x), expected)


def test_one_module_in_two_places_has_one_copy():
    shared = nn.Linear(2, 2)
    copy = streaming_copy(nn.ModuleDict({"one": shared, "other": shared}))
    assert copy["one"] is copy["other"]
    assert isinstance(copy["one"], StreamingCopy)


def test_what_a_copy_sets_does_not_reach_its_original():
    module = Doubled()
    copy = streaming_copy(module)
    copy.shift = torch.ones(4)
    assert copy.shift is vars(copy)["shift"]
    assert torch.equal(module.shift, torch.zeros(4))


def test_properties_and_parametrised_weights_are_those_of_the_original():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    copy, x = streaming_copy(layer), torch.randn(2, 3)
    torch.testing.assert_close(copy(x), layer(x))
    with torch.no_grad():
        layer.parametrizations.weight.original0.mul_(2)
    torch.testing.assert_close(streaming_copy(layer)(x), layer(x))


def test_a_module_with_hooks_is_used_as_it_is():
    module, seen = Doubled(), []
    module.inner.register_forward_hook(lambda *_: seen.append(1))
    copy = streaming_copy(module)
    assert copy.inner is module.inner
    copy.map(torch.randn(2, 4))
    assert seen == [1]


def test_hooks_on_a_block_see_every_step():
    block, seen = mixer("gru"), []
    block.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].values.shape))
    step = state_step(streaming_copy(block))
    step(torch.randn(2, 8), block.start(2))
    assert seen == [(2, 1, 8)]


@pytest.mark.parametrize("cell", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_torch_recurrence_runs_in_its_copy(cell):
    module, x = cell(3, 3, batch_first=True), torch.randn(2, 4, 3)
    torch.testing.assert_close(streaming_copy(module)(x)[0], module(x)[0])


# Constants ------------------------------------------------------------------------------------------------------------


def test_a_constant_is_computed_once_in_a_copy_and_each_time_in_a_module():
    module, x = Doubled(), torch.randn(2, 4)
    module(Seq(x[:, None])), module(Seq(x[:, None]))
    assert len(module.computed) == 2
    with torch.no_grad():
        module.weight.fill_(3)
    assert torch.equal(module.doubled, torch.full((4,), 6.0))
    module.computed.clear()
    step = pointwise_step(streaming_copy(module))
    step(x), step(x)
    assert len(module.computed) == 1


@pytest.mark.parametrize("name", ["s4d", "rg_lru", "retention", "selective", "gru"])
def test_a_step_computes_no_function_of_the_weights_alone_twice(name):
    """Behind the first step, every operation reads something that changes, or a weight as it is."""
    block = mixer(name)
    assert operations_on_weights_alone(block, streaming_copy(block).advance) == []
    if name != "gru":  # whose weights are read as they are
        assert operations_on_weights_alone(block, block.advance)


def operations_on_weights_alone(block, step):
    x, state = torch.randn(2, 8), block.start(2)
    with torch.no_grad():
        _, state = step(x, state)
        with Followed({id(leaf) for leaf in [x, *pytree.tree_leaves(state)]}) as found:
            step(x, state)
    return found.still


class Followed(torch.utils._python_dispatch.TorchDispatchMode):
    """Collects the operations, views aside, none of whose inputs depends on a moving tensor."""

    def __init__(self, moving):
        super().__init__()
        self.moving, self.kept, self.still = moving, [], []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        tensors = [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, Tensor)]
        results = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]
        self.kept += results  # so that no id is used twice
        if any(id(tensor) in self.moving for tensor in tensors):
            self.moving |= {id(tensor) for tensor in results}
        elif not operation.is_view:
            self.still.append(str(operation))
        return result


# Generation -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["s4d", "gru", "retention", "attention"])
def test_a_generation_uses_the_weights_it_begins_with(name):
    graph = decoder(name)
    before = greedy(graph, {}, "output", 12).values
    with torch.no_grad():
        for parameter in graph.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)))
    after = greedy(graph, {}, "output", 12).values
    assert not torch.equal(before, after)
    again, _ = graph({"target": graph_input(after)})
    assert torch.equal(again["output"].values.argmax(-1), after)


def graph_input(tokens):
    return Ids(torch.cat([torch.zeros_like(tokens[:, :1]), tokens[:, :-1]], dim=1))


def test_who_watches_a_generation_sees_the_modules_of_the_graph():
    graph = decoder("attention")
    block = graph.nodes["decoder"].layers[0]["mixer"].call.block
    with watch() as seen:
        greedy(graph, {}, "output", 3)
    assert [tensor.shape[-1] for tensor in seen[block]] == [1, 2, 3]
    assert all(not isinstance(module, StreamingCopy) for module in seen)


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm", "mingru", "minlstm", "rg_lru", "s4d", "selective"])
def test_under_autocast_a_step_keeps_its_state_in_float32(name):
    block, x = mixer(name), torch.randn(2, 8)
    expected, _ = state_step(streaming_copy(block))(x, block.start(2))
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        y, state = state_step(streaming_copy(block))(x.bfloat16(), block.start(2))
    assert all(leaf.dtype == torch.float32 for leaf in pytree.tree_leaves(state))
    torch.testing.assert_close(y.float(), expected, atol=0.05, rtol=0.05)


def test_in_training_a_step_is_a_chunk_with_dropout():
    graph = decoder("gru", dropout=0.5).train()
    step, state = graph.stepper("output"), graph.start({}, 1, "output")
    tokens = {"target": torch.tensor([1])}
    outputs = [step(tokens, state)[0]["output"] for _ in range(8)]
    assert any(not torch.equal(outputs[0], other) for other in outputs[1:])


# The bases ------------------------------------------------------------------------------------------------------------


class Sum(Recurrence):
    causal = True

    def start(self, batch: int) -> State:
        return {"total": torch.zeros(batch, 2)}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        total = state["total"] + x
        return total, {"total": total}


def test_a_recurrence_keeps_the_state_of_each_rows_last_real_step():
    x = torch.arange(12.0).view(2, 3, 2)
    y, state = Sum()(Seq(x, torch.tensor([3, 1])), Sum().start(2))
    torch.testing.assert_close(y.values[0], x[0].cumsum(0))
    torch.testing.assert_close(state["total"], torch.stack([x[0].sum(0), x[1, 0]]))
    assert Sum()(Seq(x))[1] is None


def test_recomputed_sublayers_decode_as_quickly_as_others():
    """Activation checkpointing wraps ``forward``, which a generation does not need."""
    graph = decoder("gru")
    expected = greedy(graph, {}, "output", 12).values
    recompute_sublayers(graph)
    copies = streaming_copy(graph.nodes["decoder"]).layers[0].values()
    assert all(isinstance(sublayer, StreamingCopy) for sublayer in copies)
    assert torch.equal(greedy(graph, {}, "output", 12).values, expected)
