"""BLEU and chrF, against sacreBLEU and against figures that sacreBLEU 2.6.0 gave."""

import random
from dataclasses import replace

import pytest
import torch
from sacrebleu.metrics import BLEU, CHRF

from composer.core.signals import Label
from tests.support.metrics import TARGETS, metric, seen, value

PIECES = ["the", "cat", "sat", "on", "mat,", "U.S.", "3.5", "1,000", "a-b", "5-6", "don't", "&amp;", "<b>", "naïve",
          "日本", "(x)", "“q”", "…", "it.", "\n", "-\n", "<skipped>"]  # fmt: skip


def corpus(seed, most=3):
    """Predictions, each with one to ``most`` references, some of them equal, short or empty."""
    rng = random.Random(seed)
    found, wanted = [], []
    for _ in range(25):
        texts = [" ".join(rng.choice(PIECES) for _ in range(rng.randint(0, 14))) for _ in range(rng.randint(1, most))]
        words = [word if rng.random() < 0.8 else rng.choice(PIECES) for word in rng.choice(texts).split(" ")]
        found.append(" ".join(words[: rng.randint(1, 15)]))
        wanted.append(texts)
    return found, wanted


def scored(name, wanted, found, field=TARGETS["ids"]):
    places = torch.arange(len(found))
    view = seen(Label(places), Label(places), show=lambda s: [found[i] for i in s.values])
    view.__dict__["references"] = wanted
    return metric(name, field, aligned=False), view


def streams(wanted):
    """References as sacreBLEU takes them: the first of every row, the second of every row, ...; None where missing."""
    return [[texts[i] if i < len(texts) else None for texts in wanted] for i in range(max(map(len, wanted)))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("tokens", ["13a", "zh", "char", "none"])
def test_bleu_is_that_of_sacrebleu(seed, most, tokens):
    found, wanted = corpus(seed, most)
    reference = BLEU(tokenize=tokens, force=True)
    expected = reference.corpus_score(found, streams(wanted)).score
    field = replace(TARGETS["ids"], contents=replace(TARGETS["ids"].contents, bleu=tokens))
    assert value(*scored("bleu", wanted, found, field)) == pytest.approx(expected / 100, rel=1e-9)
    signature = metric("bleu", field, aligned=False).signature("1" if most == 1 else "var")
    assert signature.rpartition("|version")[0] == str(reference.get_signature()).rpartition("|version")[0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 3])
def test_chrf_is_that_of_sacrebleu(seed, most):
    found, wanted = corpus(seed, most)
    reference = CHRF()
    expected = reference.corpus_score(found, streams(wanted)).score
    assert value(*scored("chrf", wanted, found)) == pytest.approx(expected / 100, rel=1e-9)
    signature = metric("chrf", TARGETS["ids"], aligned=False).signature("1" if most == 1 else "var")
    assert signature.rpartition("|version")[0] == str(reference.get_signature()).rpartition("|version")[0]


def test_figures_of_sacrebleu_2_6():
    """Figures that this version printed for these texts."""
    found = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]
    wanted = [
        ["The dog bit the man.", "The dog had bit the man."],
        ["It was not unexpected.", "No one was surprised."],
        ["The man bit him first.", "The man had bitten the dog."],
    ]
    assert value(*scored("bleu", wanted, found)) == pytest.approx(0.4853083, abs=1e-6)
    assert value(*scored("chrf", wanted, found)) == pytest.approx(0.5972752, abs=1e-6)
    one = [texts[:1] for texts in wanted]
    assert value(*scored("bleu", one, found)) == pytest.approx(0.4506751, abs=1e-6)


def test_a_text_is_right_if_it_is_any_of_its_references():
    wanted, found = [["a b c", "d e"], ["a b", "x y z"], ["p", "q"]], ["d e", "a b c", "r"]
    assert value(*scored("exact", wanted, found)) == pytest.approx(1 / 3)
    assert value(*scored("wer", wanted, found)) == pytest.approx((0 + 1 + 1) / (2 + 2 + 1))
    assert value(*scored("cer", wanted, found)) == pytest.approx((0 + 3 + 1) / (3 + 5 + 1))
