"""Masked tokens: how many are chosen, what stands in their place, and what a person is shown."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.data import load_source
from composer.objectives import load_objective
from tests.support.objectives import FIRST, VOCABULARY, long_rows, made, ragged, running


def test_of_15_per_cent_80_are_masked_10_are_random_and_10_stay():
    rows = long_rows(400, 200)
    source, target, batch = made("masked_token", rows)
    assert target == rows
    hidden = batch.weights["target"].bool()
    assert float(hidden.float().mean()) == pytest.approx(0.15, abs=0.001)
    before, after = torch.tensor(target)[hidden], torch.tensor(source)[hidden]
    count = len(before)
    assert (torch.tensor(source) == torch.tensor(target))[~hidden].all(), "what is not chosen stays"
    plain = VOCABULARY - FIRST
    masked, same = float((after == VOCABULARY).float().mean()), float((after == before).float().mean())
    assert masked == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / count))
    assert same == pytest.approx(0.1 + 0.1 / plain, abs=4 * math.sqrt(0.09 / count))
    others = Counter(after[(after != VOCABULARY) & (after != before)].tolist())
    assert min(others) >= FIRST
    expected = sum(others.values()) / plain
    assert len(others) == plain
    assert all(abs(found - expected) < 5 * math.sqrt(expected) for found in others.values())
    places = hidden.float().mean(0)  # every step is as likely as any other
    assert float((places - 0.15).abs().max()) < 5 * math.sqrt(0.15 * 0.85 / len(rows))


@given(rows=st.one_of(ragged, running), share=st.floats(0.01, 1))
def test_special_tokens_are_never_chosen_and_at_least_one_other_is(rows, share):
    _, target, batch = made("masked_token", rows, share=share)
    assert target == rows
    for row, weights in zip(rows, batch.weights["target"].tolist(), strict=True):
        able = [token >= FIRST for token in row]
        assert all(ok or not weight for ok, weight in zip([*able, *[False] * 99], weights, strict=False))
        assert max(1, math.floor(share * sum(able))) <= sum(weights) + (not any(able))
        assert sum(weights) <= max(1, math.ceil(share * sum(able)))


def test_masks_alone_or_none_at_all():
    rows = long_rows(20, 50)
    for knobs, expected in (({"masked": 1.0, "random": 0.0}, True), ({"masked": 0.0, "random": 0.0}, False)):
        source, _, batch = made("masked_token", rows, **knobs)
        hidden = batch.weights["target"].bool()
        assert ((torch.tensor(source) == VOCABULARY) == (hidden & expected)).all()
        assert expected or source == rows


def table(folder, text, **knobs):
    (folder / "a.tsv").write_text(text)
    return load_source({"type": "pairs", "path": f"{folder}/a.tsv", "valid": 0, **knobs})


@pytest.mark.parametrize(
    ("tokeniser", "shown"),
    [
        ({"type": "words"}, "[MASK] [MASK] [MASK]"),
        ({"type": "wordpiece"}, "[MASK]"),
        ({"type": "characters"}, "[MASK][MASK]"),
        ({"type": "bytes"}, "[MASK][MASK]"),
    ],
)
def test_masks_are_shown_as_the_text_would_have_shown_a_token(tmp_path, tokeniser, shown):
    source = table(tmp_path, "x\tthe cat sat\ny\ta dog ran\n", tokeniser=tokeniser)
    objective = load_objective({"type": "masked_token", "share": 1.0, "masked": 1.0, "random": 0.0}, source)
    batch = objective.batch("train", range(2))
    for text in objective.show("source", batch.signals["source"]):
        assert shown in text
        assert not set(text.replace("[MASK]", "")) - {" "}
    assert objective.show("target", batch.signals["target"]) == ["the cat sat", "a dog ran"]


@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_not_hidden_is_shown_in_its_place(tmp_path, reverse):
    source = table(tmp_path, "abcdefgh\tx\nhgfedcba\ty\n", reverse_source=reverse)
    objective = load_objective({"type": "masked_token", "field": "source", "masked": 1.0, "random": 0.0}, source)
    for epoch in range(5):
        signals = objective.batch("train", range(2), epoch).signals
        for text, whole in zip(objective.show("source", signals["source"]), ["abcdefgh", "hgfedcba"], strict=True):
            assert any(text == whole[:i] + "[MASK]" + whole[i + 1 :] for i in range(8)) or text.count("[MASK]") == 2
        assert objective.show("target", signals["target"]) == ["abcdefgh", "hgfedcba"]


@pytest.mark.parametrize(
    ("name", "knobs"), [("masked_token", {"masked": 1.0, "random": 0.0}), ("denoising", {"mask_share": 0.9})]
)
def test_the_mask_is_one_more_token_unless_there_is_one(tmp_path, name, knobs):
    text = "x\tthe cat sat\ny\ta dog ran\n"
    plain = table(tmp_path, text, tokeniser={"type": "words"})
    fields = load_objective({"type": name}, plain).fields
    known = plain.fields["target"]
    for field in fields.values():
        assert field.contents.tokens == (*known.contents.tokens, "[MASK]")
        assert field.vocabulary == known.vocabulary + 1
        assert field.contents.idf == (*known.contents.idf, 0.0)
    knows = table(tmp_path, text, tokeniser={"type": "words", "specials": ["[MASK]", "[CLS]"]})
    objective = load_objective({"type": name, **knobs}, knows)
    known = knows.fields["target"]
    for field in objective.fields.values():
        assert field.contents.tokens == known.contents.tokens
        assert field.contents.idf[known.contents.tokens.index("[MASK]")] == 0.0
    shown = objective.show("source", objective.batch("train", range(2)).signals["source"])
    assert all("[MASK]" in text for text in shown)
    assert "[CLS]" not in "".join(shown)
