"""The users' own files: what is read, how it is split, and how little of a large one is held in memory."""

import gzip
import json
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.core.problems import ConfigError, UserError
from composer.data import SPLITS, load_source
from composer.data.tables.table import Table
from tests.support.data_files import BYTES, pairs, rows
from tests.support.paths import ROOT

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


cells = st.text('ab é"\n,;\t☃', max_size=12)


@given(table=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8))
def test_csv_is_read_as_pythons_own_writer_wrote_it(tmp_path_factory, table):
    import csv

    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    read = list(Table({"a": 1, "b": 2, "c": 3}).read(path))
    assert [(r.values["a"], r.values["b"], r.values["c"]) for r in read] == [row for row in table if any(row)]
    starts = [
        1 + sum(cell.count("\n") for row in table[:i] for cell in row) + i for i in range(len(table)) if any(table[i])
    ]
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
    assert source.fields["source"].contents.tokens[3:] == ("a", "b")
    assert rows(source, "valid", "source") == ["<unk>b"]


# One source after the other


def test_shared_vocabulary_target_tokeniser_and_reversal(tmp_path):
    (tmp_path / "a.tsv").write_text("abc\td e\n")
    config = {"type": "pairs", "path": f"{tmp_path}/a.tsv", "valid": 0}
    shared = load_source({**config, "shared_vocabulary": True})
    assert shared.fields["source"].contents.tokens == shared.fields["target"].contents.tokens
    words = load_source({**config, "target_tokeniser": {"type": "words"}, "reverse_source": True})
    assert words.fields["target"].contents.tokens[3:] == ("d", "e")
    batch = words.batch("train", [0])
    tokens = words.fields["source"].contents.tokens
    assert [tokens[i] for i in batch["source"].values[0]] == ["c", "b", "a", "<eos>"]
    assert words.show("source", batch["source"]) == ["abc"]


def test_labelled_tables_of_text_numbers_and_values(tmp_path):
    (tmp_path / "a.csv").write_text("text,x,y,kind,score\ngood,1,2,pos,0.5\nbad,3,6,neg,1.5\n")
    config = {"type": "labelled", "path": f"{tmp_path}/a.csv", "valid": 0}
    text = load_source({**config, "columns": ["text"], "label": "kind"})
    assert text.fields["target"].contents.tokens == ("neg", "pos")
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
    assert few.fields["source"].contents.tokens == ("<unk>", "The")
    assert few.fields["target"].contents.tokens == ("DT", "NN", "VB")


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


def test_a_text_can_be_validated_on_longer_windows_than_it_is_trained_on(tmp_path):
    text = "".join(chr(ord("a") + i % 26) for i in range(100))
    (tmp_path / "a.txt").write_text(text)
    config = {"type": "text", "path": f"{tmp_path}/a.txt", "length": 4, "valid_length": 8, "valid": 0.2}
    source = load_source(config)
    assert rows(source, "train", "target") == [text[i : i + 4] for i in range(0, 80, 4)]
    assert rows(source, "valid", "target") == [text[i : i + 8] for i in range(80, 100, 8)], "the last one is shorter"


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


# Addresses


@pytest.fixture
def served(tmp_path):
    """A folder that a server on this machine serves, and its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.mark.parametrize("cached", [True, False])
def test_files_at_an_address_are_read_like_files_here(tmp_path, monkeypatch, served, cached):
    folder, address = served
    monkeypatch.setenv("COMPOSER_CACHE", str(tmp_path / "cache") if cached else "off")
    lines = "".join(f"{i} a\t{i} b\n" for i in range(20))
    (folder / "pairs.tsv").write_text(lines)
    (folder / "pairs.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    config = {"type": "pairs", "header": False, "test": 0.1}
    here = load_source({**config, "path": f"{folder}/pairs.tsv"})
    for name in ("pairs.tsv", "pairs.tsv.gz"):
        there = load_source({**config, "path": f"{address}/{name}"})
        for split in SPLITS:
            assert [row.values for row in there.written(split)] == [row.values for row in here.written(split)]
    (folder / "bad.tsv").write_text("a\tb\nc\n")
    with pytest.raises(UserError, match=r"bad\.tsv:2: has 1 columns, but the first line has 2"):
        load_source({**config, "path": f"{address}/bad.tsv"})
    with pytest.raises(ConfigError, match=rf"data\.path\s+there is no file '{address}/missing\.tsv'"):
        load_source({**config, "path": f"{address}/missing.tsv"})
    with pytest.raises(ConfigError, match=r"data\.path\s+'nowhere://a\.tsv' cannot be read: Protocol not known"):
        load_source({**config, "path": "nowhere://a.tsv"})


# Memory

LARGE = """
import re, sys, threading, time
from pathlib import Path
from composer.batching import Batches, Loader
from composer.data.packed import packed_rows
from composer.data.packed import shards
from composer.data.splits import stored_records
from composer.data import load_source
from composer.objectives import Objective
packed_rows.MEMORY = packed_rows.BUFFER = shards.SHARD = stored_records.MEMORY = 2 ** 18
highest = 0

def memory():
    return int(re.search(r"RssAnon:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

def watch():
    global highest
    while True:
        highest = max(highest, memory())
        time.sleep(0.002)

def use(path):
    source = load_source({"type": sys.argv[1], "path": path})
    batches = Loader(Objective(source), Batches(source, "valid", tokens=20000, shuffle=False))
    assert sum(part.rows for parts in batches for part in parts) == source.size("valid") > 0

use(sys.argv[2])
before = memory()
threading.Thread(target=watch, daemon=True).start()
use(sys.argv[3])
print(highest - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory in use from Linux's /proc")
@pytest.mark.parametrize("kind", ["pairs", "text"])
def test_a_file_larger_than_the_memory_it_may_use_is_never_loaded_whole(tmp_path, kind):
    small, large = tmp_path / "small.tsv", tmp_path / "large.tsv"
    line = "the quick brown fox jumps over the lazy dog\t" + "again and " * 30 + "\n"
    small.write_text(line * 300)
    large.write_text(line * 40000)
    size = large.stat().st_size
    command = [sys.executable, "-c", LARGE, kind, str(small), str(large)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < size, f"{int(done.stdout) / 2**20:.1f} MB for a file of {size / 2**20:.1f} MB"
