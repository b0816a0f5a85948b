"""Where few steps count, heads compute these steps alone: the losses and gradients are those of all steps."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning import Callback

from composer.config.composition import compose
from composer.core.signals import Contents, Field, Ids
from composer.graph import counted_steps
from composer.graph.compiler import compile_graph
from composer.graph.counted_steps import CountedSteps, stepwise_heads
from composer.objectives import Batch
from composer.training.losses import loss_sums
from composer.training.micro_batches import StepBatches
from composer.training.module import TrainingModule
from composer.training.run.plan import prepare
from composer.training.run.train import materialise, take_steps

IDS = Field("ids", vocabulary=7, contents=Contents(text=True))
FIELDS = {
    "source": IDS,
    "target": Field("ids", vocabulary=7, axis="source"),
    "tags": Field("ids", vocabulary=3, axis="source"),
}
EMBEDDING = {"kind": "embedding", "type": "token", "dim": 4, "from": "source"}
ENCODER = {"kind": "stack", "from": "embedding", "mixer": "gru", "causal": False, "depth": 1}
OUTPUT = {"kind": "head", "type": "categorical", "from": "encoder", "predicts": "target", "tied": "embedding"}
TAGS = {"kind": "head", "type": "categorical", "from": "encoder", "predicts": "tags", "label_smoothing": 0.1}
NODES = {"embedding": EMBEDDING, "encoder": ENCODER, "output": OUTPUT, "tagging": TAGS}


def heads_of(nodes, fields=FIELDS):
    graph = compile_graph(nodes, fields)
    return stepwise_heads(graph.plan, graph.nodes)


def gradients(graph, loss):
    found = torch.autograd.grad(loss, list(graph.parameters()), allow_unused=True)
    return [
        torch.zeros_like(weight) if gradient is None else gradient
        for weight, gradient in zip(graph.parameters(), found, strict=True)
    ]


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    seed=st.integers(0, 9),
    share=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
)
def test_losses_and_gradients_at_counted_steps_are_those_of_all_steps(lengths, seed, share):
    graph = compile_graph(NODES, FIELDS).materialise(seed).double()
    torch.manual_seed(seed)
    shape, lengths = (len(lengths), max(lengths)), torch.tensor(lengths)
    drawn = {name: Ids(torch.randint(field.vocabulary, shape), lengths) for name, field in FIELDS.items()}
    real = torch.arange(shape[1]) < lengths[:, None]
    weight = torch.rand(shape, dtype=torch.float64) * (torch.rand(shape) < share) * real
    batch = Batch(drawn, {"target": weight})
    whole = loss_sums(graph, graph(graph.read(drawn))[0], batch)
    counted = {"output": CountedSteps(*weight.nonzero(as_tuple=True))}
    outputs, _ = graph(graph.read(drawn), counted=counted)
    assert outputs["output"].values.shape == (1, int(weight.count_nonzero()), 7)
    assert outputs["tagging"].values.shape == (*shape, 3)
    few = loss_sums(graph, outputs, batch, counted)
    torch.testing.assert_close(few, whole)
    torch.testing.assert_close(gradients(graph, few.sum()), gradients(graph, whole.sum()))


def test_only_heads_that_read_one_sequence_and_that_nothing_reads_leave_steps_out():
    assert heads_of(NODES) == {"output": "target", "tagging": "tags"}
    again = {"kind": "stack", "from": "output", "mixer": "gru", "depth": 1}
    read = NODES | {"again": again, "last": TAGS | {"from": "again"}}
    assert heads_of(read) == {"tagging": "tags", "last": "tags"}
    other = {"kind": "head", "type": "ctc", "from": "encoder", "predicts": "tags"}
    assert heads_of(NODES | {"tagging": other}) == {"output": "target"}
    pooled = {"pool": {"kind": "pool", "type": "mean", "from": "encoder"}, "output": OUTPUT | {"from": "pool"}}
    label = FIELDS | {"target": Field("label", vocabulary=7)}
    assert heads_of({"embedding": EMBEDDING, "encoder": ENCODER, **pooled}, label) == {}


def test_steps_are_left_out_where_at_most_half_of_them_count():
    weight = torch.tensor([[0.0, 0.5, 0.0, 2.0], [0.0, 1.0, 1.0, 0.0]])
    rows, steps = CountedSteps.of(weight)
    assert list(zip(rows.tolist(), steps.tolist(), strict=True)) == [(0, 1), (0, 3), (1, 1), (1, 2)]
    assert CountedSteps.of(weight + torch.eye(2, 4)) is None
    assert CountedSteps.of(torch.zeros(3)) is None, "weights of rows"


class Losses(Callback):
    """The logged losses, and the last weights."""

    def __init__(self):
        self.found = []

    def on_train_batch_end(self, trainer, module, *_):
        self.found.append(module.report["loss"])

    def on_train_end(self, trainer, module):
        self.weights = {name: weight.clone() for name, weight in module.graph.state_dict().items()}


def trained(*overrides):
    small = ["model=tagger", "objective=masked_token", "data=copy", "data.train_size=40", "data.valid_size=8",
             "data.length=9", "model.dim=8", "mixer.heads=2", "model.nodes.encoder.depth=1", "training.batch=8",
             "training.steps=3", "training.log_every=1", "training.validate_every=null", "logger=none"]  # fmt: skip
    losses, plan = Losses(), prepare(compose([*small, *overrides]))
    take_steps(plan, TrainingModule(plan, materialise(plan), steps=3), [losses])
    return losses


@pytest.mark.slow
def test_a_run_that_leaves_steps_out_reaches_the_weights_of_one_that_does_not(monkeypatch):
    sizes = []
    taken = StepBatches.__iter__

    def counting(self):
        for batch in taken(self):
            sizes.extend(len(part.counted) for part in batch.micro_batches)
            yield batch

    monkeypatch.setattr(StepBatches, "__iter__", counting)
    few, parts = trained(), trained("training.accumulate=2")
    assert all(sizes)
    sizes.clear()
    monkeypatch.setattr(counted_steps, "MOST", -1.0)
    whole = trained()
    assert not any(sizes)
    for run in (few, parts):
        assert run.found == pytest.approx(whole.found, rel=1e-5)
        for name, weight in whole.weights.items():
            torch.testing.assert_close(run.weights[name], weight, atol=1e-5, rtol=0, msg=name)
