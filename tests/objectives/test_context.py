"""Skip-gram and continuous bag of words: windows around a word, drawn as word2vec draws them."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from composer.core.problems import UserError
from composer.core.signals import Field, Ids
from composer.graph.compiler import compile_graph
from composer.objectives import load_objective
from composer.objectives.context import kept_shares
from composer.testing.leaks import find_leak
from tests.support.objectives import FIRST, UNK, Given, listed, long_rows, ragged


def whole(name, source, split="train", epoch=0, **knobs):
    """The objective, and the batch of all its rows."""
    objective = load_objective({"type": name, "subsample": None, **knobs}, source)
    return objective, objective.batch(split, range(objective.size(split)), epoch)


@given(rows=ragged, window=st.integers(1, 4), epoch=st.integers(0, 2))
def test_a_row_is_a_position_and_its_window_is_symmetric_without_special_tokens(rows, window, epoch):
    _, batch = whole("cbow", Given(rows), epoch=epoch, window=window)
    found = iter(zip(batch.signals["target"].values.tolist(), listed(batch.signals["source"]),
                     batch.weights["target"].tolist(), strict=True))  # fmt: skip
    for row in rows:
        plain = [place for place, token in enumerate(row) if token > UNK]
        for place, token in enumerate(row):
            centre, words, weight = next(found)
            assert centre == token
            possible = [[]]
            if place in plain:
                at, kept = plain.index(place), [row[i] for i in plain]
                possible = [kept[max(0, at - r) : at] + kept[at + 1 : at + 1 + r] for r in range(1, window + 1)]
            assert words in possible
            assert weight == bool(words)
    assert next(found, None) is None


@given(rows=ragged, window=st.integers(1, 4))
def test_skip_gram_pairs_every_centre_with_the_words_that_cbow_predicts_it_from(rows, window):
    _, one = whole("skip_gram", Given(rows), window=window)
    _, other = whole("cbow", Given(rows), window=window)
    assert listed(one.signals["target"]) == listed(other.signals["source"])
    for centres, words, centre in zip(
        listed(one.signals["source"]), listed(one.signals["target"]), other.signals["target"].values.tolist(),
        strict=True,
    ):  # fmt: skip
        assert centres == [centre] * len(words)


def test_the_reach_of_a_window_is_uniform():
    window, length = 5, 41
    objective, _ = whole("skip_gram", Given(long_rows(3000, length)), window=window)
    middle = torch.arange(3000) * length + length // 2  # far from the ends of its row
    counts = objective.batch("train", middle).signals["target"].counts
    assert set(counts.tolist()) == {2, 4, 6, 8, 10}
    assert stats.chisquare(counts.div(2, rounding_mode="floor").bincount()[1:].numpy()).pvalue > 1e-3


def counted(rows, vocabulary=60):
    """A source that knows how frequent its tokens are."""
    source = Given(rows)
    counts = torch.tensor([token for row in rows for token in row]).bincount(minlength=vocabulary).double()
    shares = tuple((counts / counts.sum()).tolist())
    contents = replace(source.field.contents, special=(UNK,), frequency=shares)
    source.field = Field("ids", vocabulary=vocabulary, contents=contents)
    return source


def test_frequent_words_are_left_out_as_often_as_the_formula_says():
    generator = torch.Generator().manual_seed(0)
    shares = torch.tensor([0.0] * FIRST + [0.5, 0.3, 0.15, 0.04, 0.01] + [0.0] * (60 - FIRST - 5))
    rows = torch.multinomial(shares, 800 * 50, replacement=True, generator=generator).view(800, 50).tolist()
    source, t = counted(rows), 0.02
    _, batch = whole("cbow", source, subsample=t, window=1)
    centres, stayed = batch.signals["target"].values, batch.weights["target"] > 0
    for token in range(FIRST, FIRST + 5):
        share = source.field.contents.frequency[token]
        seen = int((centres == token).sum())
        chance = min(1.0, math.sqrt(t / share) + t / share)
        if chance < 1:
            assert stats.binomtest(int(stayed[centres == token].sum()), seen, chance).pvalue > 1e-3
        else:
            assert stayed[centres == token].all()


def test_a_window_reaches_across_the_words_that_are_left_out():
    rows = [[5, 9, 6]] * 200
    frequency = tuple(0.9999 if token == 9 else 1e-6 for token in range(60))
    source = Given(rows)
    source.field = Field("ids", vocabulary=60, contents=replace(source.field.contents, special=(), frequency=frequency))
    _, batch = whole("skip_gram", source, subsample=1e-6, window=1)
    assert listed(batch.signals["target"])[:3] == [[6], [], [5]]


def test_a_word_that_was_never_counted_always_stays():
    assert kept_shares(3, (0.0, 1e-4, 0.5), 1e-3).tolist() == pytest.approx([1, 1, math.sqrt(2e-3) + 2e-3])


def test_data_that_does_not_count_its_tokens_cannot_be_subsampled():
    source = Given([[5, 6]])
    source.field = Field("ids", vocabulary=60)
    with pytest.raises(UserError, match=r"objective\.subsample[\s\S]*does not count its tokens"):
        load_objective({"type": "cbow"}, source)


@pytest.mark.parametrize("name", ["skip_gram", "cbow"])
@pytest.mark.parametrize("split", ["train", "valid"])
def test_rows_are_made_from_the_rows_of_the_source_that_hold_them(name, split):
    rows = [[5], [], [6, 7, 8], [9, 10]]
    objective, _ = whole(name, Given(rows))
    assert objective.source_rows(split, range(6)).tolist() == [0, 2, 2, 2, 3, 3]
    assert objective.size(split) == 6


@pytest.mark.parametrize(("name", "pooled"), [("skip_gram", False), ("cbow", True)])
def test_no_change_of_the_text_shows_a_leak(name, pooled):
    objective = load_objective({"type": name, "window": 2, "subsample": None}, Given(long_rows(4, 9)))
    nodes = {"embedding": {"kind": "embedding", "type": "token", "from": "source", "dim": 8}}
    if pooled:
        nodes["pool"] = {"kind": "pool", "type": "mean", "from": "embedding"}
    nodes["output"] = {"kind": "head", "type": "categorical", "from": [*nodes][-1], "predicts": "target"}
    reveals = {field: objective.reveals(field) for field in objective.fields}
    graph = compile_graph(nodes, objective.fields, reveals=reveals).materialise(seed=1).double().eval()
    assert find_leak(graph, objective) == ""


def test_typed_words_are_encoded_without_special_tokens_and_shown_again():
    source = Given([[5, 6, 7]])
    source.encode = lambda field, values: Ids(torch.tensor([[5, 5, UNK, 6]] * len(values)))
    skip_gram, _ = whole("skip_gram", source)
    assert listed(skip_gram.encode("source", ["w1 w1 ? w2"])) == [[5, 5, 6]]
    assert skip_gram.show("source", skip_gram.encode("source", [""])) == ["w1 w2"]
    cbow, batch = whole("cbow", source)
    assert cbow.show("target", batch.signals["target"]) == ["w1", "w2", "w3"]
    with pytest.raises(UserError, match="has 3 words of the vocabulary"):
        cbow.encode("target", ["w1 w1 w2"])
