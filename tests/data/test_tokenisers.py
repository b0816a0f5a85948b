"""Texts to tokens and back."""

import json
import math
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.core.problems import Invalid
from composer.core.signals import Ids
from composer.data.codecs.text_codec import TextCodec
from composer.data.tokenisers.tokeniser import EOS, SOS, SPECIALS, UNK, Tokeniser, Tokenising

TYPES = ["characters", "bytes", "words", "bpe", "wordpiece"]
CORPUS = ["the cat sat on the mat.", "a dog, a cat!", "Über die Brücke", "x <eos> y", "日本 語", "the the the"] * 3
KNOWN = {kind: Tokeniser.learn(Tokenising(type=kind, vocabulary=400), lambda: CORPUS) for kind in TYPES}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.lists(
    st.sampled_from(["the", "cat", "mat.", "<eos>", "<sos>", "[MASK]", " ", "\n", "Ü", "a,"]), max_size=8
).map(" ".join)


@given(text=texts)
@pytest.mark.parametrize("kind", ["bytes", "bpe"])
def test_any_text_survives_bytes_and_bpe_unchanged(kind, text):
    known = KNOWN[kind]
    assert known.decode(known.encode([text])[0]) == text


@given(text=st.text(sorted(set("".join(CORPUS)))))
def test_a_text_of_known_characters_survives_unchanged(text):
    known = KNOWN["characters"]
    assert known.decode(known.encode([text])[0]) == text


@given(words=st.lists(st.sampled_from(["the", "cat", "sat", "on", "mat", ".", "a", "dog", ",", "!"]), max_size=9))
@pytest.mark.parametrize("kind", ["words", "wordpiece"])
def test_known_words_survive_but_for_their_spacing(kind, words):
    known = KNOWN[kind]
    ids = known.encode([" ".join(words)])[0]
    assert known.decode(ids).split() == words
    assert known.encode([known.decode(ids)])[0] == ids


@given(text=texts)
@pytest.mark.parametrize("kind", TYPES)
def test_no_text_spells_a_special_token(kind, text):
    known = KNOWN[kind]
    assert not {known.start, known.stop} & set(known.encode([text])[0])


def test_a_word_that_looks_special_is_unknown_even_when_words_are_cut_at_spaces_alone():
    options = Tokenising(type="words", punctuation=False, specials=["[MASK]"])
    known = Tokeniser.learn(options, lambda: ["a <eos> b [MASK]"])
    assert [known.tokens[i] for i in known.encode(["a <eos> [MASK] b"])[0]] == ["a", UNK, UNK, "b"]


@pytest.mark.parametrize("kind", TYPES)
def test_special_tokens_have_names_and_the_first_numbers(kind):
    known = Tokeniser.learn(
        Tokenising(type=kind, vocabulary=400, specials=["[MASK]", "[CLS]", "[SEP]"]), lambda: CORPUS
    )
    assert known.tokens[:6] == (*SPECIALS, "[MASK]", "[CLS]", "[SEP]")
    assert len(set(known.tokens)) == len(known.tokens)
    assert "[MASK]" in known.decode([known.ids["[MASK]"]])


@pytest.mark.parametrize("kind", TYPES)
def test_the_vocabulary_keeps_its_bound(kind):
    known = Tokeniser.learn(Tokenising(type=kind, vocabulary=270), lambda: CORPUS * 3)
    assert len(known.tokens) <= 270


def test_characters_are_what_the_library_makes_of_them():
    """An independent twin: the library's word level model over single characters."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    known = KNOWN["characters"]
    twin = Tokenizer(models.WordLevel(dict(known.ids), unk_token=UNK))
    twin.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    for text in [*CORPUS, "unknown: ☃\n"]:
        assert known.encode([text])[0] == twin.encode(text).ids


@pytest.mark.slow
def test_a_vocabulary_is_learned_the_same_way_in_another_process():
    code = (
        "import json; from composer.data.tokenisers.tokeniser import *\n"
        f"options = [Tokenising(type=kind, vocabulary=400) for kind in {TYPES!r}]\n"
        f"print(json.dumps([Tokeniser.learn(option, lambda: {CORPUS!r}).tokens for option in options]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [tuple(tokens) for tokens in json.loads(done.stdout)] == [KNOWN[kind].tokens for kind in TYPES]


@pytest.mark.parametrize("kind", TYPES)
def test_a_tokeniser_comes_back_from_plain_data(kind):
    known = KNOWN[kind]
    state = json.loads(json.dumps(known.state()))
    again = Tokeniser.restored(state)
    assert again.tokens == known.tokens
    assert [again.encode([text]) for text in CORPUS] == [known.encode([text]) for text in CORPUS]


def test_lowercase_is_part_of_the_tokeniser():
    known = Tokeniser.learn(Tokenising(lowercase=True), lambda: ["ABC"])
    assert known.tokens[3:] == ("a", "b", "c")
    assert known.decode(known.encode(["CAB"])[0]) == "cab"


@pytest.mark.parametrize("names", [["[MASK]", "[MASK]"], [""], [EOS], ["MASK"]])
def test_special_names_are_different_and_no_words(names):
    with pytest.raises(Invalid, match="specials"):
        TextCodec(Tokenising(specials=names))


def codec(values, **options):
    made = TextCodec(Tokenising(**options.pop("tokeniser", {})), **options)
    made.learn(lambda limit: values)
    return made


def test_a_text_ends_with_eos_and_is_cut_with_it():
    made = codec(["abcdef"], tokeniser={"max_length": 4})
    assert made.encode(["abcdef"], str) == [[*made.tokeniser.encode(["abc"])[0], made.tokeniser.stop]]


@given(text=st.text("abc", max_size=9))
def test_a_reversed_source_is_read_backwards_and_shown_forwards(text):
    made = codec(["abc"], reverse=True)
    (ids,) = made.encode([text], str)
    assert ids[:-1] == made.tokeniser.encode([text])[0][::-1]
    assert made.show(Ids(torch.tensor([ids]))) == [text]


def test_rarity_is_the_formula():
    made = codec(["ab", "ac", "ad", "aa"])
    idf = dict(zip(made.field.contents.tokens, made.field.contents.idf, strict=True))
    assert idf["a"] == 0
    assert idf["b"] == pytest.approx(math.log(4 / 1))
    assert idf[EOS] == 0
    assert idf[SOS] == pytest.approx(math.log(4))  # in no text: as rare as what is in one
