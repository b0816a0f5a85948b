"""Generated tasks against solvers that know nothing of how they were made: they read what a person reads."""

import inspect
import math
import re
import wave
from collections import Counter
from itertools import groupby, pairwise, takewhile

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
from composer.data.synthetic.tracking import Tracking
from tests.support.paths import ROOT

SOURCES = {name: entry for name, entry in registry.entries("data").items() if isinstance(entry, type)}
TASKS = [name for name, cls in SOURCES.items() if issubclass(cls, GeneratedSource)]
TRACKING = [name for name, cls in SOURCES.items() if issubclass(cls, Tracking)]
ROWS = list(range(40))
seeds = st.integers(0, 2**40)
lengths = st.tuples(st.integers(1, 12), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair)))


def shown(source, split="train", rows=ROWS):
    batch = source.batch(split, rows)
    return zip(*(source.show(name, batch[name]) for name in source.fields), strict=True)


def popped(steps):
    stack = []
    for step in steps:
        if step != "pop":
            stack.append(step.removeprefix("push"))
        elif stack:
            stack.pop()
    return stack[::-1]


#: What a person would answer.
SOLVERS = {
    "copy": lambda symbols: symbols,
    "reverse": lambda symbols: list(reversed(symbols)),
    "sort": lambda symbols: sorted(symbols, key=int),
    "duplicate": lambda symbols: symbols + symbols,
    "odds_first": lambda symbols: symbols[::2] + symbols[1::2],
    "stack_manipulation": popped,
}


@given(seed=seeds, span=lengths, symbols=st.integers(1, 30), aligned=st.booleans())
@pytest.mark.parametrize("name", SOLVERS)
def test_sequences(name, seed, span, symbols, aligned):
    low, high = span
    config = {"type": name, "seed": seed, "min_length": low, "length": high, "aligned": aligned}
    source = load_source(config if name == "stack_manipulation" else {**config, "symbols": symbols})
    for given_, wanted in shown(source):
        symbols_given = [token for token in given_.split() if token != "<ask>"]
        assert low <= len(symbols_given) <= high
        answer = SOLVERS[name](symbols_given)
        if aligned:
            asked = given_.split().count("<ask>")
            answer = [*answer, "<end>"] if name == "stack_manipulation" else answer
            assert asked == (len(symbols_given) + 1 if name == "stack_manipulation" else len(answer))
            assert given_.split() == symbols_given + ["<ask>"] * asked
            answer = ["<blank>"] * len(symbols_given) + answer + ["<blank>"] * (asked - len(answer))
        assert wanted.split() == answer
        if name == "stack_manipulation":
            actions = [not token.isdigit() for token in symbols_given]
            assert actions == sorted(actions)
            assert not actions[0]
        else:
            assert {int(symbol) for symbol in symbols_given} <= set(range(symbols))


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


@given(seed=seeds, span=st.tuples(st.integers(1, 4), st.integers(4, 8)), data=st.data())
@pytest.mark.parametrize("spread", [True, False])
def test_associative_recall(spread, seed, span, data):
    least, most = span
    queries = data.draw(st.none() | st.integers(1, least))
    config = {"type": "associative_recall", "seed": seed, "keys": 10, "values": 9, "pairs": list(span)}
    config |= {"queries": queries, "distinct": data.draw(st.booleans()), "filler": "blank"}
    if spread:
        config["length"] = data.draw(st.integers(4 * most, 50))
    for given_, wanted in shown(load_source(config)):
        tokens, answers = given_.split(), wanted.split()
        pairs = sum(token.startswith("v") for token in tokens)
        assert least <= pairs <= most
        memory = dict(zip(tokens[: 2 * pairs : 2], tokens[1 : 2 * pairs : 2], strict=True))
        assert len(memory) == pairs
        assert not config["distinct"] or len(set(memory.values())) == pairs
        assert answers[: 2 * pairs] == ["<blank>"] * (2 * pairs)
        assert answers[2 * pairs :] == [memory.get(key, "<blank>") for key in tokens[2 * pairs :]]
        asked = [step for step, token in enumerate(tokens) if token.startswith("k")][pairs:]
        assert len({tokens[step] for step in asked}) == len(asked) == (queries or pairs)
        if spread:
            assert len(tokens) == config["length"]
            assert all(step % 2 == 0 for step in asked)


def test_the_gaps_of_associative_recall_follow_the_power_law():
    """With one query among n places, place g is drawn with probability g^(a - 1) / sum."""
    config = {"type": "associative_recall", "keys": 1, "values": 2, "pairs": 1, "queries": 1, "length": 12}
    for power in (0.01, 1.0):
        target = load_source({**config, "power": power}).batch("train", range(20000))["target"].values
        found = torch.bincount(target.argmax(1) // 2 - 1, minlength=5) / 20000
        weights = torch.arange(1, 6) ** (power - 1.0)
        torch.testing.assert_close(found, weights / weights.sum(), atol=0.012, rtol=0)


def recalled(tokens, answers):
    """Read keys and values, which are runs of k and v: exactly the values of known keys are asked for."""
    memory, step = {}, 0
    while step < len(tokens):
        if tokens[step].startswith("n"):
            assert answers[step] == "<blank>"
            step += 1
            continue
        middle = step + len(list(takewhile(lambda token: token[0] == "k", tokens[step:])))
        end = middle + len(list(takewhile(lambda token: token[0] == "v", tokens[middle:])))
        key, value = tuple(tokens[step:middle]), tokens[middle:end]
        found = answers[middle - 1 : max(end - 1, middle)]  # the next tokens, of which the very last is not given
        if end == len(tokens):
            found = answers[middle - 1 : end]
            assert memory[key][: len(value)] == value, "the last key was seen before"
            assert found == memory[key]
        elif key in memory:
            assert memory[key] == value == answers[middle - 1 : end - 1]
        else:
            assert set(found) <= {"<blank>"}
            memory[key] = value
        assert answers[step : middle - 1] == ["<blank>"] * (middle - 1 - step)
        assert end == len(tokens) or answers[end - 1] == "<blank>"
        step = end


@given(seed=seeds, pairs=st.integers(2, 20), keys=st.integers(1, 6), noise=st.sampled_from([0.0, 0.3, 0.9]))
def test_in_context_recall(seed, pairs, keys, noise):
    config = {"type": "in_context_recall", "seed": seed, "length": 2 * pairs, "keys": keys, "noise": noise}
    for given_, wanted in shown(load_source(config)):
        assert len(given_.split()) == 2 * pairs - 1
        recalled(given_.split(), wanted.split())


@given(seed=seeds, length=st.integers(12, 60), keys=st.integers(3, 6), split=st.sampled_from(SPLITS))
def test_fuzzy_recall(seed, length, keys, split):
    source = load_source({"type": "fuzzy_recall", "seed": seed, "length": length, "keys": keys})
    for given_, wanted in shown(source, split):
        assert length - 12 < len(given_.split()) <= length
        recalled(given_.split(), wanted.split())
        runs = [len(list(run)) for kind, run in groupby(given_.split(), lambda token: token[0]) if kind == "k"]
        assert max(runs) <= 3
        assert split == "train" or min(runs) == 3


@given(seed=seeds)
def test_memorisation_has_one_value_for_every_key_in_all_splits(seed):
    source = load_source({"type": "memorisation", "seed": seed, "keys": 10})
    memory = {}
    for split in SPLITS:
        for given_, wanted in shown(source, split):
            tokens, answers = given_.split(), wanted.split()
            assert set(tokens[1::2]) == {"<insert>"}
            assert set(answers[::2]) == {"<blank>"}
            for key, value in zip(tokens[::2], answers[1::2], strict=True):
                assert memory.setdefault(key, value) == value
    assert len(set(memory.values())) == len(memory) == 10


def test_compression_asks_for_every_token():
    for given_, places, wanted in shown(load_source({"type": "compression", "length": 9})):
        assert given_ == wanted
        assert given_.split().index("<c>") == 8
        assert places.split() == [str(step) for step in range(9)]


@given(seed=seeds, length=st.integers(3, 30))
def test_induction(seed, length):
    for given_, wanted in shown(load_source({"type": "induction", "seed": seed, "length": length})):
        tokens = given_.split()
        assert len(tokens) == length
        assert tokens.count("<mark>") == 2
        assert tokens[-1] == "<mark>"
        assert wanted == tokens[tokens.index("<mark>") + 1]


def permuted(word):
    """What stands where after the permutations have acted one after the other, each as the images of 1, 2, ..."""
    places = {point: point for point in word[0]}
    for permutation in word:
        places = {point: permutation[int(place) - 1] for point, place in places.items()}
    return "".join(places[point] for point in sorted(places))


#: The state after a sequence of symbols, None where it is open.
STATES = {
    "parity": lambda bits: ("even", "odd")[bits.count("1") % 2],
    "even_pairs": lambda bits: ("even", "odd")[sum(a != b for a, b in pairwise(bits)) % 2],
    "cycle_navigation": lambda steps: str(sum(map(int, steps)) % 5),
    "modular_arithmetic": lambda signs: str(eval("".join(signs)) % 5) if signs[-1].isdigit() else None,
    "modular_arithmetic_brackets": lambda signs: str(eval("".join(signs)) % 5),
    "group_words": permuted,
}


@given(
    seed=seeds,
    span=lengths,
    aligned=st.booleans(),
    multiply=st.booleans(),
    group=st.sampled_from(["S3", "S5", "A4", "A5"]),
)
@pytest.mark.parametrize("name", STATES)
def test_states(name, seed, span, aligned, multiply, group):
    low, high = span
    config = {"type": name, "seed": seed, "min_length": low, "length": high + 1}
    more = {"aligned": aligned, "multiply": multiply, "group": group}
    accepted = inspect.signature(SOURCES[name]).parameters
    source = load_source({**config, **{key: value for key, value in more.items() if key in accepted}})
    for given_, wanted in shown(source):
        symbols = given_.split()
        assert low <= len(symbols) <= high + 1
        assert multiply or "*" not in symbols or name == "modular_arithmetic_brackets"
        ends = range(1, len(symbols) + 1) if "aligned" in accepted and aligned else [len(symbols)]
        assert wanted.split() == [STATES[name](symbols[:end]) or "<blank>" for end in ends]


@given(seed=seeds, span=lengths)
@pytest.mark.parametrize("name", TRACKING)
def test_aligned_in_training_asks_for_the_last_state_alone_elsewhere(name, seed, span):
    config = {"type": name, "seed": seed, "min_length": span[0], "length": span[1] + 1}
    each, last, mixed = (load_source({**config, "aligned": aligned}) for aligned in (True, False, "training"))
    field = mixed.fields["target"]
    assert field.contents.tokens[field.blank] == "<blank>"
    assert list(shown(mixed)) == list(shown(each))
    assert mixed.batch("train", ROWS)["target"].values.shape == mixed.batch("train", ROWS)["source"].values.shape
    for split in ("valid", "test"):
        for (symbols, answers), wanted in zip(shown(mixed, split), shown(last, split), strict=True):
            assert symbols == wanted[0]
            assert answers.split() == ["<blank>"] * (len(symbols.split()) - 1) + [wanted[1]]


def test_groups_have_their_sizes_and_products_of_groups_act_in_each():
    sizes = {"S3": 6, "A5": 60, "S5": 120, "Z60": 60, "A4xZ5": 60}
    for group, size in sizes.items():
        source = load_source({"type": "group_words", "group": group})
        assert len(set(source.fields["source"].contents.tokens)) == size == source.fields["target"].vocabulary
        table = source.table
        assert all(sorted(row.tolist()) == list(range(size)) for row in (*table, *table.T))
        assert torch.equal(table, table.T) is group.startswith("Z")
    for given_, wanted in shown(load_source({"type": "group_words", "group": "A4xZ5"})):
        one, other = zip(*(element.split(",") for element in given_.split()), strict=True)
        assert wanted.split()[-1] == f"{permuted(one)},{sum(map(int, other)) % 5}"


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


ROW_PITCHES, COLUMN_PITCHES = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
PAD = ("123A", "456B", "789C", "*0#D")


def strengths(samples, pitches, rate):
    """(T, 4): how strong each pitch, or one up to 1.5 % away from it, is in windows of 40 ms, every 5 ms."""
    windows = samples.unfold(0, int(0.04 * rate), int(0.005 * rate)) * torch.hann_window(int(0.04 * rate)).double()
    near = torch.tensor(pitches)[:, None] * torch.linspace(0.985, 1.015, 5)  # (4, 5)
    turns = torch.arange(windows.shape[1])[:, None] * near.flatten() / rate
    waves = torch.exp(-2j * torch.pi * turns.double())
    return (windows.to(waves.dtype) @ waves).abs().unflatten(1, near.shape).amax(2)


def heard(recording):
    """The keys of a recording: where both pitches stand out, and the strongest pitches there."""
    samples, rate = recording
    rows, columns = (strengths(samples, pitches, rate) for pitches in (ROW_PITCHES, COLUMN_PITCHES))
    both = torch.minimum(rows.amax(1), columns.amax(1))
    loud, found, spell = both > both.max() * 0.5, [], []
    for step in [*range(len(loud)), None]:
        if step is not None and loud[step]:
            spell.append(step)
        elif spell:
            found.append(PAD[int(rows[spell].sum(0).argmax())][int(columns[spell].sum(0).argmax())])
            spell = []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("output", ["class", "keys"])
def test_tones_are_heard_by_their_two_pitches(output):
    """Without noise every key is heard, in its place; with the noise of the defaults, nearly every key."""
    quiet = load_source({"type": "tones", "output": output, "keypad": "all", "min_snr": 60.0, "max_snr": 60.0})
    batch, rows = quiet.batch("train", ROWS), torch.tensor(ROWS)
    assert [" ".join(heard(one)) for one in quiet.recordings("train", rows)] == quiet.show("target", batch["target"])
    noisy = load_source({"type": "tones", "output": output})
    wanted = [row.split() for row in noisy.show("target", noisy.batch("train", ROWS)["target"])]
    right = [heard(one) == keys for one, keys in zip(noisy.recordings("train", rows), wanted, strict=True)]
    assert sum(right) >= 0.9 * len(right)


@pytest.mark.slow
def test_tones_are_as_noisy_as_they_say_and_their_frames_standardised():
    config = {"type": "tones", "min_tone": 0.3, "max_tone": 0.3, "min_gap": 0.01, "max_gap": 0.01}
    clean = load_source({**config, "min_snr": 300.0, "max_snr": 300.0})
    noisy = load_source({**config, "min_snr": 6.0, "max_snr": 6.0})
    for one, other in zip(*(source.recordings("valid", torch.tensor(ROWS)) for source in (clean, noisy)), strict=True):
        middle, noise = one.samples[100:2400], other.samples - one.samples
        ratio = 10 * torch.log10(middle.square().mean() / noise.square().mean())
        assert float(ratio) == pytest.approx(6.0, abs=0.6)
    frames = noisy.batch("train", range(200))["source"]
    real = frames.values[frames.mask] if frames.mask is not None else frames.values.flatten(0, 1)
    torch.testing.assert_close(real.mean(0), torch.zeros(40), atol=1e-4, rtol=0)
    torch.testing.assert_close(real.std(0), torch.ones(40), atol=1e-2, rtol=0)


def test_tones_become_the_frames_that_a_wave_file_of_them_becomes(tmp_path):
    source = load_source({"type": "tones", "output": "keys"})
    row = torch.tensor([5])
    ((samples, rate),) = source.recordings("valid", row)
    with wave.open(str(tmp_path / "call.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples.clamp(-1, 1) * 32767).round().short().numpy().tobytes())
    found = source.encode("source", [str(tmp_path / "call.wav")]).values
    torch.testing.assert_close(found, source.batch("valid", row)["source"].values, atol=0.05, rtol=0)
    again = load_source({"type": "tones", "output": "keys", "seed": 9}, state=source.state())
    assert torch.equal(again.encode("source", [str(tmp_path / "call.wav")]).values, found)


def test_tones_of_a_mixture_have_one_scale():
    """The scale of a mixture is that of both sources, and a source alone takes it over."""
    lines = {"near": {"seed": 1, "min_snr": 20.0}, "far": {"seed": 2, "max_snr": 0.0}}
    each = {"type": "tones", "train_size": 30, "valid_size": 5, "bands": 8}
    mixed = load_source({"type": "mixture", "each": each, "sources": lines})
    alone = [load_source({**each, **line}).state()["source"]["mean"] for line in lines.values()]
    for one, both, other in zip(alone[0], mixed.state()["source"]["mean"], alone[1], strict=True):
        assert min(one, other) < both < max(one, other)
    source = load_source({**each, **lines["far"]}, state=mixed.state())
    only = load_source({"type": "mixture", "each": each, "sources": lines, "only": "far"}, state=mixed.state())
    assert torch.equal(source.batch("valid", [1])["source"].values, only.batch("valid", [1])["source"].values)


HUES = {(1, 0, 0): "red", (0, 1, 0): "green", (0, 0, 1): "blue", (1, 1, 0): "yellow", (1, 1, 1): "white"}
PLACES = {
    (0, 0): "at the top left", (0, 1): "at the top", (0, 2): "at the top right", (1, 0): "at the left",
    (1, 1): "in the centre", (1, 2): "at the right", (2, 0): "at the bottom left", (2, 1): "at the bottom",
    (2, 2): "at the bottom right",
}  # fmt: skip


def described(picture):
    """What a person sees in a picture (3, 16, 16) without noise."""
    inside = picture.amax(0) > 0.2
    height, width = inside.any(1).nonzero().flatten(), inside.any(0).nonzero().flatten()
    shape = inside[height[0] : height[-1] + 1, width[0] : width[-1] + 1]
    if bool(shape.all()):
        name = "square"
    elif not torch.equal(shape, shape.flip(0)):
        name = "triangle"
    else:
        name = "circle" if float(shape.double().mean()) > 0.7 else "cross"
    light = picture.amax()
    hue = HUES[tuple((picture.amax((1, 2)) > light / 2).long().tolist())]
    third = [
        0 if middle < 6.5 else 1 if middle < 8.5 else 2 for middle in ((a[0] + a[-1]) / 2 for a in (height, width))
    ]
    size, brightness = "small" if len(shape) < 7 else "large", "dark" if light < 0.7 else "bright"
    return f"a {size} {brightness} {hue} {name} {PLACES[tuple(third)]}"


@given(seed=seeds)
@pytest.mark.parametrize("form", ["image", "rows"])
def test_shapes_are_what_their_captions_say(form, seed):
    source = load_source({"type": "shapes", "seed": seed, "noise": 0.0, "form": form})
    batch = source.batch("train", ROWS)
    pictures = batch["picture"].values
    if form == "rows":
        pictures = pictures.unflatten(2, (3, 16)).permute(0, 2, 1, 3)
    assert [described(picture) for picture in pictures] == source.show("caption", batch["caption"])


def test_shapes_have_every_caption_and_the_noise_that_they_say():
    config = {"type": "shapes", "train_size": 10**6}
    quiet, noisy = (load_source({**config, "noise": noise}) for noise in (0.0, 0.05))
    captions = quiet.counted("train", torch.arange(9000))["caption"]
    assert len(set(quiet.show("caption", captions))) == 2 * 2 * 5 * 4 * 9
    one, other = (source.batch("valid", ROWS)["picture"].values for source in (quiet, noisy))
    inner = (one > 0.3) & (one < 0.7)  # nothing is clipped there
    assert float((other - one)[inner].std()) == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize("name", TASKS)
def test_an_example_is_a_function_of_seed_split_and_number(name):
    source, again = load_source({"type": name}), load_source({"type": name})
    other = load_source({"type": name, "seed": 1})
    field = next(iter(source.fields))
    for split in SPLITS:
        some = source.batch(split, [7, 3, 900])
        assert again.show(field, again.batch(split, [3])[field])[0] == source.show(field, some[field])[1]
        assert source.show(field, some[field]) != other.show(field, other.batch(split, [7, 3, 900])[field])
    train, valid = (source.show(field, source.batch(split, ROWS)[field]) for split in ("train", "valid"))
    assert train != valid


#: The sizes of each split, for tasks with a smallest size and for tasks without.
RANGES = {"train": (4, 8), "valid": (9, 12), "test": (13, 21)}
FIXED = {"train": 8, "valid": 12, "test": 20}
#: Other keys that such sizes need.
ROOM = {
    "selective_copying": {"copied": 4}, "fuzzy_recall": {"key_tokens": 1, "value_tokens": 1},
    "tones": {"output": "keys"}, "associative_recall": {"queries": None},
}  # fmt: skip
#: How a size is seen in an example, for tasks whose size is not the number of steps of the source.
SEEN = {
    "associative_recall": lambda batch: (batch["target"].filled(1) == 0).sum(1) // 2,
    "in_context_recall": lambda batch: batch["source"].counts + 1,
    "selective_copying": lambda batch: batch["source"].counts - 4,  # without <ask>
    "tones": lambda batch: batch["target"].counts - 1,
}


@pytest.mark.parametrize("name", [name for name in TASKS if name != "shapes"])
def test_every_split_has_the_lengths_that_the_config_gives_it(name):
    """For all generated tasks but pictures, whose size is fixed."""
    knobs = inspect.signature(SOURCES[name]).parameters
    key = "pairs" if "pairs" in knobs else "length"
    ranged = "min_length" in knobs or key == "pairs"
    wanted = RANGES if ranged else {split: (size, size) for split, size in FIXED.items()}
    given_ = {split: list(span) if ranged else span[0] for split, span in wanted.items()}
    config = {"type": name, key: given_["train"], f"valid_{key}": given_["valid"], f"test_{key}": given_["test"]}
    if "min_length" in knobs:
        config |= {"min_length": RANGES["train"][0], "length": RANGES["train"][1]}
    source = load_source(config | ROOM.get(name, {}))
    for split, (least, most) in wanted.items():
        batch = source.batch(split, range(200 if name != "tones" else 60))
        sizes = SEEN.get(name, lambda batch: batch["source"].counts)(batch)
        odd = name == "modular_arithmetic"
        if name == "fuzzy_recall":  # as many pairs as fit
            assert most - 4 < int(sizes.min()) <= int(sizes.max()) <= most
        else:
            assert set(sizes.tolist()) == {size for size in range(least, most + 1) if size % 2 or not odd}
        assert torch.equal(batch["source"].counts, source.lengths(split, range(len(sizes)))["source"])
    changed = {f"valid_{key}": None, f"test_{key}": wanted["valid"][1]}
    same = load_source(config | ROOM.get(name, {}) | changed)
    assert same.spans.bounds["valid"] == same.spans.bounds["train"] == wanted["train"]
    assert same.spans.most("test") == wanted["valid"][1]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"type": "copy", "test_length": [9]}, ["data.test_length", "[9] is no range", "[smallest, largest]"]),
        ({"type": "copy", "test_length": [9, 8]}, ["data.test_length", "[9, 8] is no range"]),
        ({"type": "copy", "min_length": 5, "valid_length": 4}, ["data.valid_length", "4 is less than min_length, 5"]),
        ({"type": "adding", "test_length": 1}, ["data.test_length", "two numbers are to be added"]),
        ({"type": "induction", "valid_length": 2}, ["data.valid_length", "is 2"]),
        ({"type": "selective_copying", "test_length": 15}, ["data.test_length", "too short for the 16 symbols"]),
        ({"type": "modular_arithmetic", "test_length": [40, 40]}, ["data.test_length", "40 is even"]),
        ({"type": "memorisation", "test_length": 7}, ["data.test_length", "is 7"]),
        ({"type": "associative_recall", "test_pairs": 65}, ["data.pairs", "65 pairs need as many different keys"]),
        ({"type": "associative_recall", "test_pairs": 4}, ["data.queries", "null asks for all keys"]),
        ({"type": "associative_recall", "test_length": 40}, ["data.test_length", "no effect without a length"]),
        ({"type": "associative_recall", "length": 50}, ["data.length", "need 64 steps"]),
        ({"type": "group_words", "group": "Q8"}, ["data.group", "'Q8' is no group"]),
        ({"type": "group_words", "group": "S6xS6"}, ["data.group", "more than 1000 elements"]),
        ({"type": "fuzzy_recall", "keys": 2}, ["data.key_tokens", "keys is 2"]),
        *[
            (
                {"type": name, "aligned": "tests"},
                ["data.aligned", "expected true or false or one of 'training', found 'tests'"],
            )
            for name in TRACKING
        ],
    ],
)
def test_a_bad_length_or_group_is_one_clear_sentence(config, words):
    with pytest.raises(ConfigError) as caught:
        load_source(config)
    printed = " ".join(str(caught.value).split())
    assert printed.startswith("1 problem in this config")
    for word in words:
        assert word in printed


def commonest(source, batch):
    """The share of target tokens that the commonest of them is."""
    target, blank = batch["target"], source.fields["target"].blank
    mask = getattr(target, "mask", None)
    found = target.values.flatten() if mask is None else target.values[mask]
    counts = torch.bincount(found if blank is None else found[found != blank])
    return float(counts.max() / counts.sum())


def commonest_so_far(source, batch):
    """The share of answers that are the value which the example has had most often until then."""
    right = []
    for tokens, answers in zip(*(source.show(name, batch[name]) for name in ("source", "target")), strict=True):
        seen = Counter()
        for token, answer in zip(tokens.split(), answers.split(), strict=True):
            seen.update([token] if token.startswith("v") else [])
            right += [seen.most_common(1)[0][0] == answer] if answer != "<blank>" else []
    return sum(right) / len(right)


def heads():
    files = {name: (ROOT / "conf" / "data" / f"{name}.yaml").read_text() for name in TASKS}
    found = {name: re.search(r"Chance is\s(?:# )?(0\.\d+)", text.partition("type:")[0]) for name, text in files.items()}
    return {name: float(match[1]) for name, match in found.items() if match}


@pytest.mark.parametrize("name", heads())
def test_the_chance_that_a_leaf_states_is_that_of_its_data(name):
    source = load_source({"type": name})
    constant = not name.endswith("recall")
    found = (commonest if constant else commonest_so_far)(
        source, source.batch("valid", range(4000 if constant else 500))
    )
    assert heads()[name] == pytest.approx(found, abs=0.02)


def test_all_new_tasks_state_their_chance():
    assert {*STATES, "duplicate", "odds_first", "stack_manipulation", "memorisation", "compression"} <= heads().keys()
    assert {"associative_recall", "in_context_recall", "fuzzy_recall"} <= heads().keys()


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
            assert int(batch[field].values.max()) < described.vocabulary == len(described.contents.tokens)
        if described.axis is not None:
            assert torch.equal(batch[field].counts, batch[described.axis].counts)


@pytest.mark.parametrize("name", TASKS)
def test_any_size_costs_nothing(name):
    source = load_source({"type": name, "train_size": 10**12})
    assert source.size("train") == 10**12
    assert source.batch("train", [10**12 - 1])[next(iter(source.fields))].batch == 1


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
        {"type": "tones", "min_length": 7},
        {"type": "tones", "min_tone": 0.3},
        {"type": "tones", "min_snr": 30.0},
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
