"""Settings that cannot be, and graphs that cannot generate, are refused in a sentence."""

from __future__ import annotations

import pytest
import torch

import composer.decoding
from composer.core.binding import bind_section
from composer.core.problems import ConfigError, Invalid, UserError
from composer.core.signals import Field, Ids, Seq
from composer.decoding import Settings, forecast, generate, steps
from composer.graph.compiler import compile_graph
from tests.support.rereading import (
    BEAMS,
    built,
    endless,
    forecaster,
)
from tests.support.templates import TEMPLATES, TOKENS, VOCABULARY, nodes


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
    assert bind_section("decoding", Settings, {"search": "beam", "beams": 2}, "decoding", where)().beams == 2
    with pytest.raises(ConfigError, match=r"decoding\.beams"):
        bind_section("decoding", Settings, {"search": "beam", "beams": 0}, "decoding", where)()
    with pytest.raises(ConfigError, match=r"decoding\.top_k"):
        bind_section("decoding", Settings, {"top_k": 3}, "decoding", where)()


def test_what_cannot_be_generated_is_said_in_a_sentence():
    model = built(nodes("language_model", "gru"), "language_model")
    tagger = compile_graph(nodes("tagger", "gru"), TEMPLATES["tagger"]).materialise().eval()
    series = forecaster({"type": "gaussian"})
    source = {"source": Ids(torch.tensor([[2]]))}
    cases = [
        (lambda: generate(tagger, source), "generates nothing"),
        (lambda: generate(model, {}, head="outptu"), "Did you mean 'output'"),
        (lambda: generate(series, {}), "does not generate tokens"),
        (lambda: forecast(model, {}, "output", 3), "does not generate real values"),
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


@pytest.mark.parametrize(("old", "new"), [("roll", "forecast"), ("Result", "Generated")])
def test_earlier_names_work_and_say_the_present_ones(old, new):
    with pytest.warns(DeprecationWarning, match=f"composer.decoding.{old} is now composer.decoding.{new}"):
        assert getattr(composer.decoding, old) is getattr(composer.decoding, new)
