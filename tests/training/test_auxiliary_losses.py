"""A block's own loss: the load of a mixture's experts, in training and nowhere else."""

import pytest
import torch
from composer.catalogue.ffn.mixture_of_experts import MixtureOfExperts, uneven_load

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core.recording import collect_losses
from composer.core.signals import Seq
from composer.runs import checkpoint
from composer.runs.folder import read_lines
from composer.training.memory import recompute_sublayers
from tests.support import processes

EXPERTS = [
    "data=copy", "data.train_size=200", "data.valid_size=30", "data.length=12", "model.dim=16", "mixer.heads=2",
    "ffn=mixture_of_experts", "ffn.active=1", "ffn.expansion=1", "training.figures=false", "training.batch=16",
]  # fmt: skip


def test_the_loss_of_an_uneven_load_is_that_of_the_formula():
    generator = torch.Generator().manual_seed(0)
    routes = torch.randn(3, 6, 4, generator=generator)
    lengths = torch.tensor([6, 4, 1])
    chosen = routes.topk(2).indices.masked_fill(torch.arange(6)[:, None] >= lengths[:, None, None], -1)
    for row, length in enumerate(lengths.tolist()):
        wanted = 0.0
        for expert in range(4):
            times = sum(expert in chosen[row, step].tolist() for step in range(length))
            likely = sum(float(routes[row, step].softmax(-1)[expert]) for step in range(length)) / length
            wanted += 4 * times / (2 * length) * likely
        assert float(uneven_load(routes, chosen)[row]) == pytest.approx(wanted, rel=1e-5)


def test_an_even_load_costs_one_and_a_single_expert_as_many_as_there_are():
    even = torch.eye(4)[None] * 50
    assert float(uneven_load(even, even.topk(1).indices)) == pytest.approx(1)
    single = torch.eye(4)[None, :1].expand(1, 5, 4) * 50
    assert float(uneven_load(single, single.topk(1).indices)) == pytest.approx(4)


def test_only_training_has_it_and_only_with_a_weight():
    x = Seq(torch.randn(2, 5, 8))
    for balance, training, count in ((0.01, True, 1), (0.0, True, 0), (0.01, False, 0)):
        block = MixtureOfExperts(8, balance=balance).train(training)
        with collect_losses() as found:
            block(x)
        assert len(found) == count
    block.train()(x)
    assert found == [], "nobody collects"


def gradients(graph, signals):
    graph.zero_grad()
    with collect_losses() as own:
        outputs, _ = graph(graph.read(signals))
    assert len(own) == 4, "two stacks of two layers"
    total = graph.losses(outputs, signals)["output"].sum() + sum(one.value.sum() for one in own)
    total.backward()
    return {name: p.grad.clone() for name, p in graph.named_parameters() if p.grad is not None}


@pytest.mark.slow
def test_recomputation_gives_the_same_gradients():
    graph, objective = compile_config(compose(EXPERTS))
    graph = graph.materialise()
    signals = objective.batch("train", range(6)).signals
    plain = gradients(graph, signals)
    recompute_sublayers(graph)
    again = gradients(graph, signals)
    assert plain.keys() == again.keys()
    for name, gradient in plain.items():
        torch.testing.assert_close(again[name], gradient, msg=lambda text, name=name: name + text)


def shares(run):
    """How often each expert of every layer is chosen on the validation split, (layers, experts)."""
    graph, objective = checkpoint.rebuild(checkpoint.load(run / "checkpoints" / "last.safetensors"))
    found = []

    def count(module, inputs, _):
        x = inputs[0]
        chosen = module.route(x.filled()).argmax(-1)
        chosen = chosen if x.mask is None else chosen[x.mask]
        found.append(torch.bincount(chosen.flatten(), minlength=4) / chosen.numel())

    for module in graph.modules():
        if isinstance(module, MixtureOfExperts):
            module.register_forward_hook(count)
    with torch.no_grad():
        graph(graph.read(objective.batch("valid", range(30)).signals))
    return torch.stack(found)


@pytest.mark.slow
def test_a_model_trained_with_it_uses_its_experts_more_evenly(tmp_path):
    uneven, logged = {}, {}
    for name, balance in (("without", 0.0), ("with", 0.1)):
        overrides = [*EXPERTS, f"ffn.balance={balance}", "training.steps=60", f"runs={tmp_path}", f"name={name}"]
        assert processes.run(processes.train, overrides).code == 0
        uneven[name] = float((shares(tmp_path / name) - 0.25).abs().mean())
        logged[name] = [row.get("encoder/balance") for row in read_lines(tmp_path / name / "metrics.jsonl")]
    assert uneven["with"] < 0.5 * uneven["without"], uneven
    assert not any(logged["without"])
    values = [value for value in logged["with"] if value is not None]
    assert 1 < values[-1] < values[0] < 4
