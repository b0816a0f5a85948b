"""What is built can learn: the law of signals over the registry, the templates and 24 layers of every mixer."""

import json
import math

import pytest
import torch
from hypothesis import given, settings

from composer.cli.main import main
from composer.config.composition import compose
from composer.core import registry
from composer.core.block import Signature
from composer.core.recording import show_terms, watch_sums
from composer.core.signals import Field, Seq
from composer.graph.compiler import compile_graph
from composer.graph.signal_flow import measure, problems
from composer.testing import LAWS
from composer.testing.defaults import DIM, default_knobs
from tests.support import processes
from tests.support.graphs import graphs
from tests.support.paths import ROOT
from tests.support.registered import FAMILIES, INNER, with_defaults

IDS = Field("ids", vocabulary=50, start=0, stop=1)


def held(graph):
    found = problems(measure(graph))
    assert not found, "\n".join(problem.message for problem in found)


@pytest.mark.parametrize(("kind", "name"), [family for family in FAMILIES if family not in INNER])
def test_a_block_with_its_defaults_holds_the_law(kind, name):
    LAWS["signals"](with_defaults(kind, name))


FIELDS = {
    "seq2seq": {"source": Field("ids", vocabulary=40), "target": IDS},
    "seq2vec": {"source": Field("ids", vocabulary=40), "target": Field("label", vocabulary=5)},
    "tagger": {"source": Field("ids", vocabulary=40), "target": Field("ids", vocabulary=9, axis="source")},
    "vec2seq": {"source": Field("vec", dim=16), "target": IDS},
    "language_model": {"target": IDS},
    "bidirectional_lm": {"target": IDS, "backward": IDS},
    "pair_classifier": {
        "premise": Field("ids", vocabulary=40), "hypothesis": Field("ids", vocabulary=40),
        "label": Field("label", vocabulary=3),
    },
    "autoencoder": {
        "source": Field("ids", vocabulary=40), "places": Field("ids", vocabulary=32),
        "target": Field("ids", vocabulary=40, axis="places"),
    },
    "captioner": {"picture": Field("image", channels=3, height=16, width=16), "caption": IDS},
    "tagger_classifier": {
        "words": Field("ids", vocabulary=40), "tags": Field("ids", vocabulary=9, axis="words"),
        "intent": Field("label", vocabulary=5),
    },
    "sequence_regressor": {
        "history": Field("seq", dim=1), "features": Field("vec", dim=4), "value": Field("vec", dim=1),
    },
    "skip_gram": {"source": Field("ids", vocabulary=40), "target": Field("ids", vocabulary=40, axis="source")},
    "cbow": {"source": Field("ids", vocabulary=40), "target": Field("label", vocabulary=40)},
    "forecaster": {"source": Field("seq", dim=3, steps=32), "target": Field("seq", dim=3, steps=12)},
}  # fmt: skip


def test_every_template_is_put_to_the_law():
    assert set(FIELDS) == {path.stem for path in (ROOT / "conf/model").glob("*.yaml")}


def template(name, *overrides):
    return compile_graph(compose([f"model={name}", *overrides]).values["model"]["nodes"], FIELDS[name]).materialise(1)


#: Every template with the default mixer, and other kinds of mixer where their outputs enter the graph differently: as
#: the memory of cross-attention, in a pool, in a decoder alone. Every mixer by itself is measured 24 layers deep below.
OTHERS = [("seq2seq", "lstm"), ("seq2vec", "mingru"), ("language_model", "lstm"), ("forecaster", "mingru")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mixer"), [*((name, None) for name in sorted(FIELDS)), *OTHERS])
def test_a_template_holds_the_law(name, mixer):
    held(template(name, *([] if mixer is None else [f"mixer={mixer}"])))


@pytest.mark.slow
@pytest.mark.parametrize("position", sorted(registry.blocks("position")))
def test_every_position_holds_the_law_beside_attention(position):
    held(template("language_model", f"position={position}"))


@pytest.mark.slow
@pytest.mark.parametrize("bridge", sorted(registry.blocks("bridge")))
def test_every_bridge_holds_the_law(bridge):
    enters = getattr(registry.blocks("bridge")[bridge], "enters", "input")
    more = ["mixer=gru"] if enters == "initial" else ["+cross@model.nodes.decoder.cross=cross_attention"]
    held(template("vec2seq", f"bridge={bridge}", *(more if enters in ("initial", "memory") else [])))


@pytest.mark.slow
@pytest.mark.parametrize("mixer", sorted(registry.blocks("mixer")))
def test_24_layers_of_a_mixer_hold_the_law(mixer):
    config = {"type": mixer, **default_knobs(registry.blocks("mixer")[mixer])}
    signature, causal = Signature.of(registry.blocks("mixer")[mixer]), True
    if getattr(registry.blocks("mixer")[mixer], "causal", True) is False:
        causal = False
    target = IDS if causal else Field("ids", vocabulary=50, axis="source")
    token = {"kind": "embedding", "type": "token", "dim": DIM}
    edges = {"x": "embedding"}
    nodes = {"embedding": {**token, "from": "target" if causal else "source"}}
    if "memory" in signature.ports and not signature.ports["memory"].optional:
        nodes["memory"] = {**token, "from": "source"}
        edges["memory"] = "memory"
    layers = {"mixer": config, "norm": {"type": "layer"}, "depth": 24, "causal": causal}
    nodes["deep"] = {"kind": "stack", "from": edges, **layers}
    nodes["output"] = {"kind": "head", "type": "categorical", "from": "deep", "predicts": "target"}
    fields = {"source": Field("ids", vocabulary=50), "target": target}
    held(compile_graph(nodes, fields).materialise(1))


def regression(nodes, head="gaussian"):
    fields = {"source": Field("seq", dim=DIM), "vector": Field("vec", dim=DIM)}
    fields["target"] = Field("seq", dim=3, axis="source")
    last = list(nodes)[-1]
    nodes = {**nodes, "output": {"kind": "head", "type": head, "from": last, "predicts": "target"}}
    return compile_graph(nodes, fields)


def test_sizes_are_those_of_the_formulas():
    """Of W x + b for unit x, of the sum of two of them, and of the gradient W^T g."""
    plain = {"kind": "embedding", "type": "continuous", "dim_out": 256, "from": "source"}
    nodes = {"a": plain, "b": plain, "sum": {"kind": "merge", "type": "add", "from": ["a", "b"]}}
    graph = regression(nodes).materialise(1)
    found = measure(graph)
    sizes = {size.node: size for size in found.sizes}
    for name in ("a", "b"):
        linear = graph.nodes[name].project
        expected = (linear.weight.square().sum() + linear.bias.square().sum()) / 256
        assert sizes[name].rms == pytest.approx(expected.sqrt().item(), rel=0.05)
    terms = found.sums[0].terms
    assert [term.node for term in terms] == ["a", "b"]
    assert [term.rms for term in terms] == pytest.approx([sizes["a"].rms, sizes["b"].rms])
    assert sizes["sum"].rms == pytest.approx(math.hypot(sizes["a"].rms, sizes["b"].rms), rel=0.1)
    head = graph.nodes["output"].project.weight
    assert sizes["sum"].gradient == pytest.approx(sizes["output"].gradient * head.norm().item() / 16, rel=0.2)
    assert sizes["a"].gradient == pytest.approx(sizes["sum"].gradient)


def test_influence_is_the_share_of_the_variance():
    """Of y = x + s v for unit x and v: 1 / sqrt(1 + s^2) for x, s / sqrt(1 + s^2) for v."""
    bridge = {"kind": "bridge", "type": "add", "from": {"x": "source", "vector": "vector"}}
    graph = regression({"joined": bridge}).materialise(1)
    scale = 0.25
    with torch.no_grad():
        graph.nodes["joined"].project.weight.copy_(scale * torch.eye(DIM))
        graph.nodes["joined"].project.bias.zero_()
    found = {(i.field, i.order): i.reads for i in measure(graph).influences}
    assert found["source", False] == pytest.approx(1 / math.hypot(1, scale), rel=0.05)
    assert found["vector", False] == pytest.approx(scale / math.hypot(1, scale), rel=0.1)
    assert found["source", True] == pytest.approx(0, abs=1e-6), "each step by itself: its place does not matter"


@pytest.mark.slow
def test_what_begins_at_zero_can_learn_and_holds_the_law():
    """A head and a residual branch of zeros, as many recipes have them."""
    graph = template("seq2seq")
    at_zero = ["output.project.weight", "decoder.layers.0.cross.call.block.output.weight"]
    with torch.no_grad():
        for name in at_zero:
            graph.nodes.get_parameter(name).zero_()
    found = measure(graph)
    assert set(found.started_at_zero) == set(at_zero)
    drowned = [problem for problem in problems(found) if "moves" in problem.message or "gradient" in problem.message]
    assert not drowned
    assert not graph.nodes["output"].project.weight.any(), "the graph itself stays as it is"


@pytest.mark.slow
def test_measuring_draws_nothing_from_the_global_generator():
    graph = template("seq2seq")
    before = torch.get_rng_state()
    first, second = measure(graph), measure(graph)
    assert torch.equal(torch.get_rng_state(), before)
    assert (first.sizes, first.sums, first.influences) == (second.sizes, second.sums, second.influences)


@pytest.mark.slow
@settings(max_examples=15)
@given(graph=graphs())
def test_every_graph_that_compiles_can_be_measured(graph):
    found = measure(compile_graph(*graph).materialise(1))
    assert {size.node for size in found.sizes} == {node.name for node in found.nodes}
    assert all(math.isfinite(size.rms) and math.isfinite(size.gradient) for size in found.sizes)
    assert all(0 <= influence.reads < math.inf for influence in found.influences)


def test_terms_are_not_made_unless_somebody_watches():
    module, made = torch.nn.Identity(), []

    def make():
        made.append(1)
        return {"x": Seq(torch.ones(1, 1, 1))}

    show_terms(module, make)
    assert not made
    with watch_sums() as seen:
        show_terms(module, make, x="small is right here")
    assert made == [1]
    assert seen[module][0].small == {"x": "small is right here"}


SMALL = ["model.dim=16", "data.locales=[en]", "position=none"]


@pytest.mark.slow
def test_describe_gives_the_same_figures_to_people_and_programs(capsys):
    assert main(["describe", "--signals", *SMALL]) == 0
    shown = capsys.readouterr().out
    assert main(["describe", "--signals", "--json", *SMALL]) == 0
    found = json.loads(capsys.readouterr().out)
    sizes = {size["node"]: size for size in found["sizes"] if not size["slot"]}
    assert list(sizes) == ["source_embedding", "encoder", "target_embedding", "decoder", "output"]
    line = next(line for line in shown.splitlines() if line.startswith("encoder"))
    assert line.split()[1:3] == [f"{sizes['encoder'][key]:.2g}" for key in ("rms", "gradient")]
    assert "  layer 2, ffn" in shown
    assert {i["field"] for i in found["influences"]} == {"source", "target"}


LOUD = """
from torch import nn
from composer.core.registry import register
from composer.core.signals import Seq

@register("mixer", "loud")
class Loud(nn.Module):
    def forward(self, x: Seq) -> Seq:
        return x.like(100 * x.values)
    def __init__(self) -> None:
        super().__init__()
"""


@pytest.mark.slow
def test_check_describe_and_train_warn_at_the_place(tmp_path, capsys, monkeypatch):
    for law in [law for law in LAWS if law != "signals"]:
        monkeypatch.setitem(LAWS, law, lambda subject: None)  # the others take a while; their order stays
    plugin = tmp_path / "loud.py"
    plugin.write_text(LOUD)
    overrides = [*SMALL, f"plugins=[{plugin}]", "model.nodes.encoder.mixer=loud"]
    try:
        for command in (["describe", "--signals"], ["check"]):
            code = main([*command, *overrides])
            shown = " ".join(capsys.readouterr().out.split())
            assert code == (1 if command == ["check"] else 0)
            assert "times smaller than the branch added to it (in 'encoder', layer 1, mixer" in shown
            assert "conf/model/seq2seq.yaml:" in shown
    finally:
        registry.forget("mixer", "loud")
    run = ["training.steps=1", "training.validate_every=null", "training.figures=false", f"runs={tmp_path}", "name=one"]
    done = processes.program([ROOT / "train.py", "--signals", *overrides, *run, "training.validate_rows=4"], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "times smaller than the branch" in " ".join(done.stdout.split())
    assert (tmp_path / "one" / "checkpoints" / "last.safetensors").is_file(), "it goes on training"


@pytest.mark.slow
def test_a_sweep_refuses_the_measurement_in_a_sentence():
    done = processes.program([ROOT / "train.py", "-m", "--signals", "mixer=lstm,gru"], cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.startswith("--signals measures one model")
