"""metrics.csv: rows come back exactly, and survive kills and resumes."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.core.problems import UserError
from tests.support.loggers import info, open_loggers


def read(folder):
    with (folder / "metrics.csv").open(newline="") as file:
        return [{name: float(cell) for name, cell in row.items() if cell} for row in csv.DictReader(file)]


NUMBERS = st.floats(allow_nan=False) | st.integers(-5, 5)
ROWS = st.lists(st.dictionaries(st.sampled_from(["loss", "valid/loss", 'odd, "name"']), NUMBERS), max_size=8)


@given(rows=ROWS)
def test_rows_come_back_exactly_whichever_columns_they_have(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    opened = open_loggers({"csv": {}}, info(folder))
    for step, row in enumerate(rows):
        opened.metrics(step, row)
        assert read(folder) == [{"step": index, **one} for index, one in enumerate(rows[: step + 1])]  # at once
    opened.finish("finished", {})


@given(rows=ROWS, share=st.floats(0, 1), resumed_from=st.integers(0, 8))
def test_a_run_killed_anywhere_resumes_with_the_rows_up_to_its_checkpoint(rows, share, resumed_from, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    opened = open_loggers({"csv": {}}, info(folder))
    for step, row in enumerate(rows):
        opened.metrics(step, row)
    opened.finish("finished", {})
    path = folder / "metrics.csv"
    content = path.read_bytes()
    torn = content[: round(share * len(content))]
    path.write_bytes(torn)
    whole = max(0, torn.count(b"\n") - 1)  # less the header

    opened = open_loggers({"csv": {}}, info(folder, resumed_from=resumed_from))
    opened.metrics(resumed_from + 1, {"loss": 0.5})
    opened.finish("finished", {})
    kept = [{"step": step, **row} for step, row in enumerate(rows[:whole]) if step <= resumed_from]
    assert read(folder) == [*kept, {"step": resumed_from + 1, "loss": 0.5}]


def test_a_new_run_begins_a_new_file(tmp_path):
    for _ in range(2):
        opened = open_loggers({"csv": {}}, info(tmp_path))
        opened.metrics(1, {"loss": 1.0})
        opened.finish("finished", {})
    assert read(tmp_path) == [{"step": 1, "loss": 1.0}]


def test_a_line_that_somebody_broke_is_named(tmp_path):
    (tmp_path / "metrics.csv").write_text("step,loss\n1,0.5\nx,y\n2,0.4\n")
    with pytest.raises(UserError, match=r"metrics.csv:3\s+is not a row of the columns step, loss"):
        open_loggers({"csv": {}}, info(tmp_path, resumed_from=2))
