"""Generated tasks against solvers that know nothing of how they were made: they read what a person reads."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.core import registry
from composer.core.problems import ConfigError
from composer.core.signals import Timed
from composer.data import SPLITS, load_source
from composer.data.counter_random import uniform
from composer.data.generated_source import GeneratedSource

SOURCES = {name: entry for name, entry in registry.entries("data").items() if isinstance(entry, type)}
TASKS = [name for name, cls in SOURCES.items() if issubclass(cls, GeneratedSource)]
ROWS = list(range(40))
seeds = st.integers(0, 2**40)
lengths = st.tuples(st.integers(1, 12), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair)))


def shown(source, split="train", rows=ROWS):
    batch = source.batch(split, rows)
    return zip(*(source.show(name, batch[name]) for name in source.fields), strict=True)


#: What a person would answer.
SOLVERS = {
    "copy": lambda symbols: symbols,
    "reverse": lambda symbols: list(reversed(symbols)),
    "sort": lambda symbols: sorted(symbols, key=int),
}


@given(seed=seeds, span=lengths, symbols=st.integers(1, 30))
@pytest.mark.parametrize("name", SOLVERS)
def test_sequences(name, seed, span, symbols):
    low, high = span
    source = load_source({"type": name, "seed": seed, "min_length": low, "length": high, "symbols": symbols})
    for given_, wanted in shown(source):
        assert wanted.split() == SOLVERS[name](given_.split())
        assert low <= len(given_.split()) <= high
        assert {int(symbol) for symbol in given_.split()} <= set(range(symbols))


@given(seed=seeds, length=st.integers(2, 30))
def test_adding(seed, length):
    batch = load_source({"type": "adding", "seed": seed, "length": length}).batch("train", ROWS)
    for row, total in zip(batch["source"].values.tolist(), batch["target"].values.tolist(), strict=True):
        marked = [number for number, mark in row if mark == 1]
        assert len(marked) == 2
        assert len(row) == length
        assert total == [pytest.approx(sum(marked))]


@given(seed=seeds, length=st.integers(5, 40), copied=st.integers(1, 5))
@pytest.mark.parametrize("aligned", [True, False])
def test_selective_copying(aligned, seed, length, copied):
    config = {"type": "selective_copying", "seed": seed, "length": length, "copied": copied, "aligned": aligned}
    for given_, wanted in shown(load_source(config)):
        symbols = [token for token in given_.split() if token.isdigit()]
        assert len(symbols) == copied
        answer = wanted.split()
        assert answer[-copied:] == symbols
        assert set(answer[:-copied]) <= {"<blank>"}
        assert len(answer) == (length + copied if aligned else copied)


@given(seed=seeds, pairs=st.integers(1, 8), data=st.data())
def test_associative_recall(seed, pairs, data):
    queries = data.draw(st.integers(1, pairs))
    config = {"type": "associative_recall", "seed": seed, "keys": 10, "values": 5, "pairs": pairs, "queries": queries}
    for given_, wanted in shown(load_source(config)):
        tokens, answers = given_.split(), wanted.split()
        memory = dict(zip(tokens[: 2 * pairs : 2], tokens[1 : 2 * pairs : 2], strict=True))
        assert len(memory) == pairs
        assert answers[: 2 * pairs] == ["<blank>"] * (2 * pairs)
        assert answers[2 * pairs :] == [memory[key] for key in tokens[2 * pairs :]]
        assert len(set(tokens[2 * pairs :])) == queries


@given(seed=seeds, length=st.integers(3, 30))
def test_induction(seed, length):
    for given_, wanted in shown(load_source({"type": "induction", "seed": seed, "length": length})):
        tokens = given_.split()
        assert len(tokens) == length
        assert tokens.count("<mark>") == 2
        assert tokens[-1] == "<mark>"
        assert wanted == tokens[tokens.index("<mark>") + 1]


@given(seed=seeds, span=lengths)
@pytest.mark.parametrize("aligned", [True, False])
def test_parity(aligned, seed, span):
    low, high = span
    config = {"type": "parity", "seed": seed, "min_length": low, "length": high, "aligned": aligned}
    for given_, wanted in shown(load_source(config)):
        bits = given_.split()
        ends = range(1, len(bits) + 1) if aligned else [len(bits)]
        assert wanted.split() == [("even", "odd")[bits[:end].count("1") % 2] for end in ends]


@given(seed=seeds, span=lengths, kinds=st.integers(1, 4), depth=st.integers(1, 6))
def test_dyck(seed, span, kinds, depth):
    low, high = span
    config = {"type": "dyck", "seed": seed, "min_length": low, "length": high, "kinds": kinds, "depth": depth}
    for given_, wanted in shown(load_source(config)):
        assert low <= len(given_.split()) <= high
        word = (given_ + wanted).replace(" ", "")
        deepest = max(sum(1 if c in "([{<" else -1 for c in word[:end]) for end in range(len(word) + 1))
        assert deepest <= depth
        assert set(wanted.split()) <= set(")]}>")
        while word != (shorter := word.replace("()", "").replace("[]", "").replace("{}", "").replace("<>", "")):
            word = shorter
        assert word == ""


@given(seed=seeds)
def test_sine_without_noise_obeys_the_recurrence_of_a_sine(seed):
    """x_{t+1} + x_{t-1} = 2 cos(2 pi / p) x_t, over what is given and what is asked for alike."""
    source = load_source({"type": "sine", "seed": seed, "noise": 0.0, "min_period": 8.0, "max_period": 8.0})
    batch = source.batch("train", ROWS)
    wave = torch.cat([batch["source"].values, batch["target"].values], dim=1)[..., 0]
    torch.testing.assert_close(
        wave[:, 2:] + wave[:, :-2], 2 * math.cos(2 * math.pi / 8) * wave[:, 1:-1], atol=1e-5, rtol=0
    )
    assert bool((wave.abs().amax(1) <= 1).all())
    assert bool((wave.abs().amax(1) > 0.45).all())


def test_sine_is_as_noisy_as_it_says():
    quiet, noisy = (load_source({"type": "sine", "noise": noise}).batch("train", range(500)) for noise in (0.0, 0.3))
    noise = noisy["source"].values - quiet["source"].values
    assert float(noise.std()) == pytest.approx(0.3, rel=0.02)
    assert float(noise.mean()) == pytest.approx(0, abs=0.01)
    assert torch.equal(quiet["target"].values, noisy["target"].values)


@pytest.mark.parametrize("name", TASKS)
def test_an_example_is_a_function_of_seed_split_and_number(name):
    source, again = load_source({"type": name}), load_source({"type": name})
    other = load_source({"type": name, "seed": 1})
    for split in SPLITS:
        some = source.batch(split, [7, 3, 900])
        assert again.show("source", again.batch(split, [3])["source"])[0] == source.show("source", some["source"])[1]
        assert source.show("source", some["source"]) != other.show("source", other.batch(split, [7, 3, 900])["source"])
    train, valid = (source.show("source", source.batch(split, ROWS)["source"]) for split in ("train", "valid"))
    assert train != valid


@pytest.mark.parametrize("name", TASKS)
def test_lengths_are_those_of_the_batch(name):
    source = load_source({"type": name})
    batch = source.batch("train", ROWS)
    for field, counts in source.lengths("train", ROWS).items():
        assert isinstance(batch[field], Timed)
        assert torch.equal(batch[field].counts, counts)
    for field, described in source.fields.items():
        assert described.kind == batch[field].kind
        if described.vocabulary is not None:
            assert int(batch[field].values.max()) < described.vocabulary == len(described.tokens)
        if described.axis is not None:
            assert torch.equal(batch[field].counts, batch[described.axis].counts)


@pytest.mark.parametrize("name", TASKS)
def test_any_size_costs_nothing(name):
    source = load_source({"type": name, "train_size": 10**12})
    assert source.size("train") == 10**12
    assert source.batch("train", [10**12 - 1])["source"].batch == 1


@pytest.mark.parametrize(
    "config",
    [
        {"type": "adding", "length": 1},
        {"type": "selective_copying", "length": 3, "copied": 4},
        {"type": "associative_recall", "keys": 3, "pairs": 4},
        {"type": "associative_recall", "pairs": 3, "queries": 4},
        {"type": "induction", "length": 2},
        {"type": "dyck", "kinds": 5},
        {"type": "sine", "min_period": 3.0, "max_period": 2.0},
    ],
)
def test_what_cannot_be_made_is_refused(config):
    with pytest.raises(ConfigError, match="1 problem"):
        load_source(config)


def test_uniform_numbers_are_uniform_and_independent():
    numbers = uniform(3, "x", torch.arange(2000), 50)
    assert float(numbers.min()) >= 0
    assert float(numbers.max()) < 1
    counts = torch.histc(numbers, 100, 0, 1)
    chi_squared = float(((counts - 1000).square() / 1000).sum())  # 99 degrees of freedom: 99 +- 14
    assert 55 < chi_squared < 160
    together = torch.corrcoef(numbers.T) - torch.eye(50)
    assert float(together.abs().max()) < 0.12  # 2,000 rows: a deviation of 0.022, over 1,225 pairs
    along = torch.corrcoef(numbers[:50]) - torch.eye(50)
    assert float(along.abs().mean()) < 0.14  # 50 columns: the mean of |r| is 0.11
