"""Parquet files and Hugging Face's data sets: the same examples as from plain files, and nothing from the network."""

import json
import shutil
import socket

import pytest

from composer.data import load_source
from tests.support.data_files import BYTES, pairs, refused, rows

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'sequence-composer[hub]'")

PAIRS = [(f"source {i}", f"target {i}") for i in range(20)]
CLASSES = [(f"text {i}", ["cat", "dog"][i % 2]) for i in range(20)]


def write(path, columns):
    from pyarrow import parquet

    parquet.write_table(arrow.table(columns), path)


def columns(examples, *names):
    return dict(zip(names, map(list, zip(*examples, strict=True)), strict=True))


# Parquet


@pytest.mark.parametrize("named", [False, True])
def test_a_parquet_file_is_the_same_as_its_tsv(tmp_path, named):
    write(tmp_path / "a.parquet", columns([(1, *pair) for pair in PAIRS], "id", "eng", "fra"))
    (tmp_path / "a.tsv").write_text("".join(f"{i}\t{a}\t{b}\n" for i, (a, b) in enumerate(PAIRS)))
    config = {"type": "pairs", "source": 2, "target": 3, "tokeniser": BYTES}
    plain = load_source({**config, "path": f"{tmp_path}/a.tsv"})
    more = {"source": "eng", "target": "fra"} if named else {}
    found = load_source({**config, "path": f"{tmp_path}/a.parquet", **more})
    assert pairs(found) == pairs(plain)
    assert found.size("valid") == 2


def test_classes_and_numbers_come_from_parquet(tmp_path):
    write(tmp_path / "a.parquet", {"text": ["a", "b"], "label": [1, 0], "x": [0.5, 1.5], "y": [2, 3]})
    config = {"path": f"{tmp_path}/a.parquet", "valid": 0, "normalise": False}
    source = load_source({"type": "labelled", "columns": ["text"], "label": "label", **config})
    assert rows(source, "train", "target") == ["1", "0"]
    source = load_source({"type": "labelled", "input": "vector", "columns": ["x", "y"], "label": "label", **config})
    assert rows(source, "train", "source") == ["0.5 2", "1.5 3"]


def test_a_part_of_a_nested_column_has_a_name(tmp_path):
    write(tmp_path / "a.parquet", {"translation": [{"en": "a", "fr": "b"}, {"en": "c", "fr": "d"}], "id": [1, 2]})
    config = {"type": "pairs", "path": f"{tmp_path}/a.parquet", "valid": 0, "tokeniser": BYTES}
    source = load_source({**config, "source": "translation.en", "target": "translation.fr"})
    assert pairs(source)["train"] == [("a", "b"), ("c", "d")]


def test_a_large_parquet_file_is_read_some_rows_at_a_time(tmp_path, monkeypatch):
    from composer.data.splits import stored_records
    from composer.data.tables import parquet

    monkeypatch.setattr(parquet, "CHUNK", 7)
    monkeypatch.setattr(stored_records, "MEMORY", 0)
    write(tmp_path / "a.parquet", columns(PAIRS, "source", "target"))
    source = load_source({"type": "pairs", "path": f"{tmp_path}/a.parquet", "valid": 0, "tokeniser": BYTES})
    assert pairs(source)["train"] == PAIRS


@pytest.mark.parametrize(
    ("content", "more", "words"),
    [
        (b"no table", {}, ["a.parquet: cannot be read as Parquet", "Is it whole?"]),
        ({"eng": ["a"], "fra": ["b"]}, {"source": "engl", "target": "fra"},
         ["data.source", "no column 'engl'", "Did you mean 'eng'?", "eng, fra"]),
        ({"eng": ["a"], "fra": ["b"]}, {"target": 3}, ["data.target", "no column 3", "has 2"]),
        ({"eng": ["a", None], "fra": ["b", "c"]}, {}, ["a.parquet:2: column '1' holds None, which is no text"]),
        ({"eng": arrow.array([], "string"), "fra": arrow.array([], "string")}, {}, ["a.parquet: is empty"]),
    ],
)  # fmt: skip
def test_a_bad_parquet_file_is_one_clear_sentence(tmp_path, content, more, words):
    path = tmp_path / "a.parquet"
    path.write_bytes(content) if isinstance(content, bytes) else write(path, content)
    said = refused({"type": "pairs", "path": str(path), "valid": 0, **more})
    for word in words:
        assert word in said, said


# Data sets


@pytest.fixture
def datasets(tmp_path, monkeypatch):
    """The package with an empty cache, and no way out."""
    library = pytest.importorskip("datasets", reason="datasets is not installed: pip install 'sequence-composer[hub]'")
    monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))

    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return library


def saved(datasets, folder, found, features=None):
    write(folder / "made.parquet", found)
    made = datasets.load_dataset("parquet", data_files=str(folder / "made.parquet"), features=features, split="train")
    made.save_to_disk(folder / "data")


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "parquet", "saved", "folder"])
def test_local_data_is_read_through_datasets(tmp_path, datasets, kind):
    path = tmp_path / ("data" if kind in ("saved", "folder") else f"a.{kind}")
    found = columns(CLASSES, "text", "label")
    if kind == "saved":
        saved(datasets, tmp_path, found)
    elif kind == "parquet":
        write(path, found)
    elif kind == "folder":
        path.mkdir()
        write(path / "train-0.parquet", columns(CLASSES[:12], "text", "label"))
        write(path / "test-0.parquet", columns(CLASSES[12:], "text", "label"))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps({"text": a, "label": b}) + "\n" for a, b in CLASSES))
    else:
        mark = {"csv": ",", "tsv": "\t"}[kind]
        path.write_text("".join(f"{a}{mark}{b}\n" for a, b in [("text", "label"), *CLASSES]))
    shares = {"valid": 0, "test": "test"} if kind == "folder" else {"valid": 0.25}
    source = load_source({"type": "hub", "name": str(path), "tokeniser": BYTES, **shares})
    by_split = pairs(source)
    assert sorted(pair for found in by_split.values() for pair in found) == sorted(CLASSES)
    expected = {"train": 12, "valid": 0, "test": 8} if kind == "folder" else {"train": 15, "valid": 5, "test": 0}
    assert {split: len(found) for split, found in by_split.items()} == expected
    again = load_source({"type": "hub", "name": "gone", "tokeniser": BYTES}, state=source.state())
    assert again.fields == source.fields


def test_what_was_fetched_before_is_found_by_its_name(tmp_path, datasets, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    write(tmp_path / "mine" / "train.parquet", columns(CLASSES, "text", "label"))
    datasets.load_dataset("mine")
    shutil.rmtree(tmp_path / "mine")
    source = load_source({"type": "hub", "name": "mine", "valid": 0, "tokeniser": BYTES})
    assert pairs(source)["train"] == CLASSES


def test_named_classes_texts_and_values(tmp_path, datasets):
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"]),
         "translation": {"en": datasets.Value("string")}, "score": datasets.Value("float32")}
    )  # fmt: skip
    made = {"text": ["a", "b"], "label": [1, 0], "translation": [{"en": "x"}, {"en": "y"}], "score": [1.5, 2.5]}
    saved(datasets, tmp_path, made, features)
    config = {"type": "hub", "name": f"{tmp_path}/data", "valid": 0, "normalise": False}
    for more, expected in (
        ({}, ["pos", "neg"]),
        ({"target": "translation.en", "output": "text"}, ["x", "y"]),
        ({"target": "score", "output": "value"}, ["1.5", "2.5"]),
    ):
        assert rows(load_source({**config, **more}), "train", "target") == expected


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, ["data.name", "names no data"]),
        ({"name": "imdb"}, ["data.name", "'imdb' is no file or folder here", "not in the cache", "data.download=true"]),
        ({"name": "empty"}, ["data.name", "'empty' cannot be loaded", "doesn't contain any data files"]),
        ({"name": "a.jsonl", "source": "txt"}, ["data.source", "no column 'txt'", "Did you mean 'text'?"]),
        ({"name": "a.jsonl", "valid": "validation"}, ["data.valid", "no split 'validation'", "splits: train"]),
        ({"name": "a.jsonl", "target": "n", "output": "value"}, ["a.jsonl[train]:2: column 'n' holds"]),
        ({"name": "a.jsonl", "target_tokeniser": {}}, ["data.target_tokeniser", "no effect"]),
        ({"name": "a.jsonl", "valid": 0.6, "test": 0.5}, ["data.valid", "1.1 of the rows"]),
    ],
)
def test_bad_data_is_one_clear_sentence_and_asks_no_network(tmp_path, datasets, monkeypatch, config, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": "x", "n": 1}\n{"text": "b", "label": "x", "n": null}\n')
    said = refused({"type": "hub", "valid": 0, **config})
    for word in words:
        assert word in said, said


def test_declared_fields_over_the_splits_of_a_data_set(tmp_path, datasets):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"]),
         "photo": datasets.Image(), "meta": {"score": datasets.Value("float32")}}
    )  # fmt: skip

    def part(texts, labels):
        photos = [image.new("L", (3, 2), 255 * label) for label in labels]
        made = {"text": texts, "label": labels, "photo": photos, "meta": [{"score": len(text)} for text in texts]}
        return datasets.Dataset.from_dict(made, features=features)

    parts = {"train": part(["a", "bb", "ccc"], [1, 0, 0]), "validation": part(["dddd"], [1])}
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "data")
    fields = {
        "source": {"type": "text", "column": "text", "tokeniser": BYTES},
        "photo": {"type": "image", "column": "photo"},
        "target": {"type": "class", "column": "label", "weight": "balanced"},
        "score": {"type": "number", "column": "meta.score", "normalise": False},
    }
    config = {"type": "table", "hub": f"{tmp_path}/data", "fields": fields, "valid": "validation"}
    source = load_source(config)
    found = pairs(source)
    assert found["train"] == [("a", "pos"), ("bb", "neg"), ("ccc", "neg")]
    assert found["valid"] == [("dddd", "pos")]
    batch = source.batch("train", [0, 1])
    assert batch["photo"].values.shape == (2, 1, 2, 3)
    assert batch["photo"].values.mean((1, 2, 3)).tolist() == [1, 0]
    assert rows(source, "train", "score") == ["1", "2", "3"]
    row = next(source.written("train"))
    assert row.place == {"file": f"{tmp_path}/data[train]", "line": 1}
    whole = load_source(config, state=source.state(), fields={"source"})
    assert [row.values for row in whole.written("test")] == [{"source": "a"}, {"source": "bb"}, {"source": "ccc"}]


def test_a_missing_label_is_a_bad_row(tmp_path, datasets):
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    saved(datasets, tmp_path, {"text": ["a", "b"], "label": [1, -1]}, features)
    fields = {
        "target": {"type": "class", "column": "label"},
        "source": {"type": "text", "column": 1, "tokeniser": BYTES},
    }
    config = {"type": "table", "hub": {"name": f"{tmp_path}/data"}, "fields": fields, "valid": 0}
    assert "data[train]:2: column 'label' holds -1, which is no class" in refused(config)
    source = load_source({**config, "skip_bad": True})
    assert pairs(source)["train"] == [("a", "yes")]
    assert "1 bad row left out" in source.remarks[0]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"hub": "imdb"}, ["data.hub", "not in the cache", "data.hub.download=true"]),
        ({"hub": {"name": "imdb"}}, ["data.hub.name", "not in the cache"]),
        ({"hub": {"name": "a.jsonl"}, "valid": "none"}, ["data.valid", "no split 'none'"]),
        ({"hub": "a.jsonl", "path": "a.jsonl"}, ["data.path", "no effect", "data.hub"]),
        ({"hub": "a.jsonl"}, ["data.fields.target.column", "no column 'labl'. Did you mean 'label'?"]),
    ],
)
def test_a_bad_data_set_of_declared_fields_is_one_clear_sentence(tmp_path, datasets, monkeypatch, config, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": "b", "label": "x"}\n')
    said = refused({"type": "table", "fields": {"target": {"type": "class", "column": "labl"}}, "valid": 0, **config})
    for word in words:
        assert word in said, said
