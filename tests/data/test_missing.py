"""Missing values and decimal commas: columns stay numeric, and a row without a value is refused, left out or filled."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.core.problems import UserError
from composer.data import load_source
from composer.data.layout import Numerals, layout_of
from composer.data.survey import survey
from composer.data.tables.reading import Reading
from composer.data.tables.table import Table, missing, number

WORDS = ("NA", "n/a", "NaN", "null", "?", "-", "")


def air_quality(rows: int = 30) -> str:
    """A table as UCI's AirQualityUCI.csv: decimal commas, two columns and some rows of nothing at the end."""
    draw = random.Random(0)
    lines = ["Date;Time;CO(GT);PT08.S1(CO);T;;"]
    for hour in range(rows):
        numbers = f"{draw.uniform(0, 9):.1f};{1000 + hour % 7};{13 + hour / 10}".replace(".", ",")
        lines.append(f"10/03/2004;{hour % 24:02}.00.00;{numbers};;")
    return "\r\n".join([*lines, ";;;;;;", ";;;;;;"]) + "\r\n"


def test_a_european_table_with_columns_and_rows_of_nothing_is_read_as_a_person_reads_it(tmp_path):
    path = tmp_path / "air.csv"
    path.write_text(air_quality(), newline="")
    found = survey(str(path))
    assert [(c.column, c.guess) for c in found.columns] == [
        ("Date", "constant"), ("Time", "date"), ("CO(GT)", "number"), ("PT08.S1(CO)", "number"), ("T", "number"),
    ]  # fmt: skip
    assert found.rows == 30
    remarks = "\n".join(found.notes)
    assert "numbers have decimal commas (data.decimal says otherwise)" in remarks
    assert "the last 2 columns have neither a name nor a value and are left out" in remarks
    assert "air.csv:32 and 1 more: the row has only empty cells, so it is left out" in remarks
    rows = list(Table({"t": "T"}, reading=found.reading).read(path))
    assert [number(row, "t", "T") for row in rows] == pytest.approx([13 + hour / 10 for hour in range(30)])


halves = st.integers(-99, 99).map(lambda number: number + 0.5)
cells = st.one_of(st.integers(-999, 999).map(float), st.decimals(-99, 99, places=2).map(float), st.none())


@settings(max_examples=20)
@given(
    table=st.one_of(st.lists(st.tuples(c, c), min_size=4, max_size=9) for c in (cells, halves)),
    word=st.sampled_from(WORDS),
    form=st.sampled_from([(";", ","), ("\t", ","), (",", "."), (";", "."), ("\t", ".")]),
    named=st.booleans(),
)
def test_numbers_are_read_as_written_however_their_missing_ones_are_spelt(tmp_path_factory, table, word, form, named):
    delimiter, decimal = form
    table = [(0.25, -1.5), *table, (7.75, 2.5)]
    names = [delimiter.join(("first", "second"))] if named else []
    written = [delimiter.join(word if c is None else f"{c:g}".replace(".", decimal) for c in row) for row in table]
    path = tmp_path_factory.mktemp("numbers") / ("a.tsv" if delimiter == "\t" else "a.csv")
    path.write_text("\n".join([*names, *written]) + "\n")
    table = [row for row in table if word or row != (None, None)]  # a row of empty cells is none
    layout = layout_of(path)
    assert (layout.cutting.delimiter, layout.numerals.decimal, layout.header) == (delimiter, decimal, named)
    rows = list(Table({"a": 1, "b": 2}, reading=Reading()).read(path))
    read = [tuple(None if missing(row, n) else number(row, n, n) for n in "ab") for row in rows]
    assert read == [tuple(None if c is None else pytest.approx(float(f"{c:g}")) for c in row) for row in table]
    assert [column.guess for column in survey(str(path)).columns] == ["number", "number"]


@pytest.mark.parametrize(
    ("decimal", "cell", "value"),
    [(".", "1,234.5", 1234.5), (".", "1,234,567", 1234567), (",", "1.234,5", 1234.5), (",", "-1.234.567", -1234567),
     (".", "1,234", None), (",", "1.234", None), (".", "1,23", None), (",", "1,2,3", None), (".", "0,234", None)],
)  # fmt: skip
def test_thousands_apart_are_read_where_they_can_mean_nothing_else(decimal, cell, value):
    numerals = Numerals(decimal)
    assert (numerals.number(cell) if numerals.is_number(cell) else None) == value


def test_a_comma_before_three_digits_everywhere_is_in_doubt_and_refused(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("1,234\tx\n5,678\ty\n")
    assert layout_of(path).numerals.decimal == "."
    config = {"type": "labelled", "path": str(path), "input": "vector", "valid": 0}
    with pytest.raises(UserError, match=r"a\.tsv:1: column '1' holds '1,234', .*\(data\.decimal=','\) or thousands"):
        load_source(config)
    assert load_source({**config, "decimal": ","}).codecs["source"].mean.item() == pytest.approx(3.456)


TABLE = "x,y,k\n1,2,a\nNA,4,b\n3,-200,a\n5,8,\n7,1,b\n"


def test_a_row_without_a_value_is_refused_with_its_place_and_the_number_of_others(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    config = {"type": "labelled", "path": str(path), "input": "vector", "columns": ["x", "y"], "label": "k", "valid": 0}
    words = r"a\.csv:3: column 'x' holds 'NA': the value is missing\. .*1 more row lacks a value, too\. .*skip_bad=true"
    with pytest.raises(UserError, match=words):
        load_source(config)
    left = load_source({**config, "skip_bad": True})
    assert left.size("train") == 3
    assert "2 bad rows left out (skip_bad): " in left.remarks[0]
    named = load_source({**config, "skip_bad": True, "missing": ["NA", -200]})
    assert named.size("train") == 2, "a word that stands for a missing value is what the user says it is"
    text = {**config, "input": "text", "columns": ["x"], "skip_bad": True}
    shown = load_source(text)
    assert "NA" in [row.values["source"] for row in shown.written("train")], "of a text, NA is a word"


def test_a_missing_input_is_filled_with_the_mean_of_the_training_split(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y,k\n" + "1,2,a\nNA,4,b\n3,,a\n5,6,b\n")
    config = {"type": "labelled", "path": str(path), "input": "vector", "columns": ["x", "y"], "label": "k", "valid": 0}
    source = load_source({**config, "fill": "mean"})
    assert source.codecs["source"].mean.tolist() == [3, 4]
    assert source.codecs["source"].deviation.tolist() == pytest.approx([math.sqrt(8 / 3)] * 2)
    values = source.batch("train", range(4))["source"].values
    assert (values[1, 0], values[2, 1]) == (0, 0)
    assert [row.values["source"] for row in source.written("train")] == [[1, 2], [None, 4], [3, None], [5, 6]]


@pytest.mark.parametrize("cell", ["", "NA", "nan"])
def test_an_empty_class_is_a_missing_label_unless_the_config_says_that_it_is_none(tmp_path, cell):
    path = tmp_path / "a.tsv"
    path.write_text(f"red\tx\nblue\t{cell}\ngreen\ty\n")
    config = {"type": "labelled", "path": str(path), "valid": 0}
    with pytest.raises(UserError, match=rf"a\.tsv:2: column '2' holds '{cell}': the label is missing"):
        load_source(config)
    if cell:
        assert load_source({**config, "missing": []}).codecs["target"].names == (cell, "x", "y")
