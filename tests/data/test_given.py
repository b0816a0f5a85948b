"""What is given, without what is to be predicted: read from files that have no more, or typed by a person."""

import numpy
import pytest
import torch

from composer.core import registry
from composer.core.problems import UserError
from composer.core.signals import Ids, Image
from composer.data import load_source
from composer.data.synthetic import __name__ as synthetic
from tests.support.data_files import tone

TEXTS = ["red green", "blue", "pink red", "black", "green blue red"]
LABELS = ["x", "y", "x", "y", "x"]

#: Every source of the user's own: its config, its files, and the same files without what is to be predicted.
OWN = {
    "pairs": (
        {"type": "pairs"},
        {"a.tsv": "".join(f"{t}\t{t[::-1]}\n" for t in TEXTS)},
        {"a.tsv": "".join(f"{t}\n" for t in TEXTS)},
    ),
    "split column": (
        {"type": "pairs", "path": "a.csv", "source": "s", "target": "t", "split_column": "split"},
        {"a.csv": "s,t,split\n" + "".join(f"{t},{t},train\n" for t in TEXTS)},
        {"a.csv": "s\n" + "".join(f"{t}\n" for t in TEXTS)},
    ),
    "labelled": (
        {"type": "labelled"},
        {"a.tsv": "".join(f"{t}\t{y}\n" for t, y in zip(TEXTS, LABELS, strict=True))},
        {"a.tsv": "".join(f"{t}\n" for t in TEXTS)},
    ),
    "one file a class": (
        {"type": "labelled", "path": "*.txt"},
        {"a.txt": "red\nblue\n", "b.txt": "green\npink\nblack\n"},
        {"a.txt": "red\nblue\ngreen\npink\nblack\n"},
    ),
    "numbers": (
        {
            "type": "labelled",
            "path": "a.csv",
            "input": "vector",
            "columns": ["p", "q"],
            "output": "value",
            "label": "y",
        },
        {"a.csv": "p,q,y\n1,2,3\n4,5,6\n"},
        {"a.csv": "p,q\n1,2\n4,5\n"},
    ),
    "jsonl": (
        {"type": "pairs", "path": "a.jsonl", "source": "s", "target": "t"},
        {"a.jsonl": '{"s": "red", "t": "der"}\n{"s": "blue", "t": "eulb"}\n'},
        {"a.jsonl": '{"s": "red"}\n{"s": "blue"}\n'},
    ),
    "vectors": (
        {"type": "vectors", "path": "a.csv", "attributes": ["size", "colour"]},
        {"a.csv": "size,colour,text\n1,red,small\n2,blue,large\n"},
        {"a.csv": "size,colour\n1,red\n2,blue\n"},
    ),
    "joined": (
        {
            "type": "table",
            "path": "a.csv",
            "fields": {
                "source": {
                    "type": "joined",
                    "parts": {
                        "lemma": {"type": "text", "column": "lemma"},
                        "tags": {"type": "words", "column": "tags", "separator": ";"},
                    },
                },
                "target": {"type": "text", "column": "form"},
            },
        },
        {"a.csv": "lemma,form,tags\nwalk,walked,V;PST\ngo,goes,V;PRS\n"},
        {"a.csv": "lemma,tags\nwalk,V;PST\ngo,V;PRS\n"},
    ),
    "tagged": (
        {"type": "tagged", "path": "a.conll", "tags": 2},
        {"a.conll": "red A\ngreen B\n\nblue A\n"},
        {"a.conll": "red\ngreen\n\nblue\n"},
    ),
}


def write(folder, files):
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_text(content)


def given(source, split):
    """The source's field ``source`` of every row."""
    return source.show("source", source.batch(split, range(source.size(split)))["source"])


@pytest.mark.parametrize("name", OWN)
def test_without_what_is_predicted_the_rest_is_read_the_same(tmp_path, monkeypatch, name):
    config, files, bare = OWN[name]
    monkeypatch.chdir(tmp_path)
    write(tmp_path, files)
    config = {"path": "a.tsv", "valid": 0, **config}
    whole = load_source(config)
    wanted, state = given(whole, "train"), whole.state()
    write(tmp_path, bare)
    source = load_source({**config, "valid": 0.4, "test": 0.2}, state=state, fields={"source"})
    split = source.every_row
    assert given(source, split) == wanted, "every row, in its order"
    assert set(source.batch(split, [0])) == {"source"}
    assert set(source.lengths(split, [0])) <= {"source"}
    with pytest.raises(UserError):
        load_source(config, state=state).size("train")


def test_a_series_ends_with_a_window_after_which_nothing_is_known(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("v\n" + "".join(f"{i}\n" for i in range(20)))
    config = {"type": "series", "path": str(path), "length": 4, "horizon": 3}
    state = load_source(config).state()
    path.write_text("v\n" + "".join(f"{i}\n" for i in range(6)))
    source = load_source(config, state=state, fields={"source"})
    assert given(source, source.every_row) == ["0; 1; 2; 3", "1; 2; 3; 4", "2; 3; 4; 5"]


def test_a_text_is_read_whole_however_short(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("red green blue " * 20)
    config = {"type": "text", "path": str(path), "length": 8}
    state = load_source(config).state()
    path.write_text("red blue green")
    source = load_source(config, state=state, fields={"target"})
    assert source.show("target", source.batch("test", [0, 1])["target"]) == ["red blue", " green"]
    assert (source.size("train"), source.size("valid")) == (0, 0)


def test_sounds_and_pictures_need_no_class(tmp_path):
    for name in ("a", "b"):
        tone(tmp_path / name / "1.wav")
    config = {"type": "audio", "path": str(tmp_path), "valid": 0, "bands": 8}
    state = load_source(config).state()
    tone(tmp_path / "unheard" / "1.wav")
    source = load_source(config, state=state, fields={"source"})
    assert source.size("test") == 3
    assert source.encode("source", [str(tmp_path / "a" / "1.wav")]).batch == 1
    numpy.save(tmp_path / "x.npy", numpy.zeros((3, 4, 4), dtype="uint8"))
    numpy.save(tmp_path / "y.npy", numpy.array([0, 1, 0]))
    config = {"type": "images", "path": f"{tmp_path}/x.npy", "labels": f"{tmp_path}/y.npy", "valid": 0}
    state = load_source(config).state()
    (tmp_path / "y.npy").unlink()
    source = load_source(config, state=state, fields={"source"})
    assert source.size("test") == 3
    with pytest.raises(UserError, match="there is no file"):
        source.encode("source", [str(tmp_path / "gone.png")])


def test_a_data_set_needs_no_label(tmp_path):
    pytest.importorskip("datasets", reason="datasets is not installed: pip install 'sequence-composer[hub]'")
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "red", "label": "x"}\n{"text": "blue", "label": "y"}\n{"text": "pink", "label": "y"}\n')
    config = {"type": "hub", "name": str(path), "valid": 0}
    state = load_source(config).state()
    bare = tmp_path / "b.jsonl"
    bare.write_text('{"text": "blue"}\n{"text": "red"}\n')
    source = load_source({**config, "name": str(bare), "valid": 0.5}, state=state, fields={"source"})
    assert given(source, source.every_row) == ["blue", "red"]


GENERATED = [name for name, cls in registry.entries("data").items() if cls.__module__.startswith(synthetic)]


@pytest.mark.parametrize("name", GENERATED)
def test_what_a_generated_task_shows_can_be_typed(name, tmp_path):
    """Tokens and numbers as texts, pictures as files."""
    source = load_source({"type": name})
    field = next(iter(source.fields))
    signal = source.batch("valid", [0, 1, 2])[field]
    if isinstance(signal, Ids):
        found = source.encode(field, source.show(field, signal))
        assert torch.equal(found.filled(0), signal.filled(0))
        assert torch.equal(found.counts, signal.counts)
        with pytest.raises(UserError, match="is no token"):
            source.encode(field, ["elsewhere"])
    elif isinstance(signal, Image):
        for row, picture in enumerate(signal.values):
            numpy.save(tmp_path / f"{row}.npy", picture.numpy())
        files = [f"{tmp_path}/{row}.npy" for row in range(3)]
        assert torch.equal(source.encode(field, files).values, signal.values)
        with pytest.raises(UserError, match="there is no file"):
            source.encode(field, ["elsewhere"])
    else:
        shown = ["; ".join(" ".join(f"{x:.3g}" for x in step) for step in row) for row in signal.values.tolist()]
        torch.testing.assert_close(source.encode(field, shown).values, signal.values, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("kind", ["characters", "bytes", "words", "bpe", "wordpiece"])
@pytest.mark.parametrize("reverse", [False, True])
def test_what_a_text_shows_can_be_typed(tmp_path, kind, reverse):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{t}\t{t}\n" for t in TEXTS))
    tokeniser = {"type": kind, "vocabulary": 400}
    config = {"type": "pairs", "path": str(path), "valid": 0, "tokeniser": tokeniser, "reverse_source": reverse}
    source = load_source(config)
    for field in ("source", "target"):
        signal = source.batch("train", range(5))[field]
        found = source.encode(field, source.show(field, signal))
        assert torch.equal(found.filled(0), signal.filled(0))
    known = {"characters": ["☃"], "words": ["☃"], "wordpiece": ["☃"]}.get(kind, [])
    assert source.unknown("source", "red ☃ ☃") == known


@pytest.mark.parametrize(
    ("text", "words"),
    [("1,x", "not made of numbers"), ("1,2,3", "has 3 numbers, but the model reads 2"), ("1,inf", "not finite")],
)
def test_numbers_that_cannot_be_read_are_named(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text("p,q,y\n1,2,x\n4,5,y\n")
    columns = {"columns": ["p", "q"], "label": "y", "input": "vector"}
    source = load_source({"type": "labelled", "path": str(path), "valid": 0, **columns})
    with pytest.raises(UserError, match=words):
        source.encode("source", [text])
    torch.testing.assert_close(
        source.unscaled("source", source.encode("source", ["4, 5"]).values)[0].tolist(), [4.0, 5.0]
    )
