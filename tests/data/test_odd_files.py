"""Files as others have them, read by the sources: odd layouts, bad rows, groups, names of files with a meaning."""

from pathlib import Path

import pytest

from composer.core.problems import UserError
from composer.data import SPLITS, load_source
from tests.support.data_files import pairs, refused, rows, tone


def made(tmp_path, monkeypatch, **files):
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        Path(name.replace("__", ".")).write_bytes(content if isinstance(content, bytes) else content.encode())


def test_a_label_before_the_text_is_read_or_said_to_be_swapped(tmp_path, monkeypatch):
    lines = [f"{i % 2} What is number {i} ?" for i in range(40)]
    made(tmp_path, monkeypatch, questions="\n".join(lines), a__tsv="\n".join(lines).replace(" ", "\t", 40))
    Path("a.tsv").write_text("\n".join(line.replace(" ", "\t", 1) for line in lines))
    for path in ("questions", "a.tsv"):
        said = refused({"type": "labelled", "path": path, "valid": 0})
        assert "column 2 holds 40 different classes in 40 rows" in said
        assert "the columns look swapped. Set data.columns=[2] data.label=1." in said
        source = load_source({"type": "labelled", "path": path, "valid": 0, "columns": [2], "label": 1})
        assert pairs(source)["train"][1] == ("What is number 1 ?", "1")


def test_a_series_without_a_header_keeps_its_first_row(tmp_path, monkeypatch):
    made(
        tmp_path,
        monkeypatch,
        a__csv="1,10\n2,20\n3,30\n",
        b__txt="# numpy\n1 10\n2 20\n3 30\n",
        c__csv="x,y\n1,10\n2,20\n3,30\n",
    )
    for path, names in (("a.csv", ("1", "2")), ("b.txt", ("1", "2")), ("c.csv", ("x", "y"))):
        config = {"type": "series", "path": path, "length": 2, "horizon": 1, "valid": 0, "normalise": False}
        source = load_source(config)
        assert source.fields["source"].contents.names == names
        assert source.batch("train", [0])["source"].values.tolist() == [[[1, 10], [2, 20]]]
        again = load_source(config, state=source.state(), fields={"source", "target"})
        assert (
            again.batch("test", [0])["source"].values.tolist() == source.batch("train", [0])["source"].values.tolist()
        )


def test_inflections_have_two_columns_of_input(tmp_path, monkeypatch):
    made(tmp_path, monkeypatch, a__tsv="walk\twalked\tV;PST\ngo\twent\tV;PST\n")
    config = {"type": "pairs", "path": "a.tsv", "source": [1, 3], "target": 2, "valid": 0}
    assert pairs(load_source(config))["train"][0] == ("walk V;PST", "walked")
    assert pairs(load_source({**config, "separator": "#"}))["train"][0] == ("walk#V;PST", "walked")


def test_parallel_files_are_pairs_and_their_valid_files_have_partners(tmp_path, monkeypatch):
    made(tmp_path, monkeypatch, train__de="ja\nnein\n", train__en="yes\nno\n", dev__de="ja\n", dev__en="yes\n")
    found = pairs(load_source({"type": "pairs", "path": "train.de", "parallel": "en", "valid": "dev.de"}))
    assert found == {"train": [("ja", "yes"), ("nein", "no")], "valid": [("ja", "yes")], "test": []}


def test_comments_before_a_sentence_are_no_words(tmp_path, monkeypatch):
    made(tmp_path, monkeypatch, a__conll="# id 1 of two\nThe DT O\ncat NN B\n\n# NN O\nsat VB O\n")
    assert pairs(load_source({"type": "tagged", "path": "a.conll", "valid": 0}))["train"] == [
        ("The cat", "O B"), ("# sat", "O O"),
    ]  # fmt: skip


def test_a_file_that_is_not_utf_8_is_read_and_said_once(tmp_path, monkeypatch):
    made(tmp_path, monkeypatch, a__pos="caf\xe9\n".encode("latin-1"), a__neg="na\xefve\n".encode("latin-1"))
    source = load_source({"type": "labelled", "path": "a.*", "valid": 0})
    assert rows(source, "train", "source") == ["naïve", "café"]
    (remark,) = source.remarks
    assert remark == "a.neg:1 and 1 more: not UTF-8, so it is read as latin-1 (data.encoding says otherwise)."


# Groups and names of files


def spoken(folder):
    for digit in range(2):
        for speaker in ("ann", "bob", "cleo"):
            for take in range(2):
                tone(folder / f"{digit}_{speaker}_{take}.wav", frequency=500 * (digit + 1), seconds=0.05)


def test_names_of_files_give_classes_and_groups_that_are_never_divided(tmp_path):
    spoken(tmp_path)
    config = {"type": "audio", "path": str(tmp_path), "pattern": "{digit}_{speaker}_{take}.wav", "label": "digit"}
    for seed in range(4):
        source = load_source({**config, "split_by": "speaker", "valid": 0.2, "test": 0.2, "seed": seed})
        assert source.fields["target"].contents.tokens == ("0", "1")
        speakers = {s: {r.file.stem.split("_")[1] for r in source.records(s)} for s in SPLITS}
        assert [len(found) for found in speakers.values()] == [1, 1, 1]
        assert len(set.union(*speakers.values())) == 3
    assert "a file has no column 'speakr'" in refused({**config, "split_by": "speakr"})
    assert "too few to split" in refused({**config, "split_by": "speaker", "valid": 0.5, "test": 0.4})
    assert "does not fit the pattern" in refused({**config, "pattern": "{digit}-{speaker}.wav"})


def test_rows_of_one_group_of_a_table_go_to_one_split(tmp_path, monkeypatch):
    made(tmp_path, monkeypatch, a__tsv="".join(f"s{i}\tt\tg{i % 5}\n" for i in range(50)))
    found = pairs(
        load_source({"type": "pairs", "path": "a.tsv", "split_by": 3, "valid": 0.2, "tokeniser": {"type": "bytes"}})
    )
    groups = {split: {int(s[1:]) % 5 for s, _ in found[split]} for split in SPLITS}
    assert [len(groups[split]) for split in SPLITS] == [4, 1, 0]
    assert not groups["train"] & groups["valid"]
    made(tmp_path, monkeypatch, few__tsv="s0\tt\t0\ns1\tt\t1\ns2\tt\t2\n")
    few = load_source({"type": "pairs", "path": "few.tsv", "split_by": 3, "tokeniser": {"type": "bytes"}})
    assert few.size("valid") == 1, "a share of a few rows is one group at least"


# Bad rows

BAD = {
    "a.tsv": (
        {"type": "pairs"}, b"a\tb\nc\nd\te\n\xff\tx\n", {"encoding": "utf-8"},
        ["a.tsv:2: has 1 columns, but the first line has 2", "a.tsv:4: the byte 0xff is not utf-8"], ["a", "d"],
    ),
    "a.csv": (
        {"type": "labelled", "input": "vector", "columns": ["x"], "label": "k"}, b"x,k\n1,a\ntwo,a\n3,a\nnan,a\n", {},
        ["a.csv:3: column 'x' holds 'two', which is no number", "a.csv:5: column 'x' holds 'nan'"], ["1", "3"],
    ),
    "a.jsonl": (
        {"type": "pairs", "source": "s", "target": "t"}, b'{"s": "a", "t": "b"}\n{"s": \n{"s": "c", "t": "d"}\n', {},
        ["a.jsonl:2: is not JSON"], ["a", "c"],
    ),
    "a.conll": (
        {"type": "tagged", "tags": 2}, b"a X\n\nb X\nc\n\nd X\n", {}, ["a.conll:4: has 1 columns"], ["a", "d"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_errors_or_are_left_out_and_counted(tmp_path, monkeypatch, name):
    config, content, options, reasons, left = BAD[name]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    config = {**config, **options, "path": name, "valid": 0}
    assert reasons[0] in refused(config)
    source = load_source({**config, "skip_bad": True})
    assert rows(source, "train", "source") == left
    (remark,) = source.remarks
    assert remark.startswith(f"{len(reasons)} bad row{'s' * (len(reasons) > 1)} left out (skip_bad): ")
    for reason in reasons:
        assert reason in remark


def test_a_missing_and_an_undecodable_file_and_a_class_without_training_rows_can_be_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tone(Path("x/a.wav"), seconds=0.05)
    Path("x/b.wav").write_text("no sound")
    Path("a.csv").write_text("file,kind\nx/a.wav,cat\nx/b.wav,cat\nx/c.wav,cat\n")
    Path("b.csv").write_text("file,kind\nx/a.wav,cat\nx/a.wav,dog\n")
    fields = {"sound": {"type": "audio", "column": "file"}, "kind": {"type": "class", "column": "kind"}}
    config = {"type": "table", "path": "a.csv", "valid": "b.csv", "fields": fields}
    assert "a.csv:4: column 'file' holds 'x/c.wav', and there is no file 'x/c.wav'" in refused(config)
    source = load_source({**config, "skip_bad": True})
    assert [source.size(split) for split in SPLITS] == [1, 1, 0]
    assert [record.line for split in SPLITS for record in source.records(split)] == [2, 2]
    said = source.remarks[0]
    assert said.startswith("3 bad rows left out (skip_bad): a.csv:4: ")
    assert "a.csv:3: x/b.wav: cannot be read as a WAV file" in said
    assert "b.csv:3: the label 'dog' never occurs in the training split" in said


def test_what_training_refuses_prediction_refuses(tmp_path, monkeypatch):
    made(tmp_path, monkeypatch, a__csv="x,k\n1,a\n2,b\n", b__csv="x\n1\ntwo\n")
    config = {"type": "labelled", "path": "a.csv", "input": "vector", "columns": ["x"], "label": "k", "valid": 0}
    state = load_source(config).state()
    with pytest.raises(UserError, match=r"b\.csv:3: column 'x' holds 'two'"):
        load_source({**config, "path": "b.csv"}, state=state, fields={"source"}).size("test")
