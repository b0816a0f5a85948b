"""Tokenised data that is kept between runs: never believed where it is wrong, and never another batch than without."""

import errno
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from composer.data import SPLITS, load_source
from composer.data.cache import CacheFolder, folder, source_cache
from composer.data.files import lines as files_module
from composer.data.packed.packed_rows import CannotKeep, Packer
from tests.support.paths import ROOT

WORDS = ("the", "old", "grey", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs", "in", "Berlin", "at", "7")
LABELS = ("pos", "neg")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache in which the smallest file has an entry."""
    monkeypatch.setenv("COMPOSER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(source_cache, "LEAST", 1)
    return tmp_path / "cache"


def sentence(row):
    return " ".join(WORDS[(row * 7 + i * i) % len(WORDS)] for i in range(2 + row % 6))


@pytest.fixture
def files(tmp_path, monkeypatch):
    here = tmp_path / "files"
    here.mkdir()
    monkeypatch.chdir(here)
    rows = range(40)
    Path("pairs.tsv").write_text("".join(f"{sentence(i)}\t{sentence(i + 3)}\n" for i in rows))
    labelled = "".join(f"{sentence(i)},{LABELS[i % 2]},{i / 7}\n" for i in rows)
    Path("labelled.csv").write_text(f"text,label,x\n{labelled}")
    Path("tagged.conll").write_text("\n\n".join("\n".join(f"{w} {w[0]}" for w in sentence(i).split()) for i in rows))
    Path("book.txt").write_text("\n".join(map(sentence, range(200))))
    with gzip.open("book.txt.gz", "wt") as file:
        file.write("\n".join(map(sentence, range(200))))
    Path("docs.jsonl").write_text("".join(json.dumps({"text": sentence(i), "n": i}) + "\n" for i in rows))
    Path("a.de").write_text("\n".join(map(sentence, rows)))
    Path("a.en").write_text("\n".join(sentence(i + 1) for i in rows))
    Path("bad.jsonl").write_text('{"a": "x y", "b": "z"}\n{"a": 1.5}\n{"a": "x", "b": "z z"}\n{"a": "y", "b": "z"}\n')
    return here


BPE = {"type": "bpe", "vocabulary": 300}
CASES = {
    "pairs": {"type": "pairs", "path": "pairs.tsv", "test": 0.1},
    "pairs of words": {"type": "pairs", "path": "pairs.tsv", "tokeniser": {"type": "words"}, "shared_vocabulary": True},
    "parallel": {"type": "pairs", "path": "a.de", "parallel": "en", "tokeniser": BPE},
    "labelled": {"type": "labelled", "path": "labelled.csv", "columns": ["text"], "label": "label"},
    "numbers": {"type": "labelled", "path": "labelled.csv", "columns": ["x"], "label": "label", "input": "vector"},
    "tagged": {"type": "tagged", "path": "tagged.conll"},
    "fields": {
        "type": "table", "path": "labelled.csv", "fields": {
            "text": {"type": "text", "column": "text"},
            "label": {"type": "class", "column": "label", "weight": "balanced"},
            "x": {"type": "number", "column": "x"},
            "again": {"type": "number", "column": 3},
        },
    },
    "bad rows": {"type": "pairs", "path": "bad.jsonl", "source": "a", "target": "b", "valid": 0, "skip_bad": True},
    "text": {"type": "text", "path": "book.txt", "length": 16},
    "text, bpe": {"type": "text", "path": "book.txt.gz", "length": 8, "stride": 3, "tokeniser": BPE, "test": 0.1},
    "documents": {"type": "text", "path": "docs.jsonl", "length": 16, "tokeniser": {"type": "words"}},
}  # fmt: skip


def observed(source):
    """All that a run sees of a source."""
    found = {}
    for split in SPLITS:
        rows = torch.arange(source.size(split))
        if len(rows):
            signals = source.batch(split, rows)
            found[split] = {n: [v.tolist() for v in vars(s).values() if v is not None] for n, s in signals.items()}
            found[split]["lengths"] = {n: v.tolist() for n, v in source.lengths(split, rows).items()}
            found[split]["weights"] = {n: v.tolist() for n, v in source.loss_weights(split, rows).items()}
    return found, source.fields, source.notes, source.remarks, source.related, source.state()


def uncached(monkeypatch, *arguments, **more):
    with monkeypatch.context() as patch:
        patch.setenv("COMPOSER_CACHE", "off")
        return observed(load_source(*arguments, **more))


MIXED = {
    "text": ({"type": "text", "length": 8, "tokeniser": {"type": "words"}}, "book.txt", "docs.jsonl"),
    "labelled": ({"type": "labelled", "columns": ["text"], "label": "label"}, "labelled.csv", "more.csv"),
    "numbers": (
        {"type": "labelled", "columns": ["x"], "label": "label", "input": "vector"},
        "labelled.csv",
        "more.csv",
    ),
}


@pytest.mark.parametrize("case", MIXED)
def test_a_mixture_keeps_what_its_sources_have_learned_together(files, monkeypatch, cache, case):
    """And leaves what each of them learns alone to itself."""
    each, first, second = MIXED[case]
    Path("more.csv").write_text(
        "text,label,x\n" + "".join(f"new {sentence(i)},neg,{i}\npos,pos,0\n" for i in range(20))
    )
    mixed, alone = {"type": "mixture", "each": each, "sources": {"a": first, "b": second}}, {**each, "path": first}
    without = {"mixed": uncached(monkeypatch, mixed), "alone": uncached(monkeypatch, alone)}
    for _ in range(2):
        assert observed(load_source(mixed)) == without["mixed"]
        assert observed(load_source(alone)) == without["alone"]
    assert len(list(CacheFolder(cache).entries())) >= 4  # vocabularies of both, and rows of two files


@pytest.mark.parametrize("case", CASES)
def test_a_second_start_gives_what_a_start_without_the_cache_gives(files, monkeypatch, cache, case):
    config = CASES[case]
    without = uncached(monkeypatch, config)
    assert not cache.exists()
    assert observed(load_source(config)) == without
    assert len(list(CacheFolder(cache).entries())) == 2  # what was learned, and what was packed
    with monkeypatch.context() as patch:
        for name in ("characters", "lines"):
            patch.setattr(f"composer.data.files.lines.{name}", lambda *a: pytest.fail("reads the files"))
        assert observed(load_source(config)) == without
    state = without[-1]
    restored = uncached(monkeypatch, config, state=state)
    for _ in range(2):
        assert observed(load_source(config, state=state)) == restored
    given = uncached(monkeypatch, config, state=state, fields=list(state))
    for _ in range(2):
        assert observed(load_source(config, state=state, fields=list(state))) == given


def test_other_vocabularies_are_other_entries(files, monkeypatch, cache):
    """As in a run that takes its vocabulary from another run."""
    config = CASES["pairs of words"]
    other = load_source({**config, "tokeniser": {"type": "words", "vocabulary": 8}}).state()
    own = observed(load_source(config))
    taken = uncached(monkeypatch, config, state=other)
    assert taken[0] != own[0]
    for _ in range(2):
        assert observed(load_source(config, state=other)) == taken
        assert observed(load_source(config)) == own


def test_tokens_are_kept_for_windows_of_all_lengths(files, monkeypatch, cache):
    observed(load_source(CASES["text"]))
    entries = len(list(CacheFolder(cache).entries()))
    config = {**CASES["text"], "length": 5, "stride": 2, "valid_length": 9}
    assert observed(load_source(config)) == uncached(monkeypatch, config)
    assert len(list(CacheFolder(cache).entries())) == entries + 1  # inverse document frequencies are of windows


@pytest.mark.parametrize("change", ["content", "time"])
def test_a_changed_file_is_read_again(files, monkeypatch, change):
    config = CASES["parallel"]
    observed(load_source(config))
    partner = Path("a.en")
    if change == "content":
        partner.write_text(partner.read_text().replace("cat", "hen"))
        assert "hen" in "".join(load_source(config).fields["target"].contents.tokens)
    before = partner.stat().st_mtime_ns
    os.utime(partner, ns=(before, before + 1))
    read = []
    lines = files_module.lines
    monkeypatch.setattr("composer.data.files.lines.lines", lambda path, *more: read.append(path) or lines(path, *more))
    load_source(config)
    assert partner in read


def test_a_file_that_changes_while_it_is_read_is_not_kept(files, cache, monkeypatch):
    finish = Packer.finish

    def late(packer, *arguments, **more):
        os.utime("pairs.tsv", ns=(1, 1))
        return finish(packer, *arguments, **more)

    monkeypatch.setattr(Packer, "finish", late)
    source = load_source(CASES["pairs"])
    assert source.size("train") == 32
    assert any("have changed while they were read" in remark for remark in source.remarks)
    assert [entry.about["part"] for entry in CacheFolder(cache).entries()] == ["learned"]


def damage(cache, how):
    file = max(cache.glob("*/*.values"), key=lambda file: file.stat().st_size)
    if how == "truncated":
        os.truncate(file, file.stat().st_size - 2)
    elif how == "changed":
        content = bytearray(file.read_bytes())
        content[0] ^= 1
        file.write_bytes(content)
    elif how == "missing":
        file.unlink()
    else:
        about = file.with_name("about.json")
        about.write_text(about.read_text().replace('"dtype"', '"dtypo"'))


@pytest.mark.parametrize("how", ["truncated", "changed", "missing", "about"])
def test_a_damaged_entry_is_made_again_with_a_note(files, cache, how):
    config = CASES["text"]
    whole = observed(load_source(config))
    damage(cache, how)
    source = load_source(config)
    found = observed(source)
    assert found[0] == whole[0]
    assert "is damaged" in found[3][0]
    assert observed(load_source(config)) == whole


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS])
def test_a_full_disk_or_a_folder_that_cannot_be_written_is_one_line(files, cache, monkeypatch, error):
    def refuse(*arguments):
        raise CannotKeep(os.strerror(error))

    without = uncached(monkeypatch, CASES["pairs"])
    monkeypatch.setattr(source_cache, "write_entry", refuse)
    source = load_source(CASES["pairs"])
    found = observed(source)
    assert found[0] == without[0]
    assert found[3] == [f"no data is kept in '{cache}': {os.strerror(error)}. It is read anew at every start."]
    assert not list(CacheFolder(cache).entries())


def test_a_file_in_the_place_of_the_folder_is_one_line(files, cache):
    cache.write_text("")
    source = load_source(CASES["text"])
    assert source.size("train")
    assert len(source.remarks) == 1
    assert "no data is kept" in source.remarks[0]


def test_small_data_and_files_that_rows_name_are_not_kept(files, cache, monkeypatch):
    Path("named.csv").write_text("file,label\nx.npy,a\ny.npy,b\n")
    import numpy

    for name in "xy":
        numpy.save(f"{name}.npy", numpy.zeros((2, 2)))
    fields = {"photo": {"type": "image", "column": "file"}, "kind": {"type": "class", "column": "label"}}
    source = load_source({"type": "table", "path": "named.csv", "fields": fields, "valid": 0})
    assert source.size("train") == 2
    assert source.inputs() is None
    monkeypatch.setattr(source_cache, "LEAST", 2**20)
    assert load_source(CASES["text"]).size("train")
    assert not cache.exists()


def test_old_entries_and_those_beyond_the_limit_are_removed_with_a_word(files, cache, monkeypatch):
    observed(load_source(CASES["pairs"]))
    for entry in CacheFolder(cache).entries():
        old = time.time() - 86400 * (folder.DAYS + 1)
        os.utime(cache / entry.key, (old, old))
    source = load_source(CASES["text"])
    source.size("train")
    assert "2 old entries" in source.remarks[0]
    assert {entry.about["section"]["type"] for entry in CacheFolder(cache).entries()} == {"text"}
    monkeypatch.setattr(folder, "MOST", 1)
    load_source(CASES["tagged"]).size("train")
    assert [entry.about["part"] for entry in CacheFolder(cache).entries()] == ["packed"]  # the last one stays


KILLED = """
import os, sys, time
from composer.data.packed import shards
from composer.data import load_source
from composer.data.cache import source_cache
source_cache.LEAST, shards.SHARD = 1, 2**17
encode = shards.ShardEncoder._encoded
def limited(encoder, shard, file):
    if file.is_file():
        return encode(encoder, shard, file)
    if shard.number >= 3 and sys.argv[1] == "kill":
        os.kill(os.getppid(), 9)
        time.sleep(60)  # until the worker finds that its parent has ended
    open("encoded", "a").write(f"{file.stem}\\n")
    return encode(encoder, shard, file)
shards.ShardEncoder._encoded = limited
source = load_source({"type": "text", "path": "book.txt", "length": 16, "workers": 2})
print(source.batch("train", range(source.size("train")))["target"].values.sum().item())
"""


@pytest.mark.slow
def test_shards_of_a_killed_process_are_not_encoded_again(files, cache, monkeypatch):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    Path("book.txt").write_text("\n".join(map(sentence, range(30000))))
    run = [sys.executable, "-c", KILLED]
    killed = subprocess.run([*run, "kill"], env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    kept = {file.stem for file in cache.glob("*.building/train-*.ids")}
    assert len(kept) >= 1
    Path("encoded").unlink()
    done = subprocess.run([*run, "go"], env=environment, capture_output=True, text=True, check=True, timeout=120)
    again = {line for line in Path("encoded").read_text().splitlines() if line.startswith("train")}
    assert again
    assert not again & kept
    source = load_source({"type": "text", "path": "book.txt", "length": 16})
    assert int(done.stdout) == source.batch("train", range(source.size("train")))["target"].values.sum().item()


TOGETHER = """
import sys
from composer.data import load_source, own
from composer.data.cache import source_cache
from composer.data.own import text
source_cache.LEAST = 1
encode = text.Running._encoded
def counted(*arguments):
    open("built", "a").write("x")
    return encode(*arguments)
text.Running._encoded = counted
source = load_source({"type": "text", "path": "book.txt", "length": 16})
print(source.batch("train", range(source.size("train")))["target"].values.sum().item())
"""


@pytest.mark.slow
def test_one_of_several_processes_builds_and_the_others_wait(files, cache):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [
        subprocess.Popen([sys.executable, "-c", TOGETHER], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    first, second = (process.communicate(timeout=120)[0] for process in both)
    assert first == second != ""
    assert Path("built").read_text() == "x"


def test_a_kill_at_any_moment_of_writing_leaves_no_entry_that_is_believed(files, cache, monkeypatch):
    """The files of an entry that is not finished, moved to the place of the entry, are damaged or missing."""
    whole = observed(load_source(CASES["pairs"]))
    entry = next(e for e in CacheFolder(cache).entries() if e.about["part"] == "packed")
    names = sorted(file.name for file in (cache / entry.key).iterdir() if file.name != "about.json")
    for name in names:
        shutil.copytree(cache / entry.key, cache / "copy")
        (cache / entry.key / name).unlink()
        assert observed(load_source(CASES["pairs"]))[0] == whole[0]
        shutil.rmtree(cache / entry.key)
        (cache / "copy").rename(cache / entry.key)
