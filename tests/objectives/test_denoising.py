"""Denoising: spans of Poisson lengths, lost tokens and sentences in another order, as the papers have them."""

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.objectives import EOS, FIRST, TOKENS, VOCABULARY, Given, made


def spans(source, target, mask=VOCABULARY):
    """Between two tokens that stayed, and before and after all: how many masks, and how many tokens are gone.

    Every token of ``target`` is there once, so its place is known.
    """
    place = {token: i for i, token in enumerate(target)}
    found, masks, last = [], 0, -1
    for token in [*source, None]:
        if token == mask:
            masks += 1
        else:
            at = len(target) if token is None else place[token]
            assert at > last, "the order is kept"
            found.append((masks, at - last - 1))
            masks, last = 0, at
    return found


def counting(count, length):
    vocabulary = FIRST + length
    rows = [list(range(FIRST, vocabulary)) for _ in range(count)]
    return Given(rows, vocabulary, tuple(str(i) for i in range(vocabulary))), vocabulary


def test_spans_are_poisson_and_hide_the_share_that_was_asked_for():
    rows, mask = counting(60, 2000)
    source, target, _ = made("denoising", rows, mask_share=0.2, mean_span=3)
    gaps = [gap for a, b in zip(source, target, strict=True) for gap in spans(a, b, mask)]
    assert sum(gone for _, gone in gaps) == 60 * 400
    assert not [gap for gap in gaps if gap[1] and not gap[0]], "nothing goes without a mask"
    lengths = Counter(gone for masks, gone in gaps if masks == 1)  # two in one place cannot be told apart
    total = sum(lengths.values())
    assert total > 6000
    for k in range(9):
        expected = math.exp(-3) * 3**k / math.factorial(k)
        assert lengths[k] / total == pytest.approx(expected, abs=0.02), k
    early = [row[: len(row) // 2].count(mask) / row.count(mask) for row in source]
    assert sum(early) / len(early) == pytest.approx(0.5, abs=0.02), "spans fall anywhere"


@given(
    length=st.integers(1, 30), share=st.floats(0, 0.99), mean=st.floats(0.1, 9), lost=st.floats(0, 0.99),
    ended=st.booleans(), epoch=st.integers(0, 5),
)  # fmt: skip
def test_what_is_left_of_a_row_stands_in_its_order_and_its_end_at_the_end(length, share, mean, lost, ended, epoch):
    rows, mask = counting(3, length)
    rows.rows = [[*row, EOS] if ended else row for row in rows.rows]
    knobs = {"mask_share": share, "mean_span": mean, "delete_share": lost}
    for a, b in zip(*made("denoising", rows, epoch=epoch, **knobs)[:2], strict=True):
        assert b == rows.rows[0]
        assert (a[-1] == EOS) == ended
        body = a[:-1] if ended else a
        assert body, "something is left"
        gone = sum(gone for _, gone in spans(body, range(FIRST, FIRST + length), mask))
        deleted = [min(length - 1, f(lost * length)) for f in (math.floor, math.ceil)]
        hidden = [[f(share * (length - d)) for f in (math.floor, math.ceil)] for d in deleted]
        assert gone <= deleted[1] + hidden[0][1]
        if mean >= 1 and length > 10:  # spans of length 0 do not use up those that there may be
            assert gone >= deleted[0] + hidden[1][0]


def test_tokens_are_lost_evenly():
    rows, mask = counting(300, 50)
    source, _, _ = made("denoising", rows, mask_share=0.0, delete_share=0.1)
    assert {len(row) for row in source} == {45}
    kept = Counter(token for row in source for token in row)
    assert mask not in kept
    assert all(count == pytest.approx(270, abs=5 * math.sqrt(300 * 0.09)) for count in kept.values())


def test_sentences_change_places_and_every_order_is_as_likely():
    stop = TOKENS.index(".")
    sentences = [[10, 11, stop], [20, stop], [30, 31, 32]]
    row = [*itertools.chain(*sentences), EOS]
    source, target, _ = made("denoising", [row] * 1200, mask_share=0.0, permute=True)
    assert target == [row] * 1200
    orders = {(*itertools.chain(*order), EOS): 0 for order in itertools.permutations(sentences)}
    for found in source:
        orders[tuple(found)] += 1
    assert all(count == pytest.approx(200, abs=5 * math.sqrt(200)) for count in orders.values())
