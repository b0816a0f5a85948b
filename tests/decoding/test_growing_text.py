"""Texts that are decoded as they grow: the pieces put together are the text of all tokens, whatever the tokeniser."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.core.signals import Ids
from composer.data.codecs.joined_codec import JoinedCodec
from composer.data.codecs.text_codec import TextCodec
from composer.data.tokenisers.tokeniser import Tokenising
from composer.decoding import Settings, generate, steps
from composer.decoding.growing_text import GrowingText, ShownRow
from tests.support.rereading import endless

#: Letters of one to four bytes, which BPE with few merges cuts into several tokens.
TEXTS = ["the cat sat on the mat", "naïve café über €5", "日本語のテキスト", "🙂 😀 smile 👩‍🚀", "a-b c_d  e"]
STOPS = [["t"], ["at", "on t"], [" c"], ["é"], ["日本", "zzz"], ["🙂"], ["aa"]]


def text_codec(type, **more):
    codec = TextCodec(Tokenising(type=type, vocabulary=300 if type in ("bpe", "wordpiece") else 60), **more)
    codec.learn(lambda limit: iter(TEXTS * 3))
    return codec


def joined_codec():
    codec = JoinedCodec({"letters": text_codec("characters"), "words": text_codec("words")}, " | ")
    codec.learn(lambda limit: iter([{"letters": text, "words": text} for text in TEXTS]))
    return codec


CODECS = {name: text_codec(name) for name in ("characters", "bytes", "words", "bpe", "wordpiece")}
CODECS |= {"reversed": text_codec("bpe", reverse=True), "joined": joined_codec()}


def counting(codec):
    """The text of tokens, and a list of the numbers of tokens that were decoded."""
    decoded: list[int] = []

    def show(tokens):
        decoded.append(len(tokens))
        return codec.show(Ids(torch.tensor([tokens], dtype=torch.long)))[0]

    return show, decoded


@st.composite
def cases(draw, longest=40):
    """A tokeniser, tokens of a prefix and generated ones: at random, or those of a text; never <eos>."""
    name = draw(st.sampled_from(sorted(CODECS)))
    field = CODECS[name].field
    token = st.integers(0, field.vocabulary - 1).filter(lambda token: token != field.stop)
    of_text = [i for i in range(field.vocabulary) if i not in {field.start, field.stop, *field.contents.special}]
    rows = st.lists(token, max_size=longest) | st.lists(st.sampled_from(of_text), max_size=longest)
    return name, draw(st.lists(st.sampled_from(of_text), max_size=12)), draw(rows)


def row_of(name, prefix, repeats, show):
    return ShownRow(show, tuple(prefix), repeats, CODECS[name].field.contents.grows)


@given(cases(), st.booleans())
def test_the_pieces_put_together_are_the_text_of_all_tokens(case, repeats):
    name, prefix, tokens = case
    row = row_of(name, prefix, repeats, counting(CODECS[name])[0])
    text, pieces = GrowingText(row), []
    for token in tokens:
        text.add(token)
        pieces.append(text.fresh())
    assert "".join([*pieces, text.fresh(last=True)]) == row(tokens)


@given(cases(), st.sampled_from(STOPS), st.booleans())
def test_a_stop_text_ends_a_row_at_the_token_that_completes_it(case, stops, repeats):
    name, prefix, tokens = case
    row = row_of(name, prefix, repeats, counting(CODECS[name])[0])
    text, pieces, stopped, count = GrowingText(row, stops), [], False, 0
    for count, token in enumerate(tokens, 1):  # noqa: B007
        stopped = text.add(token)
        pieces.append(text.fresh(last=stopped))
        if stopped:
            break
    pieces.append("" if stopped else text.fresh(last=True))
    texts = [row(tokens[: n + 1]) for n in range(len(tokens))]
    first = next((n for n, shown in enumerate(texts) if any(stop in shown for stop in stops)), None)
    assert stopped == (first is not None)
    if first is None:
        assert "".join(pieces) == row(tokens)
    else:
        assert count == first + 1
        assert "".join(pieces) == texts[first][: min(texts[first].find(s) for s in stops if s in texts[first])]


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("kind", ["random", "one token for ever"])
def test_the_work_grows_in_proportion_to_the_text(name, kind):
    codec = CODECS[name]
    allowed = [i for i in range(codec.field.vocabulary) if i != codec.field.stop]

    def decoded(length, token=None):
        show, counts = counting(codec)
        text = GrowingText(row_of(name, (), True, show))
        drawn = torch.randint(len(allowed), (length,), generator=torch.Generator().manual_seed(1)).tolist()
        for place in drawn:
            text.add(allowed[place] if token is None else token)
            text.fresh()
        text.fresh(last=True)
        return sum(counts)

    for token in [None] if kind == "random" else allowed[:: max(1, len(allowed) // 60)]:
        assert decoded(1600, token) <= 2.2 * decoded(800, token) + 100
        assert decoded(1600, token) < 30 * 1600


def letters(tokens):
    letters.decoded += len(tokens)
    return "".join("_<ABabc"[token] for token in tokens)


@pytest.mark.parametrize("search", ["greedy", "sample", "beam"])
def test_a_generation_that_nobody_watches_decodes_each_row_once(search):
    letters.decoded = 0
    length = 40
    found = generate(endless("gru"), {}, Settings(search=search, length=length), show=letters).rows[0]
    assert letters.decoded == length
    assert found[0].text == letters(found[0].tokens.tolist())


def test_a_generation_that_is_watched_or_may_stop_decodes_a_few_tokens_for_each():
    for settings in (Settings(length=200), Settings(length=200, stops=["zz"])):
        letters.decoded = 0
        texts = [step.texts for step in steps(endless("gru"), {}, settings, show=letters)]
        assert letters.decoded < 10 * len(texts)
    letters.decoded = 0
    generate(endless("gru"), {}, Settings(search="beam", beams=3, length=200, stops=["zz"]), show=letters)
    assert letters.decoded < 3 * 10 * 200
