"""What is exported computes what the graph computes: whole sequences and step by step, for any batch and length."""

import importlib.util
import json
import re
from functools import cache

import pytest
import torch
from torch import nn

from composer.cli.main import main
from composer.core import registry
from composer.core.capabilities import can_export
from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.signals import KINDS, Field, Ids, Seq, Timed
from composer.decoding import greedy
from composer.graph.compiler import compile_graph
from composer.inference.export import FORMATS, export, load_weights
from composer.runs import checkpoint
from composer.testing.subjects import example
from tests.support import processes
from tests.support.export_graphs import graphs, language_model, seq2seq
from tests.support.paths import ROOT

GRAPHS = graphs()
SIZES = [(1, 1), (4, 11)]  # batch and length, neither of them those that a program is traced with
PAGE = ROOT / "docs" / "export.md"

needs_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="onnx, onnxscript or onnxruntime is not installed: pip install 'sequence-composer[export]'",
)


@pytest.fixture(scope="module", autouse=True)
def one_table_of_operators():
    """The exporter builds its table of operators anew for every program, which takes longer than a small program."""
    if importlib.util.find_spec("onnxscript") is None:
        yield
        return
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(cache(ONNXRegistry.from_torchlib)))
        yield


class OnnxPart:
    """An exported part as onnxruntime runs it."""

    def __init__(self, path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options)

    def __call__(self, tensors):
        names = [output.name for output in self.session.get_outputs()]
        found = self.session.run(names, {name: tensor.numpy() for name, tensor in tensors.items()})
        return {name: torch.from_numpy(array) for name, array in zip(names, found, strict=True)}


def torch_part(path):
    return torch.export.load(path).module()


PARTS = {"onnx": OnnxPart, "torch": torch_part}


def signals(fields, batch, time, seed=0):
    """Random ragged signals in float32, one of the rows full."""
    found = {}
    for index, (name, field) in enumerate(fields.items()):
        generator = torch.Generator().manual_seed(seed + index)
        lengths = [time + index, *torch.randint(1, time + index + 1, (batch - 1,), generator=generator).tolist()]
        signal = example(field, lengths, seed + index)
        values = signal.values.float() if signal.values.is_floating_point() else signal.values
        found[name] = KINDS[field.kind](values, signal.lengths) if field.timed else KINDS[field.kind](values)
    return found


def tensors(given):
    found = {}
    for name, signal in given.items():
        found[name] = signal.values
        if isinstance(signal, Timed):
            found[f"{name}_lengths"] = signal.lengths
    return found


def check_shapes(ends, given, sizes):
    """What the manifest says of tensors is what they are; ``sizes`` are those of the open axes so far."""
    assert {end["name"] for end in ends} == set(given)
    for end in ends:
        tensor = given[end["name"]]
        assert end["dtype"] == str(tensor.dtype).removeprefix("torch.")
        for said, size in zip(end["shape"], tensor.shape, strict=True):
            if isinstance(said, int):
                assert said == size, end
            elif said in sizes or said.isidentifier():
                assert sizes.setdefault(said, size) == size, end


def check_model(graph, folder, manifest, format):
    part, ends = PARTS[format](folder / manifest["parts"]["model"]["file"]), manifest["parts"]["model"]
    for batch, time in SIZES:
        given = signals(graph.plan.inputs, batch, time)
        expected, _ = graph(given)
        found = part(tensors(given))
        sizes = {}
        check_shapes(ends["inputs"], tensors(given), sizes)
        check_shapes(ends["outputs"], found, sizes)
        for name, output in expected.items():
            value = found[name]
            if isinstance(output, Seq):
                lengths = found.get(f"{name}_lengths", output.lengths)
                assert lengths is None if output.lengths is None else torch.equal(lengths, output.lengths)
                value, output = Seq(value, lengths).filled(), Seq(output.filled())
            torch.testing.assert_close(value, output.values, atol=1e-4, rtol=1e-4)


def check_stream(graph, folder, manifest, format):
    start, step = (PARTS[format](folder / manifest["parts"][name]["file"]) for name in ("start", "step"))
    fields = {name: field for name, field in graph.plan.inputs.items() if name not in graph.plan.generated}
    for batch, time in SIZES:
        given = signals(fields, batch, time)
        expected = graph.start(given, batch)
        state = start(tensors(given) or {"rows": torch.zeros(batch, dtype=torch.long)})
        check_shapes(manifest["parts"]["start"]["outputs"], state, {})
        for index in range(5):
            drawn = {name: graph.plan.inputs[name] for name in graph.plan.generated}
            now = {name: type(s)(s.values[:, :1]) for name, s in signals(drawn, batch, 2, seed=10 * index).items()}
            outputs, expected = graph(now, expected)
            found = step(tensors_of_steps(now) | state)
            check_shapes(manifest["parts"]["step"]["outputs"], found, {"batch": batch, "steps": index})
            for name, output in outputs.items():
                torch.testing.assert_close(found[name], output.values, atol=1e-4, rtol=1e-4)
            state = {
                end["name"]: found[end["next"]] if end["next"] else state[end["name"]] for end in manifest["state"]
            }


def tensors_of_steps(now):
    return {name: signal.values for name, signal in now.items()}


def exported(graph, folder, format):
    """The graph with weights, and the manifest of its export."""
    graph = graph.materialise(1).eval().requires_grad_(False)
    written = export(graph, folder, format, {"config": {"seed": 1}})
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in written)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["metadata"] == {"config": {"seed": 1}}
    return graph, manifest


@pytest.mark.slow
@needs_onnx
@pytest.mark.parametrize("name", GRAPHS)
def test_onnx_computes_what_the_graph_computes(name, tmp_path):
    graph, manifest = exported(GRAPHS[name], tmp_path, "onnx")
    check_model(graph, tmp_path, manifest, "onnx")
    assert ("step" in manifest["parts"]) == bool(graph.plan.generated)
    if graph.plan.generated:
        check_stream(graph, tmp_path, manifest, "onnx")


def test_every_block_that_says_it_exports_is_in_a_graph_that_does():
    tested = {type(module) for graph in (*GRAPHS.values(), seq2seq()) for module in graph.modules()}
    said = {b for kind in registry.kinds() for b in registry.blocks(kind).values() if can_export(b, "onnx")}
    assert said <= tested, said - tested
    refusing = {b for kind in registry.kinds() for b in registry.blocks(kind).values() if not can_export(b, "onnx")}
    assert not refusing & tested
    assert not refusing, "a block that cannot export needs a test that it really cannot"


class Stubborn(nn.Module):
    """A block that takes a number out of its tensors: a program would keep that of the example."""

    exports = False

    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Seq) -> Seq:
        return x if x.values.is_meta else x.like(x.values * float(x.values.sum()))


@pytest.fixture
def stubborn():
    register("ffn", "stubborn")(Stubborn)
    yield
    registry.forget("ffn", "stubborn")


@pytest.mark.slow
@pytest.mark.parametrize("format", [f for f in FORMATS if f != "safetensors"])
@pytest.mark.usefixtures("stubborn")
def test_what_cannot_export_says_so_by_name_before_it_starts(format, tmp_path, monkeypatch):
    graph = language_model(["identity"], ffn="stubborn").materialise(1)
    with pytest.raises(UserError, match=f"as {format}: 'stubborn' in node 'decoder' cannot"):
        export(graph, tmp_path / "out", format, {})
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(Stubborn, "exports", True)
    with pytest.raises(Exception, match="data-dependent"):  # it said the truth
        export(graph, tmp_path / "out", format, {})
    assert not (tmp_path / "out").exists()
    assert export(graph, tmp_path / "out", "safetensors", {})


class Fickle(nn.Module):
    """A block that goes another way for long sequences, and does not say so."""

    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Seq) -> Seq:
        return x if x.time < 100 else x.like(2 * x.values)


@pytest.mark.slow
def test_a_program_for_some_lengths_alone_is_refused(tmp_path):
    register("ffn", "fickle")(Fickle)
    try:
        graph = language_model(["identity"], ffn="fickle").materialise(1)
    finally:
        registry.forget("ffn", "fickle")
    with pytest.raises(UserError, match="part 'model' of this graph cannot be exported for any batch and length"):
        export(graph, tmp_path / "out", "torch", {})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["torch", pytest.param("onnx", marks=[needs_onnx, pytest.mark.slow])])
def test_a_graph_that_remembers_nothing_has_no_state_to_start_from(tmp_path, format):
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 4, "from": "target"},
        "output": {"kind": "head", "type": "categorical", "from": "embedding", "predicts": "target"},
    }
    graph = compile_graph(nodes, {"target": Field("ids", vocabulary=7, start=0, stop=1)})
    graph, manifest = exported(graph, tmp_path, format)
    check_model(graph, tmp_path, manifest, format)
    assert sorted(manifest["parts"]) == ["model", "step"]
    assert manifest["state"] == []
    step, token = PARTS[format](tmp_path / manifest["parts"]["step"]["file"]), torch.tensor([[3], [5], [0]])
    expected, _ = graph({"target": Ids(token)}, graph.start({}, 3))
    torch.testing.assert_close(step({"target": token})["output"], expected["output"].values, atol=1e-4, rtol=1e-4)


def test_safetensors_bring_back_every_weight(tmp_path):
    graph, manifest = exported(seq2seq(head="pointer"), tmp_path, "safetensors")
    other = load_weights(seq2seq(head="pointer").materialise(2), tmp_path)
    for name, value in graph.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name
    assert manifest["fields"]["target"]["tokens"] == ["<sos>", "<eos>", "a", "b", "c", "d"]
    assert (manifest["fields"]["target"]["start"], manifest["fields"]["target"]["stop"]) == (0, 1)


def test_shared_weights_are_still_shared_after_a_round_trip(tmp_path):
    exported(language_model(["identity"]), tmp_path, "safetensors")
    other = load_weights(language_model(["identity"]).materialise(2), tmp_path)
    assert other.nodes["output"].project.weight is other.nodes["embedding"].weight


def test_weights_of_another_graph_are_refused(tmp_path):
    exported(language_model(["identity"]), tmp_path, "safetensors")
    with pytest.raises(UserError, match="those of another graph"):
        load_weights(language_model(["gru"]).materialise(1), tmp_path)
    with pytest.raises(UserError, match="there is no"):
        load_weights(language_model(["gru"]).materialise(1), tmp_path / "nowhere")


def test_an_unknown_format_and_a_missing_package_are_one_sentence(tmp_path, monkeypatch):
    graph = language_model(["identity"]).materialise(1)
    with pytest.raises(UserError, match="no format 'keras'"):
        export(graph, tmp_path, "keras", {})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'sequence-composer\[export\]'"):
        export(graph, tmp_path, "onnx", {})
    assert not list(tmp_path.iterdir())


@pytest.fixture
def run(shared, tmp_path):
    """The folder of a trained run, for a test that writes into it."""
    data = ["data=copy", "data.length=4", "data.train_size=50", "data.valid_size=5", "model.dim=8"]
    depth = ["model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1"]
    training = ["training.steps=2", "training.batch=4", "training.figures=false"]
    return shared.copy(shared.run(processes.train_well, [*data, *depth, *training]), tmp_path)


def command_exports(run, format, capsys):
    capsys.readouterr()
    assert main(["export", str(run), "--format", format]) == 0
    assert "manifest.json" in capsys.readouterr().out
    manifest = json.loads((run / "export" / "manifest.json").read_text())
    assert manifest["format"] == format
    assert manifest["metadata"]["config"]["data"]["type"] == "copy"
    return manifest


def check_run(run, manifest, format):
    """The programs of a run, held against its checkpoint. Returns the graph of the checkpoint."""
    graph, _ = checkpoint.rebuild(checkpoint.load(run / "checkpoints" / "last.safetensors"))
    graph = graph.eval().requires_grad_(False)
    check_model(graph, run / "export", manifest, format)
    check_stream(graph, run / "export", manifest, format)
    return graph


def test_the_command_exports_weights(run, capsys):
    command_exports(run, "safetensors", capsys)


def test_torch_computes_what_the_graph_computes(run, capsys):
    """One graph is enough: the programs are those that the ONNX files are made of."""
    check_run(run, command_exports(run, "torch", capsys), "torch")


@pytest.mark.slow
@pytest.mark.parametrize("position", [name for name in registry.blocks("position") if name != "auto"])
def test_causal_attention_exports_with_every_position(position, tmp_path):
    """Attention without a mask computes a bias by its diagonals, which a program of any length cannot do."""
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 8, "from": "target"},
        "decoder": {"kind": "stack", "depth": 1, "mixer": {"type": "attention", "heads": 2}, "position": position,
                    "from": "embedding"},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }  # fmt: skip
    field = Field("ids", vocabulary=9, start=0, stop=1)
    graph, manifest = exported(compile_graph(nodes, {"target": field}), tmp_path, "torch")
    check_model(graph, tmp_path, manifest, "torch")


@needs_onnx
def test_a_service_decodes_token_by_token(run, capsys, monkeypatch):
    """The service of the documentation writes what greedy decoding writes."""
    graph = check_run(run, command_exports(run, "onnx", capsys), "onnx")
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1]
    assert len(code.splitlines()) <= 25
    monkeypatch.chdir(run)
    scope = {}
    exec(code.replace("runs/mine/export", "export"), scope)
    ids = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]])
    lengths = torch.tensor([4, 2])
    expected = greedy(graph, {"source": Ids(ids, lengths)}, "output", 12)
    texts = scope["decode"](ids.numpy(), lengths.numpy(), 12)
    target = graph.plan.inputs["target"]
    wanted = []
    for row, length in zip(expected.values.tolist(), expected.lengths.tolist(), strict=True):
        kept = [token for token in row[:length] if token != target.stop]
        wanted.append("".join(target.contents.tokens[token] for token in kept))
    assert texts == wanted
