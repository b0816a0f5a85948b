"""What the figures show is what the model does: weights that sum to one, the gradients of autograd, words on axes."""

import math
import unicodedata
from dataclasses import replace
from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given

from composer.core import registry
from composer.core.block import Signature
from composer.core.signals import Contents, Field, Ids, Seq
from composer.graph.compiler import compile_graph
from composer.graph.graph import run_node
from composer.objectives import Batch
from composer.testing.subjects import example
from composer.views.figures import (
    AttentionMap,
    attention_figure,
    attention_maps,
    fonts,
    gradient_by_step,
    gradient_figure,
    learning_curves,
    save_figures,
    throughput,
    write_figures,
)
from composer.views.figures.style import label, line_axes, png
from tests.support.graphs import graphs

LETTERS = ("<sos>", "<eos>", "a", "b", "c", "d", "e")
SOURCE = Field("ids", vocabulary=7, contents=Contents(tokens=LETTERS))
TARGET = Field("ids", vocabulary=7, start=0, stop=1, contents=Contents(tokens=LETTERS))
LABEL = Field("label", vocabulary=3)


def draw(fields, lengths=(5, 3)):
    """A batch of these fields, the second row shorter than the first."""
    signals = {name: example(field, lengths, seed) for seed, (name, field) in enumerate(fields.items())}
    floats = {name for name, signal in signals.items() if signal.values.is_floating_point()}
    return Batch({n: replace(s, values=s.values.float()) if n in floats else s for n, s in signals.items()})


def compiled(nodes, fields):
    return compile_graph(nodes, fields).materialise(1)


def token(source):
    return {"kind": "embedding", "type": "token", "dim": 8, "from": source}


HEAD = {"kind": "head", "type": "categorical"}

# Attention

SHOWING = [
    (kind, name)
    for kind in registry.kinds()
    for name, block in registry.blocks(kind).items()
    if getattr(block, "shows", None) == "attention"
]


def showing_graph(kind, name):
    """A graph in which this block looks at something."""
    cls = registry.blocks(kind)[name]
    block = {"type": name, **getattr(cls, "example", {})}
    if "memory" not in Signature.of(cls).ports:
        nodes = {"embedding": token("source"), "shows": {"kind": kind, **block, "from": "embedding"}}
        if kind == "mixer":
            nodes["shows"]["causal"] = getattr(cls, "causal", None) is not False
            nodes["pooled"] = {"kind": "pool", "type": "mean", "from": "shows"}
        nodes["output"] = {**HEAD, "from": list(nodes)[-1], "predicts": "label"}
        fields = {"source": SOURCE, "label": LABEL}
        return compiled(nodes, fields), fields
    nodes = {"source_embedding": token("source"), "target_embedding": token("target")}
    ports = {"x": "target_embedding", "memory": "source_embedding"}
    if kind == "head":
        nodes["shows"] = {"kind": kind, **block, "from": {**ports, "ids": "source"}, "predicts": "target"}
    else:
        nodes["decoder"] = {"kind": "stack", "depth": 1, kind: block, "from": ports}
        nodes["output"] = {**HEAD, "from": "decoder", "predicts": "target"}
    fields = {"source": SOURCE, "target": TARGET}
    return compiled(nodes, fields), fields


@pytest.mark.parametrize(("kind", "name"), SHOWING)
def test_every_block_that_shows_attention_yields_maps_whose_rows_sum_to_one(kind, name):
    graph, fields = showing_graph(kind, name)
    maps = attention_maps(graph, draw(fields))
    assert maps
    for shown in maps.values():
        torch.testing.assert_close(shown.weights.sum(-1), torch.ones(shown.weights.shape[:2]))
        assert shown.weights.shape[1:] == (len(shown.queries), len(shown.keys))
        assert len(shown.keys) == 5
        assert set(shown.keys) <= set(LETTERS)
        assert shown.queries == ("",) or len(shown.queries) == 5
        attention_figure("shows", shown)


def translator():
    nodes = {
        "source_embedding": token("source"),
        "encoder": {"kind": "stack", "depth": 1, "mixer": "attention", "from": "source_embedding", "causal": False},
        "target_embedding": token("target"),
        "decoder": {
            "kind": "stack", "depth": 2, "mixer": "attention", "cross": "cross_attention",
            "from": {"x": "target_embedding", "memory": "encoder"},
        },
        "output": {**HEAD, "from": "decoder", "predicts": "target"},
    }  # fmt: skip
    fields = {"source": SOURCE, "target": TARGET}
    graph = compiled(nodes, fields)
    source = Ids(torch.tensor([[2, 3, 4, 1], [2, 1, 0, 0]]), torch.tensor([4, 2]))
    target = Ids(torch.tensor([[5, 6, 1], [5, 1, 0]]), torch.tensor([3, 2]))
    return graph, Batch({"source": source, "target": target})


def test_maps_are_named_by_place_and_their_steps_by_tokens():
    graph, batch = translator()
    maps = attention_maps(graph, batch)
    assert list(maps) == [
        "encoder.layers.0.mixer", "decoder.layers.0.mixer", "decoder.layers.0.cross", "decoder.layers.1.mixer",
        "decoder.layers.1.cross",
    ]  # fmt: skip
    encoder, own, cross = (maps[name] for name in list(maps)[:3])
    assert encoder.queries == encoder.keys == ("a", "b", "c", "<eos>")
    assert (own.queries, own.keys) == (("d", "e", "<eos>"), ("<sos>", "d", "e"))  # what it predicts, what it has read
    assert (cross.queries, cross.keys) == (("d", "e", "<eos>"), ("a", "b", "c", "<eos>"))
    assert (cross.query_title, cross.key_title) == ("query: target to be predicted", "key: source")
    assert torch.equal(own.weights.triu(1), torch.zeros_like(own.weights))  # the future is not looked at


def test_maps_are_those_of_the_row_alone_and_the_model_is_left_as_it_was():
    graph, batch = translator()
    graph.train()
    graph.nodes["encoder"].eval()  # a part that somebody froze
    before = {module: module.training for module in graph.modules()}
    maps = attention_maps(graph, batch)
    alone = attention_maps(graph, Batch({n: type(s)(s.values[:1], s.lengths[:1]) for n, s in batch.signals.items()}))
    assert all(torch.equal(maps[name].weights, alone[name].weights) for name in maps)
    assert before == {module: module.training for module in graph.modules()}


def words(figure):
    """Every text of a figure."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


@pytest.mark.slow
def test_the_figure_has_a_panel_a_head_and_their_mean_with_tokens_on_both_axes():
    weights = torch.rand(3, 2, 4).softmax(-1)
    figure = attention_figure("decoder.cross", AttentionMap(weights, ("d", "$e$"), ("a", "□", "c", "<eos>")))
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in panels] == ["mean of 3 heads", "head 1", "head 2", "head 3"]
    for axes, expected in zip(panels, [weights.mean(0), *weights], strict=True):
        assert torch.equal(torch.tensor(axes.images[0].get_array()), expected)
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "□", "c", "<eos>"]
    assert [tick.get_text() for tick in panels[0].get_yticklabels()] == ["d", "$e$"]
    assert {"Attention in decoder.cross", "attention weight (square-root scale)", "query", "key"} <= set(words(figure))


def test_long_sequences_have_as_many_labels_as_can_be_read():
    letters = tuple("ab" * 100)
    figure = attention_figure("x", AttentionMap(torch.rand(1, 200, 200).softmax(-1), letters, letters))
    labels = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert 20 <= len(labels) <= 40
    steps = [int(text.partition(":")[0]) for text in labels]
    assert labels == [f"{step}: {letters[step]}" for step in steps]
    assert len({after - before for before, after in pairwise(steps)}) == 1


def test_small_weights_are_seen_beside_a_few_large_ones_and_the_scale_says_so():
    weights = torch.full((1, 100, 100), 0.01)
    weights[0, :3] = torch.eye(100)[:3]
    image = attention_figure("x", AttentionMap(weights, tuple("a" * 100), tuple("b" * 100))).axes[0].images[0]
    assert image.norm(0.01) > 0.3
    assert image.norm(0.0) == 0
    assert image.colorbar.extend == "max"  # some lie beyond it


@pytest.mark.slow
def test_any_token_can_be_drawn(tmp_path):
    tokens = (" ", "\n", "", "中", "é", "$x$", "_^{", "\u0301", "\x00")
    nodes = {"embedding": token("target"), "mixer": {"kind": "mixer", "type": "attention", "from": "embedding"}}
    nodes["output"] = {**HEAD, "from": "mixer", "predicts": "target"}
    fields = {"target": Field("ids", vocabulary=9, start=0, stop=1, contents=Contents(tokens=tokens))}
    batch = Batch({"target": Ids(torch.arange(9)[None], torch.tensor([9]))})
    maps = attention_maps(compiled(nodes, fields), batch)
    assert maps["mixer"].queries[:5] == ("␣", "⏎", "∅", "□", "é")
    save_figures(tmp_path / "deep", {"a": attention_figure("mixer", maps["mixer"])})  # a warning would be an error
    assert (tmp_path / "deep" / "a.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.png"]


# Gradients


def tagger(**fields):
    nodes = {
        "embedding": token("source"),
        "mixer": {"kind": "mixer", "type": "rnn", "from": "embedding"},
        "output": {**HEAD, "from": "mixer", "predicts": "target"},
    }
    fields = {"source": SOURCE, "target": Field("ids", vocabulary=4, axis="source", **fields)}
    return compiled(nodes, fields), fields


def test_the_gradient_by_step_is_the_one_that_brute_force_gives():
    """Row by row, without padding, by the Jacobian of one loss with respect to every step of the embedding."""
    graph, fields = tagger()
    lengths = [6, 4, 1]
    batch = draw(fields, lengths)
    sums, counts = torch.zeros(6), torch.zeros(6)
    nodes = {node.name: node for node in graph.plan.nodes}
    for row, length in enumerate(lengths):
        ids = Ids(batch.signals["source"].values[row : row + 1, :length])
        wanted = Ids(batch.signals["target"].values[row : row + 1, :length])
        embedded = run_node(nodes["embedding"], graph.nodes["embedding"], {"source": ids})

        def last_loss(values, wanted=wanted):
            hidden = run_node(nodes["mixer"], graph.nodes["mixer"], {"embedding": Seq(values)})
            output = run_node(nodes["output"], graph.nodes["output"], {"mixer": hidden})
            return graph.losses({"output": output}, {"target": wanted})["output"][0, -1]

        norms = torch.autograd.functional.jacobian(last_loss, embedded.values.detach())[0].norm(dim=-1)  # (T,)
        sums[:length] += norms.flip(0)
        counts[:length] += 1
    found = gradient_by_step(graph, batch)
    assert list(found) == ["embedding"]
    torch.testing.assert_close(found["embedding"], sums / counts)


def test_a_loss_that_ends_early_is_where_the_steps_are_counted_from():
    graph, fields = tagger()
    batch = draw(fields, [5, 5])
    short = {n: type(s)(s.values[:, :3], torch.tensor([3, 3])) for n, s in batch.signals.items()}
    weights = torch.ones(2, 5).masked_fill(torch.arange(5) > 2, 0)
    found = gradient_by_step(graph, Batch(batch.signals, {"target": weights}))
    torch.testing.assert_close(found["embedding"], gradient_by_step(graph, Batch(short))["embedding"])


def test_the_gradient_of_a_contracting_linear_recurrence_falls_at_its_rate():
    """h_t = x_t + h_{t-1} / 2, in a relu network whose units are always on."""
    nodes = {
        "embedding": token("source"),
        "mixer": {"kind": "mixer", "type": "rnn", "nonlinearity": "relu", "from": "embedding"},
        "last": {"kind": "pool", "type": "last", "from": "mixer"},
        "output": {**HEAD, "from": "last", "predicts": "label"},
    }
    fields = {"source": SOURCE, "label": LABEL}
    graph = compiled(nodes, fields)
    with torch.no_grad():
        for name, weight in graph.named_parameters():
            if "embedding" in name:
                weight.abs_()
            elif "weight_ih" in name or "weight_hh" in name:
                weight.copy_(torch.eye(8) * (1.0 if "weight_ih" in name else 0.5))
            elif "bias" in name and "mixer" in name:
                weight.zero_()
    found = gradient_by_step(graph, draw(fields, [12, 12]))["embedding"]
    assert torch.all(found[1:] < found[:-1])
    torch.testing.assert_close(found, found[0] * 0.5 ** torch.arange(12))


def test_every_input_is_followed_even_where_no_weight_embeds_it():
    nodes = {
        "embedding": {"kind": "embedding", "type": "one_hot", "from": "source"},
        "mixer": {"kind": "mixer", "type": "gru", "from": "embedding"},
        "last": {"kind": "pool", "type": "last", "from": "mixer"},
        "output": {**HEAD, "from": "last", "predicts": "label"},
    }
    fields = {"source": SOURCE, "label": LABEL}
    found = gradient_by_step(compiled(nodes, fields), draw(fields, [4, 2]))
    assert found["embedding"].shape == (4,)
    assert (found["embedding"] > 0).all()


@given(drawn=graphs())
def test_any_graph_can_be_looked_into_and_is_left_as_it_was(drawn):
    nodes, fields = drawn
    graph = compiled(nodes, fields).train()
    batch = draw(fields)
    before = {name: value.clone() for name, value in graph.state_dict().items()}
    with torch.inference_mode():  # as in a validation loop
        gradients = gradient_by_step(graph, batch)
        maps = attention_maps(graph, batch)
    followed = {
        node.name
        for node in graph.plan.nodes
        if any(s in graph.plan.inputs and graph.plan.inputs[s].timed for s in node.inputs)
        and graph.plan.outputs[node.name].timed
        and node.predicts is None
    }
    assert followed <= set(gradients)
    for norms in gradients.values():
        assert norms.isfinite().all()
        assert norms.dim() == 1
    for shown in maps.values():
        torch.testing.assert_close(shown.weights.sum(-1), torch.ones(shown.weights.shape[:2]))
    assert all(module.training for module in graph.modules())
    assert all(weight.grad is None and weight.requires_grad for weight in graph.parameters())
    assert all(torch.equal(value, before[name]) for name, value in graph.state_dict().items())


def test_the_gradient_figure_has_a_line_a_node_on_a_logarithmic_scale_with_the_end_at_the_right():
    norms = {"source_embedding": 0.5 ** torch.arange(30), "target_embedding": torch.tensor([1.0, 0.5, 0.0])}
    figure = gradient_figure(norms)
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    assert axes.xaxis_inverted()
    assert [line.get_label() for line in axes.lines] == list(norms)
    assert axes.lines[0].get_ydata().tolist() == pytest.approx(norms["source_embedding"].tolist())
    assert math.isnan(axes.lines[1].get_ydata()[2])  # nothing arrives
    assert len({line.get_color() for line in axes.lines}) == 2
    assert {"steps before the last of its sequence", "at the output of", *norms} <= set(words(figure))
    assert any("gradient norm" in text for text in words(figure))


# Curves


def metrics(count):
    rows = [{"step": step, "loss": 4 / step, "tokens_per_second": 1000.0 + step} for step in range(1, count + 1)]
    rows += [{"step": step, "valid/loss": 5 / step, "valid/exact": 0.5} for step in range(1, count + 1, 5)]
    return [*rows, {"step": count + 1, "loss": float("nan"), "note": "diverged"}]


def test_learning_curves_are_the_losses_against_the_step():
    figure = learning_curves(metrics(10))
    (axes,) = figure.axes
    labelled = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}
    assert list(labelled) == ["training", "validation, at best 0.8333 at step 6"]
    assert labelled["training"].get_xdata().tolist() == list(range(1, 11))
    assert labelled["training"].get_ydata().tolist() == [4 / step for step in range(1, 11)]
    assert {"Learning curves", "optimiser step", "loss (nats)"} <= set(words(figure))
    assert axes.get_yscale() == "linear"
    assert learning_curves(metrics(100)).axes[0].get_yscale() == "log"


def test_many_points_are_shown_as_a_running_mean_over_themselves():
    rows = [{"step": step, "loss": 2.0 + (-1) ** step} for step in range(300)]
    mean, points = learning_curves(rows).axes[0].lines
    assert len(points.get_ydata()) == len(mean.get_ydata()) == 300
    assert points.get_alpha() < 1
    assert mean.get_ydata()[20:-20] == pytest.approx([2.0] * 260, abs=0.1)
    assert mean.get_ydata()[0] == rows[0]["loss"]


def test_throughput_says_its_median():
    figure = throughput(metrics(11))
    (axes,) = figure.axes
    assert axes.lines[0].get_ydata().tolist() == [1000 + step for step in range(1, 12)]
    assert {"tokens per second", "optimiser step", "Throughput", "median 1.0k"} <= set(words(figure))
    assert axes.get_ylim()[0] == 0


def test_where_there_is_nothing_to_show_there_is_no_figure():
    assert learning_curves([]) is None
    assert learning_curves([{"step": 1, "loss": float("inf")}]) is None
    assert throughput([{"step": 1, "loss": 1.0}]) is None


@pytest.mark.slow
def test_all_figures_of_a_run_are_written_by_name(tmp_path):
    graph, batch = translator()
    written = write_figures(tmp_path, graph, batch, metrics(3), {})
    assert {"learning_curves", "throughput", "gradient_by_step", "attention_decoder_layers_1_cross"} <= set(written)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}.png" for name in written)
    assert {*write_figures(tmp_path, graph, batch, [], {})} == {*written} - {"learning_curves", "throughput"}


def test_a_vector_and_a_label_have_no_steps_to_follow():
    nodes = {"output": {**HEAD, "from": "source", "predicts": "label"}}
    fields = {"source": Field("vec", dim=4), "label": LABEL}
    graph = compiled(nodes, fields)
    assert gradient_by_step(graph, draw(fields)) == {}
    assert attention_maps(graph, draw(fields)) == {}


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("steps", [1, 3, 12])
@pytest.mark.parametrize("name", ["pool", "second_decoder.layers.11.cross, example 12"])
def test_the_titles_of_an_attention_map_are_whole_and_apart(name, steps, heads):
    weights = torch.full((heads, steps, 5), 1 / 5)
    words = tuple(["mississippi"] * steps) if steps > 1 else ("",)
    shown = AttentionMap(weights, words, ("a", "b", "c", "d", "e"), "query: target to be predicted", "key: source")
    figure = attention_figure(name, shown)
    figure.canvas.draw()
    assert figure.get_suptitle().replace("\n", " ") == f"Attention in {name}"
    boxes = [text.get_window_extent() for text in figure.texts]
    assert len(boxes) == 3
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@pytest.fixture
def no_fonts(monkeypatch):
    """A machine without fonts of its own."""
    monkeypatch.setattr(fonts, "_installed", lambda: ())
    fonts._in_a_font.cache_clear()
    fonts.lacking()
    yield
    fonts._in_a_font.cache_clear()
    fonts._scripts_without_font.clear()


@pytest.mark.parametrize(
    ("token", "words"),
    [("한국", "Hangul (such as 한)"), ("日本", "CJK (such as 日)"), ("ไทย", "Thai (such as ไ)"), ("🦄", "symbols")],
)
def test_a_script_without_a_font_is_boxes_and_is_said_once(no_fonts, token, words):
    assert set(label(token)) == {"□"}
    said = fonts.lacking()
    assert f"no installed font has: {words}" in said
    assert "Noto Sans" in said
    assert fonts.lacking() is None
    assert label("ça ω") == "ça␣ω"
    assert fonts.lacking() is None


def test_a_font_that_has_the_characters_is_used(no_fonts, monkeypatch, tmp_path):
    from matplotlib.font_manager import findfont

    other = findfont("STIXGeneral")  # has a character that matplotlib's own font lacks
    monkeypatch.setattr(fonts, "_installed", lambda: (str(tmp_path / "broken.ttf"), other))
    own = fonts._characters(findfont("DejaVu Sans"))
    character = next(c for c in map(chr, sorted(fonts._characters(other) - own)) if unicodedata.category(c) == "Lu")
    assert label(character) == character
    assert fonts.lacking() is None
    assert "STIXGeneral" in fonts.families()
    figure, axes = line_axes("title", "x", character)
    png(figure)  # without matplotlib's warning of a missing glyph
    assert "STIXGeneral" in axes.yaxis.label.get_fontfamily()
