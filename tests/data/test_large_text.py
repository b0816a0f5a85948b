"""Text in many files: documents, compressed files, shards, and processes that share the work."""

import gzip
import json
import os
import signal
from functools import cache
from itertools import compress
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.core.problems import ConfigError, UserError
from composer.data import load_source, own
from composer.data.cache import source_cache
from composer.data.files import lines as files
from composer.data.packed import shards
from composer.data.splits import stored_records
from composer.data.tables.record_batch import RecordBatch, batches_of
from composer.data.tables.table import TableRow
from composer.data.tokenisers.pieces import between, whole_words
from composer.data.tokenisers.tokeniser import Tokeniser, Tokenising
from composer.data.workers import WorkersEnded, in_order

TEXTS = ["one cat sat", "two dogs ran off", "a third one", "the fourth and last one of them"]


def stream(source, split="train"):
    """All tokens of a split, by name."""
    tokens = source.fields["target"].contents.tokens
    found = []
    for row in range(source.size(split)):
        signal = source.batch(split, [row])["target"]
        found += [tokens[i] for i in signal.values[0].tolist()]
    return found


def documents(path, texts=TEXTS, column="text"):
    content = "".join(json.dumps({"id": i, column: text}) + "\n" for i, text in enumerate(texts)).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content)
    elif path.suffix == ".zst":
        content = pytest.importorskip("backports.zstd").compress(content)
    path.write_bytes(content)


WORDS = {"type": "words"}
EVERY = {"valid": 0, "length": 1, "tokeniser": WORDS}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.ndjson"])
def test_every_document_is_followed_by_eos(tmp_path, name):
    documents(tmp_path / name)
    source = load_source({"type": "text", "path": f"{tmp_path}", **EVERY})
    assert stream(source) == [word for text in TEXTS for word in [*text.split(), "<eos>"]]
    windows = load_source({"type": "text", "path": f"{tmp_path}", **EVERY, "length": 8})
    assert windows.show("target", windows.batch("train", [0])["target"]) == ["one cat sat\n\ntwo dogs ran off"]


def test_parquet_holds_documents(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(arrow.table({"body": TEXTS, "id": [1, 2, 3, 4]}), tmp_path / "a.parquet")
    config = {"type": "text", "path": f"{tmp_path}/*.parquet", **EVERY}
    assert stream(load_source({**config, "column": "body"})).count("<eos>") == len(TEXTS)
    with pytest.raises(ConfigError, match=r"(?s)no column 'text'.*has: the columns\s+body, id"):
        load_source(config)


def test_a_missing_column_is_named_beside_those_that_are_there(tmp_path):
    documents(tmp_path / "a.jsonl", column="body")
    with pytest.raises(ConfigError, match=r"(?s)data\.column.*has no 'text' in line\s+1.*has:\s+id, body"):
        load_source({"type": "text", "path": f"{tmp_path}/a.jsonl"})


def test_a_document_that_is_no_text_is_an_error_or_left_out(tmp_path):
    documents(tmp_path / "a.jsonl", ["one two", None, "", "three"])
    config = {"type": "text", "path": f"{tmp_path}/a.jsonl", **EVERY}
    with pytest.raises(UserError, match=r"a\.jsonl:2: column 'text' holds None"):
        load_source(config)
    source = load_source({**config, "skip_bad": True})
    assert stream(source) == ["one", "two", "<eos>", "three", "<eos>"]
    assert "1 bad row left out" in source.remarks[0]


def test_the_parts_of_a_folder_follow_each_other_in_the_order_of_their_names(tmp_path):
    (tmp_path / "b.txt").write_text("five six ")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"seven eight"))
    documents(tmp_path / "a.jsonl", ["one two", "three four"])
    source = load_source({"type": "text", "path": f"{tmp_path}", **EVERY})
    assert stream(source) == ["one", "two", "<eos>", "three", "four", "<eos>", "five", "six", "seven", "eight"]


@given(st.lists(st.text("ab \n", min_size=1, max_size=9), max_size=6), st.integers(0, 40), st.integers(0, 40))
def test_parts_of_documents_put_together_are_the_documents(texts, one, other):
    pieces = [piece for text in texts for piece in (text, None)]
    count = sum(map(len, texts))
    first, second = sorted((min(one, count), min(other, count)))
    spans = [(0, first), (first, second), (second, count)]
    parts = [piece for span in spans for piece in whole_words(between(iter(pieces), *span))]
    joined: list[str] = [""]
    for piece in parts:
        if piece is None:
            joined.append("")
        else:
            joined[-1] += piece
    assert joined == [*texts, ""]


@cache
def learned(kind):
    options = Tokenising(type=kind, vocabulary=300, lowercase=True)
    return Tokeniser.learn(options, lambda: ["héllo wörld, 日本 😀 <eos>"])


@pytest.mark.parametrize("kind", ["characters", "bytes", "words", "bpe", "wordpiece"])
@given(text=st.text(max_size=40))
def test_a_long_text_has_the_tokens_that_it_has_as_a_row(kind, text):
    known = learned(kind)
    assert known.encode_one(text).tolist() == known.encode([text])[0]


@pytest.mark.parametrize("kind", ["characters", "bpe"])
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.slow
def test_shards_of_several_processes_are_the_text_in_one_piece(tmp_path, monkeypatch, kind, cached):
    monkeypatch.setenv("COMPOSER_CACHE", str(tmp_path / "cache") if cached else "off")
    monkeypatch.setattr(source_cache, "LEAST", 1)
    (tmp_path / "a.txt").write_text("".join(f"line {i} of the text, {i * i}\n" for i in range(6000)))
    documents(tmp_path / "b.jsonl", [f"document {i}" for i in range(500)])
    config = {
        "type": "text",
        "path": f"{tmp_path}/[ab].*",
        "tokeniser": {"type": kind, "vocabulary": 300},
        "length": 50,
    }
    whole = load_source(config)
    expected = {split: whole.batch(split, range(whole.size(split)))["target"].values for split in ("train", "valid")}
    monkeypatch.setattr(shards, "SHARD", 2**15)
    monkeypatch.setattr(own.text, "TAIL", 2**17)  # another entry of the cache
    for workers in (1, 2):
        source = load_source({**config, "workers": workers})
        for split, values in expected.items():
            assert torch.equal(source.batch(split, range(source.size(split)))["target"].values, values)
    assert not list((tmp_path / "cache").glob("*.building"))
    assert not list((tmp_path / "cache").glob("*/*.ids"))


@pytest.mark.slow
@pytest.mark.parametrize("skip_bad", [False, True])
def test_rows_that_several_processes_encode_are_those_of_one(tmp_path, monkeypatch, skip_bad):
    monkeypatch.setenv("COMPOSER_CACHE", "off")
    rows = [f"text {i} {i % 7}\t{'abc'[i % 3]}\n" for i in range(1500)]
    (tmp_path / "a.tsv").write_text("".join(rows))
    (tmp_path / "v.tsv").write_text("one text\ta\nanother text\tz\n" if skip_bad else "one text\ta\n")
    config = {"type": "labelled", "path": f"{tmp_path}/a.tsv", "valid": f"{tmp_path}/v.tsv", "skip_bad": skip_bad}
    one = load_source(config)
    sizes = [one.size(split) for split in ("train", "valid")]
    monkeypatch.setenv("COMPOSER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(source_cache, "LEAST", 1)
    monkeypatch.setattr(stored_records, "MEMORY", 0)  # records are read from their temporary file
    many = load_source(config)
    assert [many.size(split) for split in ("train", "valid")] == sizes == [1500, 1]
    assert many.remarks == one.remarks
    for name, found in one.batch("train", range(1500)).items():
        assert torch.equal(found.values, many.batch("train", range(1500))[name].values)
    again = load_source(config)
    assert again.size("valid") == 1
    assert [row.values for row in again.written("valid")] == [{"source": "one text", "target": "a"}]


def test_a_large_file_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_records, "MEMORY", 0)
    (tmp_path / "a.tsv").write_text("".join(f"text {i}\tlabel\n" for i in range(2500)))
    read, lines = [], files.lines
    monkeypatch.setattr(files, "lines", lambda path, *more: read.append(path) or lines(path, *more))
    source = load_source({"type": "pairs", "path": f"{tmp_path}/a.tsv", "test": 0.1})
    assert [source.size(split) for split in ("train", "valid", "test")] == [2000, 250, 250]
    assert len(read) == 1


def test_records_by_columns_are_the_same_records():
    rows = [TableRow(Path(f"{'ab'[i % 2]}.tsv"), i, {"source": f"text {i}", "target": [i]}) for i in range(7)]
    batch, kept = RecordBatch.of(rows), [i % 3 > 0 for i in range(7)]
    assert list(batch.records()) == rows
    assert [batch.place(i) for i in range(7)] == [row.place for row in rows]
    assert list(batch.taken(kept).records()) == list(compress(rows, kept))
    assert [list(part.records()) for part in batches_of(rows * 100)] == [(rows * 100)[:500], (rows * 100)[500:]]


def test_results_come_in_the_order_of_their_tasks_and_errors_are_raised():
    assert list(in_order(lambda task: os.getpid(), range(20), 1)) == [(i, os.getpid()) for i in range(20)]
    found = list(in_order(lambda task: (task, os.getpid()), iter(range(20)), 2))
    assert [task for task, _ in found] == [task for _, (task, _) in found] == list(range(20))
    assert os.getpid() not in {process for _, (_, process) in found}

    def fail(task):
        raise UserError(f"task {task}")

    with pytest.raises(UserError, match="task 0"):
        list(in_order(fail, range(5), 2))


def test_a_worker_that_is_killed_is_one_sentence():
    with pytest.raises(WorkersEnded, match="was ended from outside"):
        list(in_order(lambda task: os.kill(os.getpid(), signal.SIGKILL), range(5), 2))


def test_a_packed_file_that_is_cut_short_is_one_sentence(tmp_path):
    zstd = pytest.importorskip("backports.zstd")
    whole = zstd.compress("".join(f"line {i}\n" for i in range(10000)).encode())
    Path(tmp_path / "a.txt.zst").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"a\.txt\.zst: cannot be unpacked: Compressed file ended before"):
        load_source({"type": "text", "path": f"{tmp_path}/a.txt.zst"})
