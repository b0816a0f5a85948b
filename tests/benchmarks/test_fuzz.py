"""A slice of the search for configs that break a promise, with a fixed seed; and what the search itself has to find."""

import copy
import dataclasses
import functools
import json
import random
import time

import pytest
import torch
import yaml
from composer.catalogue.mixer.gru import GRU
from hypothesis import Phase, given, seed, settings

from benchmarks.fuzz import trial as trials
from benchmarks.fuzz.cases import SMALL, Case
from benchmarks.fuzz.damage import change
from benchmarks.fuzz.made_files import make_files
from benchmarks.fuzz.search import again, show, try_cases
from benchmarks.fuzz.shrink import shrink
from benchmarks.fuzz.tables import MOST, tables
from benchmarks.fuzz.trial import Trial
from composer.config import composition
from composer.core.problems import UserError

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
    found = tried(folder, number, 50)
    assert [line["failure"] for line in found if line["failure"] is not None] == []
    assert any("train" in line["done"] for line in found), "some are accepted, and trained"
    assert any(not line["accepted"] for line in found), "some are refused"


def test_tables_of_any_number_of_fields_are_drawn_and_some_are_accepted(folder, tmp_path):
    sizes, accepted = [], []

    @seed(5)
    @settings(max_examples=12, database=None, phases=[Phase.generate])
    @given(tables())
    def one(case):
        sizes.append(len(yaml.safe_load(case.experiment)["data"]["fields"]))
        if len(accepted) < 4:
            result = Trial(folder / "files", tmp_path / "room", "describe").run(case)
            assert result.failure is None
            accepted.append(result.accepted)

    one()
    assert min(sizes) < 10 < 40 < max(sizes) <= MOST
    assert any(accepted)


def test_an_error_of_python_in_a_refusal_is_found(folder, tmp_path, monkeypatch):
    def refuse(options, overrides):
        raise UserError("the data cannot be read (TypeError: empty(): argument 'size')")

    monkeypatch.setattr(trials, "planned", refuse)
    failure = Trial(folder / "files", tmp_path / "room").run(Case(SMALL, GRAPH)).failure
    assert "a refusal with the error of Python TypeError" in failure.sign


def test_a_leak_in_training_alone_is_found(folder, tmp_path, monkeypatch):
    whole = GRU.forward

    @functools.wraps(whole)
    def looks_ahead(self, x, *more, **others):
        y, state = whole(self, x, *more, **others)
        return (y.like(y.values + x.filled().roll(-1, 1)), state) if self.training else (y, state)

    monkeypatch.setattr(GRU, "forward", looks_ahead)
    nodes = GRAPH.replace("from: embedding, p", "from: mixer, p").replace(
        "    output:", "    mixer: {kind: mixer, type: gru, from: embedding}\n    output:"
    )
    failure = Trial(folder / "files", tmp_path / "room").run(Case(SMALL, nodes)).failure
    assert failure is not None
    assert failure.step == "check"
    assert "in training mode, the output of 'output'" in failure.details


def test_a_traceback_is_found(folder, monkeypatch):
    monkeypatch.setattr(composition, "check_overrides", lambda overrides: 1 / 0)
    failures = [line["failure"] for line in tried(folder, 3, 5)]
    assert failures
    assert all(failure["step"] == "describe" and "ZeroDivisionError" in failure["sign"] for failure in failures)


def test_a_case_is_shrunk_to_what_makes_it_fail():
    case = Case(("a=1", "b=2", "c=3"), "model:\n  x:\n    y: 1\n  z: 2\ndata: 3")
    short = shrink(case, lambda case: "b=2" in case.overrides and "z: 2" in str(case.experiment), 60)
    assert short == Case(("b=2",), "model:\n  z: 2")


GRAPH = """# @package _global_
defaults:
- override /model: null
- override /data: table
model:
  nodes:
    embedding: {kind: embedding, type: token, dim: 4, from: target}
    output: {kind: head, type: categorical, from: embedding, predicts: target}
data:
  path: FILES/table.csv
  fields:
    target: {type: text, column: text, tokeniser: {type: words}}
"""


def test_a_run_is_damaged_and_used_and_a_traceback_is_found(folder, tmp_path, monkeypatch):
    case = Case(SMALL, GRAPH, luck=1)
    trial = Trial(folder / "files", tmp_path / "room", "damage")
    assert trial.run(case).done[-1] == "damage"
    monkeypatch.setattr(trials, "damage", lambda run, draw: 1 / 0)
    failure = trial.run(case).failure
    assert failure is not None
    assert (failure.step, failure.sign.split()[0]) == ("damage", "ZeroDivisionError")


CONTENT = {"a": {"b": [1, "text", {"c": torch.zeros(2)}]}, "d": 7}


@pytest.mark.parametrize("seed", range(20))
def test_one_value_of_plain_data_is_changed(seed):
    content = copy.deepcopy(CONTENT)
    what = change(content, random.Random(seed))
    assert repr(content) != repr(CONTENT), what
    assert what.split()[0].split(".")[0] in CONTENT


def test_data_without_values_stays_as_it_is():
    assert change({}, random.Random(0)) == "nothing"


def line(case, failure=None, **more):
    """A line as a worker writes it."""
    done = ["describe"] if failure else ["describe", "train"]
    return {"end": dataclasses.asdict(case), "accepted": not failure, "done": done, "failure": failure} | more


def test_counts_add_up_over_the_runs_in_one_folder_and_what_passes_again_is_mended(folder, tmp_path, capsys):
    failure = {"step": "describe", "sign": "as it was", "details": ""}
    good, wrong = Case(("model.dim=8",), kind="template"), Case(("model.dim=0",), kind="template")
    lines = [[line(good), line(wrong, failure)], [line(good), line(good)]]
    for number, found in enumerate(lines):
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in found))
    (tmp_path / "files").symlink_to(folder / "files")
    assert show(tmp_path) == 1
    assert "4 configs: 0 refused in a sentence, 3 accepted, 3 trained and used" in capsys.readouterr().out
    again(tmp_path)
    assert show(tmp_path) == 0
    assert "no failure, 1 cases mended" in capsys.readouterr().out
