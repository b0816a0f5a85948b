"""The presets of data give the batches that were recorded when each of them read its files by itself.

``python -m tests.data.test_recorded_batches`` records them again, which is right only where a batch is meant to change.
"""

import gzip
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from composer.data import SPLITS, load_source
from composer.objectives import load_objective
from tests.support.data_files import tone
from tests.support.paths import ROOT

RECORDED = ROOT / "tests" / "fixtures" / "recorded_batches.json"

#: The rows of a split whose batch is recorded.
ROWS = 6

#: What fields and states have had since the recording.
ADDED = {"frequency", "lowercase", "bleu", "grows"}

WORDS = ("the", "old", "grey", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs", "in", "Berlin", "at", "7")
ENDINGS = ("walking", "Talking", "runs", "B-side", "NATO", "1987")

WORDWISE = {"type": "words", "unknown": 0.5, "lowercase": True}

#: The config of every preset, in its variants. Paths are relative to the folder that ``write_files`` fills.
CASES = {
    "pairs": {"type": "pairs", "path": "pairs.tsv", "valid": 0.2, "test": 0.1},
    "pairs of words, reversed": {
        "type": "pairs", "path": "pairs.tsv", "tokeniser": WORDWISE, "reverse_source": True, "seed": 3,
        "target_tokeniser": {"type": "characters", "max_length": 9},
    },
    "pairs, one vocabulary": {
        "type": "pairs", "path": "pairs.tsv", "shared_vocabulary": True,
        "tokeniser": {"type": "bpe", "vocabulary": 300},
    },
    "pairs, one vocabulary of words": {
        "type": "pairs", "path": "pairs.tsv", "shared_vocabulary": True, "tokeniser": WORDWISE,
    },
    "pairs, columns by name, a column of splits": {
        "type": "pairs", "path": "named.csv", "source": "long", "target": "short", "split_column": "part",
    },
    "pairs, parts of a folder": {"type": "pairs", "path": "parts/*.jsonl", "source": "a", "target": "b", "test": 0.2},
    "pairs, packed, a file for validation": {
        "type": "pairs", "path": "pairs.tsv.gz", "valid": "pairs.tsv", "header": True, "encoding": "latin-1",
    },
    "labelled": {"type": "labelled", "path": "labelled.tsv", "test": 0.1},
    "labelled, words reversed": {
        "type": "labelled", "path": "labelled.tsv", "reverse_source": True, "tokeniser": WORDWISE,
    },
    "labelled, a file for each class": {"type": "labelled", "path": "names", "tokeniser": {"type": "characters"}},
    "labelled, an ending for each class": {"type": "labelled", "path": "reviews/rt.*", "valid": 0.3},
    "labelled vector to a value": {
        "type": "labelled", "path": "numbers.csv", "input": "vector", "columns": ["p", "q"], "output": "value",
        "label": "y",
    },
    "labelled vector to a class": {
        "type": "labelled", "path": "numbers.csv", "input": "vector", "columns": [1, 2, 3], "label": 4, "header": True,
        "normalise": False,
    },
    "labelled sequence": {
        "type": "labelled", "path": "numbers.csv", "input": "sequence", "columns": ["p", "q", "r"], "label": "name",
        "split_column": "part",
    },
    "tagged": {"type": "tagged", "path": "tagged.conll", "valid": 0.2},
    "tagged, few words": {
        "type": "tagged", "path": "tagged.conll", "vocabulary": 12, "lowercase": True, "shapes": False, "unknown": 0.0,
        "specials": ["[MASK]"], "tags": 2,
    },
    "tagged, CoNLL-U": {"type": "tagged", "path": "tagged.conllu", "valid": 0.2, "test": "tagged.conll"},
    "vectors": {"type": "vectors", "path": "attributes.csv", "attributes": ["size", "colour"], "test": 0.2},
    "vectors of slots": {
        "type": "vectors", "path": "slots.csv", "slots": "mr", "target": "ref", "split_column": "part",
        "tokeniser": {"type": "words"},
    },
    "images": {"type": "images", "path": "pictures", "valid": 0.3},
    "images, resized and grey": {
        "type": "images", "path": "pictures", "form": "rows", "colour": False, "size": [3, 2], "label": "name",
    },
    "images of an array": {"type": "images", "path": "x.npy", "labels": "y.npy", "test": 0.2},
    "audio": {"type": "audio", "path": "sounds", "bands": 4, "hop": 0.05, "valid": 0.3},
    "audio, named by class": {
        "type": "audio", "path": "flat", "bands": 3, "window": 0.05, "hop": 0.1, "valid": 0.2,
    },
}  # fmt: skip


def sentence(row, length):
    return " ".join(WORDS[(row * 7 + i * (row % 5 + 1)) % len(WORDS)] for i in range(length))


def write_files(folder):
    """The files of all cases."""
    numpy = pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image", reason="picture files need pillow, of the extra 'data'")

    def write(name, text):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    rows = [(sentence(i, 2 + i % 6), sentence(i + 3, 1 + i % 4)[::-1]) for i in range(40)]
    parts = ["train", "dev", "Test", "training"]
    write("pairs.tsv", "".join(f"{a}\t{b}\n" for a, b in rows))
    (folder / "pairs.tsv.gz").write_bytes(gzip.compress("".join(f"{a}\t{b}é\n" for a, b in rows).encode()))
    named = [f'"{b}, ""x""",{parts[i % 4]},{a}\n' for i, (a, b) in enumerate(rows)]
    write("named.csv", "short,part,long\n" + "".join(named))
    for part in range(2):
        write(f"parts/{part}.jsonl", "".join(f"{json.dumps({'a': a, 'b': b})}\n" for a, b in rows[part::2]))
    write("labelled.tsv", "".join(f"{a}\t{'good' if len(a) % 2 else 'bad'}\n" for a, _ in rows))
    write("names/French.txt", "Dubois\n\nMartin\nLefèvre\nPetit\n")
    write("names/Dutch.txt", "Jansen\nde Vries\nBakker\n")
    write("reviews/rt.pos", "".join(f"{a}\n" for a, _ in rows[:12]))
    write("reviews/rt.neg", "".join(f"{b}\n" for _, b in rows[12:30]))
    numbers = [(i / 7 - 2, (i * i) % 11, 3.0, "odd" if i % 2 else "even", i / 2, parts[i % 4]) for i in range(20)]
    write("numbers.csv", "p,q,r,name,y,part\n" + "".join(",".join(map(str, row)) + "\n" for row in numbers))
    last = [(i, f"{stem}{ENDINGS[i % 6]}") for i in range(40) for stem in ("x", f"y{i}")]
    tagged = [[*sentence(i, 3 + i % 4).split(), word] for i, word in last]
    blocks = ["".join(f"{word} {'AB'[len(word) % 2]}\n" for word in words) for words in tagged]
    write("tagged.conll", "-DOCSTART- O\n\n" + "\n".join(blocks))
    lines = ["\n".join(f"{i}\t{word}\t_\t{'AB'[len(word) % 2]}" for i, word in enumerate(words, 1)) for words in tagged]
    write("tagged.conllu", "\n\n".join(f"# sent\n1-2\tx\t_\t_\n{text}" for text in lines[:30]) + "\n\n")
    colours = ["red", "green", "", "light blue"]
    given = [f"{i % 9 or ''},{colours[i % 4]},{b}\n" for i, (_, b) in enumerate(rows)]
    write("attributes.csv", "size,colour,text\n" + "".join(given))
    slots = [f'"name[The {WORDS[i % 9]}], food[{colours[i % 2]}]",{rows[i][0]},{parts[i % 4]}\n' for i in range(20)]
    write("slots.csv", "mr,ref,part\n" + "".join(slots))
    for i in range(8):
        file = folder / "pictures" / f"class{i % 2}" / f"{'ab'[i % 2]}_{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        image.frombytes("RGB", (3, 4), bytes((7 * i + 5 * j) % 256 for j in range(36))).save(file)
        tone(folder / "sounds" / f"{'ab'[i % 2]}" / f"{i}.wav", 300 + 200 * i, seconds=0.1 + 0.05 * i)
        tone(folder / "flat" / f"{'ab'[i % 2]}_{i}.wav", 200 + 300 * i, seconds=0.2)
    numpy.save(folder / "x.npy", (numpy.arange(10 * 2 * 3) * 3).astype("uint8").reshape(10, 2, 3))
    numpy.save(folder / "y.npy", numpy.arange(10) % 3)


def digest(value):
    """A digest of plain data, with numbers rounded to 6 digits."""
    return hashlib.sha256(json.dumps(rounded(value), sort_keys=True).encode()).hexdigest()[:16]


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def described(signal):
    """The shape, type and lengths of a signal; a digest of its values where they are whole, else the first of them."""
    values = signal.values
    facts = {"kind": signal.kind, "shape": list(values.shape), "dtype": str(values.dtype)}
    if signal.timed:
        facts["lengths"] = None if signal.lengths is None else signal.lengths.tolist()
    if values.is_floating_point():
        return facts | {"values": values.flatten()[:60].tolist(), "sum": values.double().abs().sum().item()}
    return {**facts, "values": hashlib.sha256(values.numpy().tobytes()).hexdigest()[:16]}


def observed(config):
    """What is recorded of a source: its fields, its state, and the first batch of every split."""
    source = load_source(config)
    objective = load_objective({"type": "supervised"}, source)
    described_fields = ((name, asdict(field) | asdict(field.contents)) for name, field in source.fields.items())
    fields = {
        name: {key: value for key, value in field.items() if value and key not in {"contents", *ADDED}}
        for name, field in described_fields
    }
    state = {
        name: {key: value for key, value in learned.items() if key not in ADDED}
        if isinstance(learned, dict)
        else learned
        for name, learned in source.state().items()
    }
    found = {"splits": {}, "state": digest(state)}
    found["fields"] = {name: [f["kind"], digest(f)] for name, f in fields.items()}
    for split in SPLITS:
        rows = range(min(ROWS, source.size(split)))
        if rows:
            batch = source.batch(split, rows)
            lengths = {name: found.tolist() for name, found in source.lengths(split, rows).items()}
            signals = {name: described(signal) for name, signal in batch.items()}
            shown = digest({name: source.show(name, signal) for name, signal in batch.items()})
            found["splits"][split] = {
                "size": source.size(split),
                "lengths": lengths,
                "signals": signals,
                "shown": shown,
            }
    noisy = objective.training_batch("train", range(min(ROWS, source.size("train"))), epoch=1)
    found["training"] = digest({n: s.values.tolist() for n, s in noisy.signals.items() if s.kind == "ids"})
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    write_files(folder)
    return folder


@pytest.mark.parametrize("case", CASES)
def test_a_preset_gives_the_batches_that_were_recorded(files, monkeypatch, case):
    monkeypatch.chdir(files)
    found, recorded = observed(CASES[case]), json.loads(RECORDED.read_text())[case]
    assert found["splits"].keys() == recorded["splits"].keys()
    for split, parts in found["splits"].items():
        for name, facts in parts["signals"].items():
            before = recorded["splits"][split]["signals"][name]
            if "sum" in facts:  # the last bit of a number depends on the processor
                for key in ("values", "sum"):
                    now, then = torch.tensor(facts.pop(key)), torch.tensor(before.pop(key))
                    torch.testing.assert_close(now, then, rtol=1e-5, atol=1e-6)
    assert found == recorded


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        write_files(Path(place))
        os.chdir(place)
        lines = [f"{json.dumps(case)}: {json.dumps(observed(config))}" for case, config in CASES.items()]
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.exit()
