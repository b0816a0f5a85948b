"""A slice of the search for configs that break a promise, with a fixed seed; and what the search itself has to find."""

import time

import pytest

from benchmarks.fuzz.cases import Case
from benchmarks.fuzz.made_files import make_files
from benchmarks.fuzz.search import try_cases
from benchmarks.fuzz.shrink import shrink
from composer.config import composition

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    make_files(folder / "files")
    return folder


def tried(folder, number, count):
    lines = []
    try_cases(number, count, time.time() + 600, folder, lines.append, set())
    return [line for line in lines if "end" in line]


@pytest.mark.parametrize("number", [1, 2])
def test_no_random_config_breaks_a_promise(folder, number):
    found = tried(folder, number, 30)
    assert [line["failure"] for line in found if line["failure"] is not None] == []
    assert any("train" in line["done"] for line in found), "some are accepted, and trained"
    assert any(not line["accepted"] for line in found), "some are refused"


def test_a_traceback_is_found(folder, monkeypatch):
    monkeypatch.setattr(composition, "check_overrides", lambda overrides: 1 / 0)
    failures = [line["failure"] for line in tried(folder, 3, 5)]
    assert failures
    assert all(failure["step"] == "describe" and "ZeroDivisionError" in failure["sign"] for failure in failures)


def test_a_case_is_shrunk_to_what_makes_it_fail():
    case = Case(("a=1", "b=2", "c=3"), "model:\n  x:\n    y: 1\n  z: 2\ndata: 3")
    short = shrink(case, lambda case: "b=2" in case.overrides and "z: 2" in str(case.experiment), 60)
    assert short == Case(("b=2",), "model:\n  z: 2")
