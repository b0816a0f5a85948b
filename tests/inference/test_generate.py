"""``generate``: what decoding says, for prompts typed, piped or read, with the settings of the command."""

import io
import json
import sys

import pytest

import composer
from composer.config.composition import compose
from composer.decoding import Settings, generate
from composer.inference.find_checkpoint import find_checkpoint
from composer.runs import checkpoint
from composer.training.run.train import train
from tests.support.trained import (
    FAMILIES,
    GENERATING,
    SMALL,
    TYPED,
    lines,
)


@pytest.mark.parametrize("family", GENERATING)
def test_generate_says_what_decoding_says(runs, ask, family):
    folder, prompts = runs(family), TYPED[family]
    code, out, _ = ask("generate", folder, *prompts, "--length", 8, "--search", "greedy", "--json")
    assert code == 0
    graph, objective = checkpoint.rebuild(checkpoint.load(find_checkpoint(folder)))
    for prompt, record in zip(prompts, lines(out), strict=True):
        if family == "language_model":
            signal = objective.encode("target", [prompt])
            found = generate(graph, {}, Settings(length=8), prompt=signal)
        else:
            found = generate(graph, {"source": objective.encode("source", [prompt])}, Settings(length=8))
        assert record["prompt"] == prompt
        assert record["text"] == objective.show("target", found.tokens)[0]
        assert record["log_probability"] == pytest.approx(found.rows[0][0].log_probability, abs=1e-4)


@pytest.mark.parametrize("family", GENERATING)
def test_a_batch_of_prompts_is_each_of_them_alone(runs, family):
    model = composer.load(runs(family))
    together = model.generate(TYPED[family], length=8, search="greedy")
    alone = [model.generate([prompt], length=8, search="greedy")[0] for prompt in TYPED[family]]
    assert [generation.text for generation in together] == [generation.text for generation in alone]


def test_prompts_come_from_standard_input_too(runs, ask, monkeypatch):
    folder = runs("seq2seq")
    monkeypatch.setattr(sys, "stdin", io.StringIO("red green\nblue\n"))
    _, out, _ = ask("generate", folder, "-", "--length", 6)
    assert out == ask("generate", folder, "red green", "blue", "--length", 6)[1]
    assert len(out.splitlines()) == 2


def test_a_language_model_goes_on_with_its_prompt_and_can_begin_from_nothing(runs, ask):
    folder = runs("language_model")
    _, out, _ = ask("generate", folder, "red", "", "--length", 10, "--seed", 3)
    first, second = out.splitlines()[0], out.splitlines()[-1]
    assert first.startswith("red")
    assert second
    model = composer.load(folder)
    assert model.generate("red", length=10, seed=3)[0].text == "".join(model.stream("red", length=10, seed=3))
    texts = {model.generate("red", length=10, seed=seed)[0].text for seed in range(5)}
    assert len(texts) > 1, "what begins from nothing given is drawn"


def test_beams_forced_tokens_allowed_tokens_and_stops(runs, ask):
    folder = runs("seq2seq")
    _, out, _ = ask("generate", folder, "red green", "--beams", 4, "--n-best", 3, "--length", 6, "--json")
    (record,) = lines(out)
    scores = [record["score"], *(other["score"] for other in record["others"])]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    model = composer.load(folder)
    assert model.generate("red green", forced="bl", length=6)[0].text.startswith("bl")
    assert set(model.generate("red", allowed="ab", length=6, search="sample")[0].text) <= {"a", "b"}
    whole = model.generate("red", search="sample", length=30, seed=1)[0].text
    stop = whole[2:4]
    assert model.generate("red", search="sample", length=30, seed=1, stops=[stop])[0].text == whole[: whole.find(stop)]


def test_prompts_and_overrides_may_come_after_options(runs, ask, refused):
    first = ask("generate", runs("copy"), "1 2", "3", "--length", 4)
    assert ask("generate", runs("copy"), "1 2", "--length", 4, "3") == first
    _, out, _ = ask("evaluate", runs("copy"), "--rows", 8, "data.length=3", "--json")
    assert json.loads(out)["examples"] == 8
    assert "unrecognized arguments: --lenght 4" in refused("generate", runs("copy"), "1", "--lenght", 4)
    assert "0 is not at least 1" in refused("generate", runs("copy"), "1", "--beams", 0)


def test_at_a_terminal_it_answers_prompt_after_prompt_as_tokens_come(runs, ask, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("red green\n\nblue\n"))
    code, out, err = ask("generate", runs("seq2seq"), "--length", 5)
    assert code == 0
    assert "an empty prompt" in err, "a bad prompt is said, and the next one asked for"
    model = composer.load(runs("seq2seq"))
    for prompt in ("red green", "blue"):
        assert model.generate(prompt, length=5)[0].text in out


def test_a_token_that_training_never_had_is_named(runs, ask, refused):
    _, _, err = ask("generate", runs("seq2seq"), "red ☃", "--length", 3)
    assert "'☃'" in err
    assert lines(ask("generate", runs("seq2seq"), "☃", "--length", 3, "--json")[1])[0]["unknown"] == ["☃"]
    assert "'9' is no token of this data." in refused("generate", runs("copy"), "1 9")
    _, out, _ = ask("predict", runs("tagger"), "--given", "red unheard")
    assert lines(out)[0]["unknown"] == ["unheard"]
    _, _, err = ask("generate", runs("vec2seq"), "colour=violet", "--length", 3)
    assert "'violet'" in err
    assert "Did you mean 'colour'?" in refused("generate", runs("vec2seq"), "color=red")


@pytest.mark.parametrize(
    ("family", "arguments", "words"),
    [
        ("seq2seq", [""], "an empty prompt: this model needs its 'source'"),
        ("seq2seq", [], "there is no prompt"),
        ("seq2seq", ["red", "--temperature", "0"], "--temperature"),
        ("seq2seq", ["red", "--top-k", "3", "--search", "greedy"], "--top-k: 3 has no effect"),
        ("seq2seq", ["red", "--beams", "2", "--n-best", "5"], "--n-best: 5 sequences cannot come out of 2 beams"),
        ("seq2seq", ["red", "--device", "nowhere"], "--device"),
        ("language_model", ["red", "--forced", "x"], "write the forced tokens there"),
        ("vec2seq", ["0.1,0.2"], "gives no attributes"),
        ("forecaster", ["1 2"], "this model generates no tokens: it predicts target (seq). Use predict."),
        ("seq2vec", ["red"], "it predicts target (label). Use predict."),
        ("masked", ["red"], "Use predict."),
    ],
)
def test_a_prompt_or_setting_that_cannot_be_is_one_clear_sentence(runs, refused, monkeypatch, family, arguments, words):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert words in refused("generate", runs(family), *arguments)


@pytest.mark.slow
def test_a_prompt_longer_than_the_positions_is_refused(home, refused, monkeypatch):
    monkeypatch.chdir(home)
    learned = ["position=learned", "position.limit=40", "name=learned"]
    folder = train(compose([*SMALL, *FAMILIES["seq2seq"], *learned])).folder.path
    assert "longer than the 40 positions" in refused("generate", folder, "red " * 20)
