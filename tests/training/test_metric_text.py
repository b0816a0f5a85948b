"""Metrics on the screen: no line is wider than the terminal, and none breaks inside a number."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.training.run.metric_text import metric_lines, result_table

NAMES = st.text("abcdefgh_", min_size=1, max_size=22)
VALUES = st.dictionaries(st.one_of(NAMES, st.tuples(NAMES, NAMES).map("/".join)), st.floats(-1e6, 1e6), max_size=20)


@given(VALUES, st.integers(72, 130))
def test_lines_of_metrics_fit_the_terminal_and_hold_every_metric_whole(values, width):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        lines = metric_lines("step 200", values).split("\n")
    assert max(map(len, lines)) <= width
    found, head = {}, ""
    for line in lines:
        first, *words = re.split(" {2,}", line.strip())
        if line.startswith("  ") and not line.startswith("   ") and " " not in first:
            head = f"{first}/"
        elif first != "step 200":
            words = [first, *words]
        found |= {head + word.split(" ")[0]: word.split(" ")[1] for word in words}
    assert found == {name: f"{value:.4g}" for name, value in values.items()}


def test_numbers_that_are_not_finite_are_left_out():
    assert metric_lines("step 1", {"loss": math.nan, "exact": 1.0, "ppl": math.inf}) == "step 1  exact 1"


def test_the_result_of_two_heads_is_a_table_of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    heads = ("tagger", "classifier")
    values = {f"{head}/{name}": 1 / 7 for head in heads for name in ("loss", "accuracy_over_commonest", "macro_f1")}
    test = {name: {"value": 2 / 7, "low": 1e-5 / 7, "high": 3 / 7} for name in values}
    lines = result_table("best at step 60", values, test).split("\n")
    assert max(map(len, lines)) <= 80
    assert len(lines) == 2 + len(values)
    for name in values:
        assert any(re.fullmatch(rf"{name} +0.1429 +0.2857  1.429e-06 to 0.4286", line) for line in lines)
