"""Decoding equals reading everything anew, whatever the graph: for every mixer, bridge and position, through ragged
prompts and beams that change places. Searches equal brute force, draws have the model's probabilities."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from composer.core import registry
from composer.core.binding import bind_section
from composer.core.problems import GraphError, Invalid, UserError
from composer.core.signals import Field, Ids, Seq, Signal, Vec
from composer.decoding import Result, Settings, generate, greedy, roll, steps
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph
from tests.support.templates import TEMPLATES, TOKENS, VOCABULARY, needs_memory, nodes, refusals

MIXERS = list(registry.blocks("mixer"))
SOURCES: dict[str, dict[str, Signal]] = {
    "language_model": {},
    "seq2seq": {"source": Ids(torch.tensor([[2, 3, 4, 5], [6, 5, 9, 9], [3, 3, 2, 9]]), torch.tensor([4, 2, 3]))},
    "vec2seq": {"source": Vec(torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 0.0], [0.0, 0.1, 0.2]]))},
}
PROMPT = Ids(torch.tensor([[4, 2, 6], [99, 99, 99], [5, 99, 99]]), torch.tensor([3, 0, 1]))
BEAMS = Settings(search="beam", beams=3, best=3, length=5)


def built(found: dict[str, Any], template: str, fields: dict[str, Field] | None = None, seed: int = 1) -> Graph:
    graph = compile_graph(found, fields or TEMPLATES[template]).materialise(seed).eval()
    with torch.no_grad():
        for parameter in graph.nodes["output"].parameters():
            parameter.mul_(3)  # so that the tokens differ in probability
    return graph


def reread(graph: Graph, inputs: dict[str, Signal], row: int, tokens: list[int]) -> torch.Tensor:
    """(T, V): the log-probabilities of every next token of one row, all of it read at once."""
    own = {name: type(s)(*(v[row : row + 1] for v in vars(s).values() if v is not None)) for name, s in inputs.items()}
    late = graph.shifted({"target": Ids(torch.tensor([tokens]))})
    outputs, _ = graph(own | late)
    head: Any = graph.nodes["output"]
    return head.log_probabilities(outputs["output"].values)[0]


@torch.no_grad()
def same_as_reread(graph: Graph, inputs: dict[str, Signal], result: Result, prompt: Ids | None, best: bool) -> None:
    for row, hypotheses in enumerate(result.rows):
        given = [] if prompt is None else prompt.values[row, : int(prompt.counts[row])].tolist()
        for hypothesis in hypotheses:
            written = hypothesis.tokens.tolist()
            found = reread(graph, inputs, row, given + written)[len(given) :]
            total = found[range(len(written)), written].sum().item()
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)
            if best:
                assert found.argmax(-1).tolist() == written


def decodes(graph: Graph, template: str) -> None:
    """Greedily and with beams, from nothing and from prompts of different lengths."""
    inputs = SOURCES[template]
    for prompt in (None, PROMPT):
        for settings in (Settings(length=6), BEAMS):
            result = generate(graph, inputs, settings, prompt=prompt, batch=3)
            assert len(result.rows) == 3
            same_as_reread(graph, inputs, result, prompt, best=settings.search == "greedy")


@pytest.mark.parametrize("template", ["language_model", "seq2seq"])
@pytest.mark.parametrize("mixer", MIXERS)
def test_what_every_mixer_decodes_is_what_reading_anew_gives(template, mixer):
    if not refusals(template, mixer):
        decodes(built(nodes(template, mixer), template), template)


@pytest.mark.parametrize("mixer", [name for name in MIXERS if needs_memory(name)])
def test_mixers_with_a_memory_decode(mixer):
    found = nodes("seq2seq", "attention")
    decodes(built(found | {"decoder": found["decoder"] | {"mixer": mixer, "cross": None}}, "seq2seq"), "seq2seq")


@pytest.mark.parametrize("bridge", list(registry.blocks("bridge")))
def test_every_bridge_decodes_from_a_vector(bridge):
    enters = getattr(registry.blocks("bridge")[bridge], "enters", "input")
    found = nodes("vec2seq", "gru" if enters == "initial" else "attention")
    cross = "cross_attention" if enters == "memory" else None
    decodes(built(found | {"decoder": found["decoder"] | {"bridge": bridge, "cross": cross}}, "vec2seq"), "vec2seq")


@pytest.mark.parametrize("position", list(registry.blocks("position")))
@pytest.mark.parametrize("mixer", ["attention", "sliding_window", "sparse"])
def test_every_position_decodes(position, mixer):
    found = nodes("language_model", mixer)
    decodes(built(found | {"decoder": found["decoder"] | {"position": position}}, "language_model"), "language_model")


def test_a_hybrid_decodes():
    found = nodes("language_model", "identity")
    layers = {"recurrent": {"mixer": "lstm"}, "global": {"mixer": {"type": "attention", "window": 2}}}
    decoder = found["decoder"] | {"mixer": None, "layers": layers, "pattern": ["recurrent", "global"], "depth": 4}
    decodes(built(found | {"decoder": decoder}, "language_model"), "language_model")


# Searches -------------------------------------------------------------------------------------------------------------

SMALL = {"source": Field("ids", vocabulary=VOCABULARY), "target": Field("ids", vocabulary=4, start=0, stop=1)}


def small(mixer: str, template: str = "language_model") -> Graph:
    """A graph over four tokens, of which one is <eos>: few sequences in all."""
    return built(nodes(template, mixer), template, SMALL if template == "seq2seq" else {"target": SMALL["target"]})


@torch.no_grad()
def all_sequences(graph: Graph, inputs: dict[str, Signal], row: int, length: int) -> dict[tuple[int, ...], float]:
    """Every sequence that ends with <eos> or at the limit, and its log-probability."""
    found = {}
    for tokens in product(range(4), repeat=length):
        cut = tokens[: tokens.index(1) + 1] if 1 in tokens else tokens
        if cut not in found:
            values = reread(graph, inputs, row, list(cut))
            found[cut] = values[range(len(cut)), list(cut)].sum().item()
    return found


@pytest.mark.parametrize(("mixer", "template"), [("attention", "language_model"), ("gru", "language_model"),
                                                 ("mingru", "seq2seq"), ("linear_attention", "seq2seq")])  # fmt: skip
@pytest.mark.parametrize("normalisation", ["none", "mean", "gnmt"])
def test_enough_beams_are_exhaustive_search(mixer, template, normalisation):
    graph, inputs, length = small(mixer, template), SOURCES[template], 3
    settings = Settings(search="beam", beams=16, best=7, length=length, normalisation=normalisation)
    result = generate(graph, inputs, settings, batch=1)
    for row, hypotheses in enumerate(result.rows):
        every = all_sequences(graph, inputs, row, length)
        scored = {tokens: total / settings.divisor(len(tokens)) for tokens, total in every.items()}
        wanted = sorted(scored, key=lambda tokens: -scored[tokens])[:7]
        assert [tuple(h.tokens.tolist()) for h in hypotheses] == wanted
        for hypothesis, tokens in zip(hypotheses, wanted, strict=True):
            assert hypothesis.log_probability == pytest.approx(every[tokens], abs=1e-5)
            assert hypothesis.score == pytest.approx(scored[tokens], abs=1e-5)
            assert hypothesis.finished == (tokens[-1] == 1)


def test_one_beam_is_greedy_up_to_where_stopping_is_better():
    graph = small("gru")
    beam = generate(graph, {}, Settings(search="beam", beams=1, length=6, normalisation="none")).rows[0][0]
    best = generate(graph, {}, Settings(length=6)).rows[0][0]
    assert beam.log_probability >= best.log_probability - 1e-6


@torch.no_grad()
def expected_frequencies(graph: Graph, settings: Settings) -> torch.Tensor:
    """(V,), by the definition of each way to cut a distribution down, token by token."""
    p = torch.tensor(reread(graph, {}, 0, [0])[0].double().div(settings.temperature).softmax(-1).tolist())
    order = sorted(range(len(p)), key=lambda token: -p[token])
    if settings.top_k is not None:
        order = order[: settings.top_k]
    kept, total = [], 0.0
    for token in order:
        if total < settings.top_p and p[token] >= settings.min_p * p[order[0]]:
            kept.append(token)
        total += p[token].item()
    cut = torch.zeros_like(p)
    cut[kept] = p[kept]
    return cut / cut.sum()


CUTS: list[dict[str, Any]] = [{}, {"temperature": 0.5}, {"temperature": 2.0}]
CUTS += [{"top_k": 3}, {"top_p": 0.7}, {"min_p": 0.3}]


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_tokens_are_drawn_with_the_probabilities_of_the_model(cut):
    graph = built(nodes("language_model", "mingru"), "language_model")
    settings, count = Settings(search="sample", length=1, seed=5, best=4000, **cut), 4000
    drawn = torch.tensor([h.tokens[0] for h in generate(graph, {}, settings).rows[0]])
    wanted = expected_frequencies(graph, settings)
    found = torch.bincount(drawn, minlength=VOCABULARY)
    assert (found[wanted == 0] == 0).all()
    possible = wanted > 0
    assert 1 < possible.sum() < VOCABULARY or not ({"top_k", "top_p", "min_p"} & set(cut))
    chi_squared = ((found - count * wanted)[possible].square() / (count * wanted[possible])).sum()
    assert chi_squared < 22.5  # p = 0.001 for six degrees of freedom


def test_the_same_seed_gives_the_same_text_whatever_stands_beside_it():
    graph, inputs = built(nodes("seq2seq", "gru"), "seq2seq"), SOURCES["seq2seq"]
    settings = Settings(search="sample", length=12, seed=3)
    one, again = (generate(graph, inputs, settings).tokens for _ in range(2))
    assert torch.equal(one.filled(), again.filled())
    other = generate(graph, inputs, Settings(search="sample", length=12, seed=4)).tokens
    assert one.values.shape != other.values.shape or not torch.equal(one.filled(), other.filled())
    first = {"source": Ids(inputs["source"].values[:1], inputs["source"].lengths[:1])}  # type: ignore[attr-defined]
    alone = generate(graph, first, settings).tokens
    assert alone.values[0].tolist() == one.values[0, : int(one.counts[0])].tolist()


def test_rows_that_are_done_leave_without_changing_the_others():
    graph = built(nodes("language_model", "attention"), "language_model")
    settings = Settings(search="sample", best=24, length=20, temperature=1.5)
    result = generate(graph, {}, settings)
    lengths = {len(hypothesis.tokens) for hypothesis in result.rows[0]}
    assert len(lengths) > 4  # they end at different steps
    same_as_reread(graph, {}, result, None, best=False)
    assert all(h.finished == (h.tokens[-1].item() == 1) for h in result.rows[0])
    assert all(1 not in h.tokens[:-1].tolist() for h in result.rows[0])


def test_greedy_is_generate_without_the_scores():
    for template, mixer in (("language_model", "attention"), ("seq2seq", "lstm")):
        graph, inputs = built(nodes(template, mixer), template, seed=5), SOURCES[template]
        fast, full = greedy(graph, inputs, "output", 9), generate(graph, inputs, Settings(length=9)).tokens
        assert torch.equal(fast.filled(), full.filled())
        assert torch.equal(fast.counts, full.counts)


# Constraints ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["greedy", "sample", "beam"])
def test_only_allowed_tokens_come(search):
    graph = built(nodes("language_model", "gru"), "language_model")
    result = generate(graph, {}, Settings(search=search, allowed=[3, 5], length=8))
    assert set(result.rows[0][0].tokens.tolist()) <= {1, 3, 5}
    same_as_reread(graph, {}, result, None, best=False)


@pytest.mark.parametrize("search", ["greedy", "sample", "beam"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_run_of_tokens_comes_twice_prompt_included(search, size):
    graph = built(nodes("language_model", "attention"), "language_model")
    result = generate(graph, {}, Settings(search=search, no_repeat=size, length=12), prompt=PROMPT)
    for row, hypotheses in enumerate(result.rows):
        tokens = PROMPT.values[row, : int(PROMPT.counts[row])].tolist() + hypotheses[0].tokens.tolist()
        runs = [tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)]
        assert len(runs) == len(set(runs))


def endless(mixer: str, vocabulary: int = VOCABULARY, seed: int = 1) -> Graph:
    """A graph without <eos>."""
    fields = {"target": Field("ids", vocabulary=vocabulary, start=0)}
    return built(nodes("language_model", mixer), "language_model", fields, seed)


def test_a_penalty_makes_repetition_rarer():
    graph = endless("identity")
    plain, penalised = (
        generate(graph, {}, Settings(repetition_penalty=penalty, length=VOCABULARY)).rows[0][0].tokens.tolist()
        for penalty in (1.0, 1000.0)
    )
    assert len(set(plain)) < len(set(penalised)) == VOCABULARY


def letters(tokens: list[int]) -> str:
    return "".join("_<ABabc"[token] for token in tokens)


@pytest.mark.parametrize("search", ["greedy", "sample", "beam"])
def test_a_stop_text_ends_a_row_before_it_even_across_tokens(search):
    graph = endless("gru", seed=2)
    free = generate(graph, {}, Settings(search=search, length=30), show=letters).rows[0][0]
    assert free.text is not None
    stop = free.text[3:5]
    found = generate(graph, {}, Settings(search=search, length=30, stops=[stop, "zz"]), show=letters).rows[0][0]
    assert found.text is not None
    assert stop not in found.text
    if search != "beam":
        assert found.text == free.text[: free.text.index(stop)]
        assert found.finished


def test_steps_come_as_generate_collects_them_and_say_the_same():
    graph = built(nodes("language_model", "attention"), "language_model", seed=4)
    settings = Settings(search="sample", length=15, best=3, seed=2, stops=["AB", "ca"])
    tokens: dict[int, list[int]] = {0: [], 1: [], 2: []}
    texts = dict.fromkeys(tokens, "")
    for step in steps(graph, {}, settings, show=letters):
        assert torch.is_grad_enabled()
        assert step.texts is not None
        for row, token, text in zip(step.rows.tolist(), step.tokens.tolist(), step.texts, strict=True):
            tokens[row].append(token)
            texts[row] += text
    collected = generate(graph, {}, settings, show=letters).rows[0]
    assert sorted(tokens.values()) == sorted(hypothesis.tokens.tolist() for hypothesis in collected)
    assert sorted(texts.values()) == sorted(hypothesis.text or "" for hypothesis in collected)


# Real values ----------------------------------------------------------------------------------------------------------

SERIES = {"target": Field("seq", dim=2)}


def forecaster(head: dict[str, Any]) -> Graph:
    found = {
        "embedding": {"kind": "embedding", "type": "continuous", "dim_out": 8, "from": "target"},
        "decoder": {"kind": "stack", "depth": 2, "mixer": "gru", "norm": "layer", "from": "embedding"},
        "output": {"kind": "head", "from": "decoder", "predicts": "target", **head},
    }
    return compile_graph(found, SERIES).materialise().eval()


def test_means_roll_forward_as_reading_anew_gives_them():
    graph = forecaster({"type": "gaussian", "variance": "learned"})
    prompt = Seq(torch.randn(3, 4, 2), torch.tensor([4, 2, 0]))
    rolled = roll(graph, {}, "output", 3, prompt=prompt)
    head: Any = graph.nodes["output"]
    for row in range(3):
        path = prompt.values[row, : int(prompt.counts[row])]
        for step in range(3):
            late = torch.cat([torch.zeros(1, 2), path])
            outputs, _ = graph({"target": Seq(late[None])})
            path = torch.cat([path, head.predict(outputs["output"]).values[0, -1:]])
            torch.testing.assert_close(path[-1], rolled.values[row, step], atol=1e-5, rtol=0)


def test_sampled_paths_spread_as_the_head_says():
    graph = forecaster({"type": "gaussian", "variance": "learned"})
    outputs, _ = graph({"target": Seq(torch.zeros(1, 1, 2))})
    mean, log_variance = outputs["output"].values[0, 0].chunk(2)
    paths = roll(graph, {}, "output", 2, samples=4000, seed=1)
    first = paths.values[:, 0]
    torch.testing.assert_close(first.mean(0), mean, atol=0.1, rtol=0)
    torch.testing.assert_close(first.var(0), log_variance.exp(), atol=0, rtol=0.1)
    assert torch.equal(paths.values, roll(graph, {}, "output", 2, samples=4000, seed=1).values)


def test_switches_roll_forward_as_zeros_and_ones():
    graph = forecaster({"type": "bernoulli"})
    outputs, _ = graph({"target": Seq(torch.zeros(1, 1, 2))})
    paths = roll(graph, {}, None, 2, samples=4000)
    assert set(paths.values.unique().tolist()) <= {0.0, 1.0}
    torch.testing.assert_close(paths.values[:, 0].mean(0), outputs["output"].values[0, 0].sigmoid(), atol=0.04, rtol=0)


@pytest.mark.parametrize("mixer", ["rnn", "gru", "lstm", "mingru", "minlstm", "s4d", "selective", "linear_attention"])
def test_a_recurrence_decodes_in_constant_memory(mixer):
    graph = endless(mixer)
    state, step = graph.start({}, 2, "output"), graph.stepper("output")
    sizes = set()
    with torch.no_grad():
        for _ in range(5):
            _, state = step({"target": torch.tensor([2, 3])}, state)
            sizes.add(sum(leaf.numel() for leaf in pytree.tree_leaves(state)))
    assert len(sizes) == 1


# Problems -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"length": 0}, "length: expected a whole number at least 1, found 0"),
        ({"temperature": 0}, "temperature: expected a number above 0"),
        ({"search": "beams"}, "Did you mean 'beam'"),
        ({"top_k": 5}, "top_k: 5 has no effect with search: greedy"),
        ({"search": "sample", "top_p": 1.5}, "at most 1"),
        ({"search": "beam", "best": 9}, "9 sequences cannot come out of 4 beams"),
        ({"search": "beam", "repetition_penalty": 2}, "has no effect"),
        ({"alpha": 0.5}, "Use gnmt"),
        ({"allowed": []}, "no token may come"),
        ({"stops": [""]}, "empty text"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(given, words):
    with pytest.raises(Invalid) as caught:
        Settings(**given)
    assert words in str(caught.value)


def test_a_section_of_a_config_is_settings():
    where = lambda path: ""  # noqa: E731
    assert bind_section("decoding", Settings, {"search": "beam", "beams": 2}, "decoding", where).beams == 2
    with pytest.raises(GraphError, match=r"decoding\.beams"):
        bind_section("decoding", Settings, {"search": "beam", "beams": 0}, "decoding", where)
    with pytest.raises(GraphError, match=r"decoding\.top_k"):
        bind_section("decoding", Settings, {"top_k": 3}, "decoding", where)


def test_what_cannot_be_generated_is_said_in_a_sentence():
    model = built(nodes("language_model", "gru"), "language_model")
    tagger = compile_graph(nodes("tagger", "gru"), TEMPLATES["tagger"]).materialise().eval()
    series = forecaster({"type": "gaussian"})
    source = {"source": Ids(torch.tensor([[2]]))}
    cases = [
        (lambda: generate(tagger, source), "generates nothing"),
        (lambda: generate(model, {}, head="outptu"), "Did you mean 'output'"),
        (lambda: generate(series, {}), "does not generate tokens"),
        (lambda: roll(model, {}, "output", 3), "does not generate real values"),
        (lambda: generate(built(nodes("seq2seq", "gru"), "seq2seq"), {}), "needs source, which is not given"),
        (lambda: generate(model, {}, Settings(allowed=[50])), "no token 50 in a vocabulary of 7"),
        (lambda: generate(model, {}, Settings(stops=["a"])), "Give 'show'"),
        (lambda: next(steps(model, {}, BEAMS)), "only at the end"),
        (lambda: generate(model, {}, prompt=Seq(torch.zeros(1, 2, 3))), "prompt is of kind seq"),  # type: ignore[arg-type]
        (lambda: generate(model, {}, Settings(search="beam", beams=9, best=9, length=1)), "Only 7 sequences"),
    ]
    for call, words in cases:
        with pytest.raises((UserError, Invalid)) as caught:
            call()
        assert words in str(caught.value)


def test_constraints_that_leave_nothing_are_said():
    with pytest.raises(UserError, match="rule out every token"):
        generate(endless("gru", vocabulary=3), {}, Settings(no_repeat=1, length=5))


def test_each_of_two_streams_is_followed_alone():
    """A graph that generates in both directions: neither head reads the other's sequence, unless one does."""
    fields = {"ahead": TOKENS, "back": TOKENS}
    one = nodes("language_model", "gru")
    found = {
        f"{name}_{way}": node | {"from": way if node["from"] == "target" else f"{node['from']}_{way}"}
        for way in fields
        for name, node in one.items()
    }
    for way in fields:
        found[f"output_{way}"]["predicts"] = way
    graph = compile_graph(found, fields).materialise().eval()
    alone = compile_graph({n: c for n, c in found.items() if n.endswith("ahead")}, {"ahead": TOKENS}).materialise()
    expected = generate(alone.eval(), {}, Settings(length=5)).tokens
    assert torch.equal(generate(graph, {}, Settings(length=5), head="output_ahead").tokens.values, expected.values)
    with pytest.raises(UserError, match="Say which one"):
        generate(graph, {})
    both = {"both": {"kind": "merge", "type": "add", "from": ["decoder_ahead", "decoder_back"]}}
    found["output_ahead"]["from"] = "both"
    fields["back"] = Field("ids", vocabulary=VOCABULARY, start=0, stop=1, axis="ahead")
    joined = compile_graph(found | both, fields).materialise().eval()
    with pytest.raises(UserError, match="which is generated as well"):
        generate(joined, {}, head="output_ahead")
