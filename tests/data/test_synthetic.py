"""Generated tasks against solvers that know nothing of how they were made: they read what a person reads."""

import math
import wave

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
