"""Tables of text: everything is shown, nothing is wider than the terminal, and no cell can do anything."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.views.tables import GAP, Column, cut_text, text_table

WORDS = st.text(st.sampled_from("abcxyz日本é[]/"), min_size=1, max_size=12)
CELLS = st.lists(WORDS, max_size=6).map(" ".join)


def cells_wide(text):
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def letters(text):
    return sorted("".join(text.split()))


@st.composite
def tables(draw):
    count = draw(st.integers(1, 5))
    columns = [Column(draw(CELLS), right=draw(st.booleans())) for _ in range(count)]
    row = st.lists(CELLS, min_size=count, max_size=count)
    return columns, draw(st.lists(row, max_size=4)), draw(st.integers(20, 100))


@given(tables())
def test_every_letter_is_shown_in_lines_that_fit(table):
    columns, rows, width = table
    lines = text_table(columns, rows, width=width).split("\n")
    assert all(cells_wide(line) <= width for line in lines)
    ruled = [line for line in lines if set(line) != {"-"}]
    given = [column.heading for column in columns] + [cell for row in rows for cell in row]
    assert letters("".join(ruled)) == letters("".join(given))


@given(tables())
def test_a_table_with_room_has_a_line_for_each_row_and_aligned_columns(table):
    columns, rows, _ = table
    lines = text_table(columns, rows, width=1000).split("\n")
    assert len(lines) == 2 + len(rows)
    columns_of_cells = list(zip([c.heading for c in columns], *rows, strict=True))
    widths = [max(1, *map(cells_wide, cells)) for cells in columns_of_cells]
    for line, row in zip([lines[0], *lines[2:]], zip(*columns_of_cells, strict=True), strict=True):
        padded = []
        for column, cell, width in zip(columns, row, widths, strict=True):
            space = " " * (width - cells_wide(cell))
            padded.append(space + cell if column.right else cell + space)
        assert line == GAP.join(padded).rstrip()


def test_words_are_whole_where_any_column_has_room():
    shown = text_table(["name", "meaning"], [["unbroken_name_of_a_node", "several short words " * 10]], width=50)
    assert "unbroken_name_of_a_node" in shown
    assert max(map(len, shown.split("\n"))) <= 50


def test_a_cut_column_has_one_line_with_an_ellipsis():
    *_, line = text_table(["name", Column("meaning", cut=True)], [["a", "words " * 50]], width=40).split("\n")
    assert line.startswith("a     words words")
    assert line.endswith("…")
    assert len(line) == 40


@pytest.mark.parametrize("cell", ["[bold]x[/bold]", "[/]", ":smile:", "[link=https://example.com]x[/link]"])
def test_markup_is_text(cell):
    assert cell in text_table(["cell"], [[cell]])


def test_characters_that_move_the_cursor_become_spaces():
    shown = text_table(["cell"], [["a\x1b[2Jb\r\nc\x07d"]])
    assert shown.split("\n")[-1] == "a [2Jb  c d"


def test_totals_stand_below_a_rule():
    lines = text_table(["a", Column("n", right=True)], [["x", "1"], ["y", "20"]], totals=[["all", "21"]]).split("\n")
    assert lines == ["a     n", "-------", "x     1", "y    20", "-------", "all  21"]


def test_without_a_terminal_a_table_has_80_columns(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert max(map(len, text_table(["cell"], [["word " * 100]]).split("\n"))) <= 80


def test_columns_of_the_environment_are_the_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "33")
    assert max(map(len, text_table(["cell"], [["word " * 100]]).split("\n"))) <= 33


@given(st.text(max_size=12), st.integers(1, 10))
def test_a_text_that_is_cut_says_so(text, count):
    cut = cut_text(text, count)
    assert cut == text if len(text) <= count else len(cut) == count and cut.endswith("…") and text.startswith(cut[:-1])
