"""What is found in files as people have them, and what of it is said."""

import bz2
import gzip
import json
import lzma

import pytest

from composer.core.problems import Invalid, UserError
from composer.data import load_source
from composer.data.layout import Given, layout, layout_of
from composer.data.survey import survey
from composer.data.tables.reading import Reading
from composer.data.tables.table import Table

QUESTIONS = "".join(f"{i % 3} What is the {word} ?\n" for i, word in enumerate("abcdefgh"))

#: name -> content, the delimiter and whether the first record is a header
FOUND = {
    "plain.tsv": ('say "a\tb\nc"\td\n', "tab", False),
    "named.tsv": ("text\tlabel\ngood\tpos\nbad\tneg\n", "tab", True),
    "swapped.tsv": ("pos\tgood\nneg\tbad\n", "tab", False),
    "quoted.tsv": ('"one\ttwo"\tx\nthree\ty\n"four ""4"""\tz\n', "tab", False),
    "semicolons.csv": ("a;b;c\n1,5;2;x\n2,5;3;y\n", "semicolon", True),
    "tabs.csv": ("one, two\tx\nthree\ty\n", "tab", False),
    "comments.csv": ("# made by hand\n# in two lines\nx,y\n1,2\n3,4\n", "comma", True),
    "hash.csv": ("#,y\n1,2\n3,4\n", "comma", True),
    "series.csv": ("2016-07-01,5.8,2.0\n2016-07-02,5.7,2.1\n", "comma", False),
    "index.csv": (",0,1\n0,2.5,3\n1,2.6,4\n", "comma", True),
    "numbers.txt": ("1.5,2,3\n4,5,6.5\n", "comma", False),
    "saved.txt": ("# numpy.savetxt\n1.5 2 3\n4 5 6.5\n", "space", False),
    "questions": (QUESTIONS, "first_space", False),
    "commented": ("# six classes\n" + QUESTIONS, "first_space", False),
    "trec.label": ("NUM:date When ?\nHUM:ind Who ?\n" * 3, "first_space", False),
    "fast.txt": ("__label__a x y\n__label__b z\n__label__a z\n__label__b x\n", "first_space", False),
    "sentences.txt": ("Well, yes.\nNo, never.\nI see, thanks.\n", "tab", False),
    "numbered.txt": ("1 One line.\n2 Another.\n3 A third.\n4 The last.\n", "tab", False),
    "one.csv": ("text\nred green\nblue\n", "comma", False),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_delimiter_and_the_header_are_found(tmp_path, name):
    content, delimiter, header = FOUND[name]
    (tmp_path / name).write_text(content)
    found = layout_of(tmp_path / name)
    assert (found.form, found.cutting.name, found.header) == ("delimited", delimiter, header)


def records(path, columns, **options):
    table = Table({str(column): column for column in columns}, reading=Reading(**options))
    return [tuple(record.values.values()) for record in table.read(path)], table.reading.remarks


def test_quoted_cells_of_a_tsv_may_hold_tabs_and_line_breaks(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('"one\ttwo"\tx\n"three\nlines"\ty\n')
    assert records(path, [1, 2])[0] == [("one\ttwo", "x"), ("three\nlines", "y")]
    assert "cells in quotes may hold the delimiter" in records(path, [1, 2])[1][0]
    path.write_text('"one"\tx\nsay "two\ty\n')
    assert records(path, [1, 2]) == ([('"one"', "x"), ('say "two', "y")], [])


def test_a_line_that_contradicts_what_the_first_part_says_is_an_error_with_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "HEAD", 50)
    path = tmp_path / "a.tsv"
    path.write_bytes(b"red\tx\n" * 20 + b"caf\xe9\tx\n")
    with pytest.raises(UserError, match=r"a\.tsv:21: the byte 0xe9 is not utf-8.*data\.encoding=latin-1"):
        records(path, [1])
    path.write_text("red\tx\n" * 20 + '"tea\tcup"\tx\n')
    with pytest.raises(UserError, match=r"a\.tsv:21: has 3 columns, but the first line has 2.*data\.quotes=true"):
        records(path, [1])
    assert records(path, [1], quotes=True)[0][-1] == ("tea\tcup",)


def test_names_above_numbered_columns_are_no_example_and_this_is_said(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("source\ttarget\na\tb\n")
    found, remarks = records(path, [1, 2])
    assert found == [("a", "b")]
    assert remarks == [f"{path}: the first line holds names of columns, not values (data.header says otherwise)."]
    assert records(path, [1, 2], header=False) == ([("source", "target"), ("a", "b")], [])


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [("café \u2013 naïve", "cp1252", "cp1252"), ("café", "latin-1", "latin-1"), ("café", "utf-8-sig", None)],
)
def test_a_western_encoding_is_told_by_the_bytes_and_said(tmp_path, text, encoding, name):
    path = tmp_path / "a.tsv"
    path.write_bytes(f"plain\tx\n{text}\ty\n".encode(encoding))
    found, remarks = records(path, [1])
    assert found == [("plain",), (text,)]
    assert [f"a.tsv:2: not UTF-8, so it is read as {name}" in remark for remark in remarks] == [True] * bool(name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Привет мир\n".encode("koi8-r") * 3, "Name the encoding of the file"),
        ("one\n".encode("utf-16"), "is UTF-16. Convert the file: iconv -f UTF-16"),
        (b"\x89PNG\0\0\xff\xfe", "is no text"),
        (b"\x28\xb5\x2f\xfd....", "cannot be unpacked|needs the package 'backports'"),
    ],
)
def test_bytes_that_leave_the_encoding_open_are_one_sentence(tmp_path, content, words):
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(UserError, match=words):
        layout_of(tmp_path / "a.tsv")


@pytest.mark.parametrize("name", ["a.tsv.gz", "a.tsv.bz2", "a.tsv.xz", "a.tsv"])
def test_compressed_files_are_known_by_name_or_bytes(tmp_path, name):
    packed = {"bz2": bz2.compress, "xz": lzma.compress}.get(name.rpartition(".")[2], gzip.compress)
    (tmp_path / name).write_bytes(packed(b"a\tb\nc\td\n"))
    assert records(tmp_path / name, [1, 2])[0] == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(
    "content",
    [
        '{"t": "a", "n": 1}\n{"t": "b", "n": 2}\n',
        '# from a log\n// twice\n{"t": "a", "n": 1}\n\n{"t": "b", "n": 2}\n',
        '[{"t": "a", "n": 1}, {"t": "b", "n": 2}]',
        '[\n  {"t": "a",\n   "n": 1},\n  {"t": "b", "n": 2}\n]\n',
        '{\n "t": "a",\n "n": 1\n}\n{\n "t": "b",\n "n": 2\n}\n',
    ],
)
def test_json_is_read_as_lines_with_comments_as_an_array_or_over_lines(tmp_path, content):
    (tmp_path / "a.json").write_text(content.replace("// twice", "# twice"))
    assert records(tmp_path / "a.json", ["t", "n"])[0] == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    "content",
    [
        '[["a", 1], ["b", 2]]',
        '[\n  ["a", 1],\n  ["b",\n 2]\n]\n',
        '["a", 1]\n["b", 2]\n',
        '[["t", "n"], ["a", 1], ["b", 2]]',
    ],
)
def test_lists_of_lists_are_a_table_by_the_numbers_of_its_columns(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    assert records(tmp_path / "a.json", [1, 2])[0] == [("a", 1), ("b", 2)]
    if '"t"' in content:
        assert records(tmp_path / "a.json", ["t", "n"])[0] == [("a", 1), ("b", 2)]


#: What is no table, and words of the one sentence about it.
NO_TABLES = {
    "[]": "holds no record. Write an object a line",
    "{}": "a.json:1: expected an object with names, found {}",
    "42": "a.json:1: expected an object with names, found 42",
    '"red"': 'found "red"',
    "[1, 2]": "a.json:1: expected an object with names, found 1",
    '["red", "blue"]': 'found "red"',
    '{"t": ': "a.json:1: is not JSON",
    "[{]": "a.json:1: is not JSON",
    '{"data": [{"t": "a"}], "version": {}}': "holds records in 'data'. Write these as a file: jq -c '.data[]' a.json",
    "\n\n": "holds no record",
}


@pytest.mark.parametrize("content", NO_TABLES)
def test_json_that_is_no_table_is_one_sentence_for_the_survey_and_for_training(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(content)
    for read in (lambda: survey(str(path)), lambda: load_source({"type": "pairs", "path": str(path), "source": "t"})):
        with pytest.raises(UserError) as error:
            read()
        assert NO_TABLES[content] in str(error.value).replace("\n", " ")


def test_names_of_objects_inside_of_objects_are_left_out_and_said(tmp_path):
    (tmp_path / "a.json").write_text('[{"t": "a", "more": {"x": 1}}, {"t": "b", "more": {"x": 2}}]')
    found = survey(f"{tmp_path}/a.json")
    assert [column.column for column in found.columns] == ["t"]
    assert "column 'more' holds objects, which no field reads, and is left out" in found.notes[0]


def test_a_large_record_over_many_lines_is_decoded_a_few_times(tmp_path, monkeypatch):
    record = {"t": [str(i) for i in range(3000)]}
    (tmp_path / "a.json").write_text(json.dumps([record, record], indent=1))
    tries, decode = [], json.JSONDecoder.raw_decode
    monkeypatch.setattr(json.JSONDecoder, "raw_decode", lambda self, text: tries.append(0) or decode(self, text))
    assert len(records(tmp_path / "a.json", ["t"])[0]) == 2
    assert len(tries) < 60


def test_an_array_that_breaks_off_has_the_line(tmp_path):
    (tmp_path / "a.json").write_text('[\n{"t": "a"},\n{"t": \n')
    with pytest.raises(UserError, match=r"a\.json:\d: is not JSON"):
        records(tmp_path / "a.json", ["t"])


def test_parallel_files_are_two_columns(tmp_path):
    (tmp_path / "train.de").write_text("ja\nnein\n")
    (tmp_path / "train.en").write_text("yes\nno\n")
    for columns in ({"s": 1, "t": 2}, {"s": "de", "t": "en"}):
        table = Table(columns, parallel="en")
        assert [tuple(r.values.values()) for r in table.read(tmp_path / "train.de")] == [("ja", "yes"), ("nein", "no")]
    (tmp_path / "train.en").write_text("yes\n")
    with pytest.raises(UserError, match=r"train\.de:2: .*equally many lines"):
        list(table.read(tmp_path / "train.de"))
    with pytest.raises(Invalid, match=r"there is no file '.*train\.fr'"):
        list(Table({"s": 1}, parallel="fr").read(tmp_path / "train.de"))


def test_the_config_decides_where_it_says_something(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("pos a; b\nneg c; d\n")
    assert records(path, [1])[0] == [("pos a; b",), ("neg c; d",)]
    assert records(path, [1, 2], delimiter="semicolon")[0] == [("pos a", " b"), ("neg c", " d")]
    assert records(path, [1, 2], delimiter="first_space")[0] == [("pos", "a; b"), ("neg", "c; d")]
    with pytest.raises(Invalid, match="Did you mean 'comma'"):
        Given(delimiter="coma")
