"""Searches and their constraints, against enumerating every sequence and against the model's own probabilities."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

from composer.core.signals import Ids, Signal
from composer.decoding import Settings, generate, greedy, steps
from composer.graph.graph import Graph
from tests.support.rereading import (
    PROMPT,
    SOURCES,
    built,
    endless,
    reread,
    same_as_reread,
    small,
)
from tests.support.templates import VOCABULARY, nodes


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


@pytest.mark.slow
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
