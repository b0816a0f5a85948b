"""``evaluate``: what the last validation found, over any rows."""

import json

import pytest

from composer.core.problems import UserError
from composer.inference.evaluation import evaluate_data
from composer.inference.model import Model
from composer.metrics import describe
from composer.training.run.folder import read_lines
from tests.support.trained import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_evaluate_finds_what_the_last_validation_found(runs, ask, family):
    folder = runs(family)
    code, out, _ = ask("evaluate", folder, "--split", "valid", "--checkpoint", "last", "--json")
    assert code == 0
    found = json.loads(out)
    last = [row for row in read_lines(folder / "metrics.jsonl") if "valid/loss" in row][-1]
    wanted = {name.removeprefix("valid/"): value for name, value in last.items() if name.startswith("valid/")}
    for name, metric in found["metrics"].items():
        if metric["value"] is None:
            continue
        assert metric["value"] == pytest.approx(wanted[name], rel=1e-5), name
        assert metric["low"] <= metric["value"] <= metric["high"] or metric["low"] == pytest.approx(metric["high"])
        assert describe(name)


def test_evaluate_prints_a_table_and_one_over_other_lengths(runs, ask):
    _, out, _ = ask("evaluate", runs("copy"), "--rows", 20)
    assert "95 % interval" in out
    assert "lower is better" in out
    _, out, _ = ask("evaluate", runs("copy"), "--over", "data.length=3,12", "--rows", 20)
    assert [line.split()[0] for line in out.splitlines()[-4:-2]] == ["3", "12"]
    assert out.splitlines()[-1] == "Intervals are of a bootstrap of the examples."
    _, out, _ = ask("evaluate", runs("copy"), "--over", "data.length=3,12", "--rows", 20, "--json")
    both = json.loads(out)["over"]
    assert [one["data.length"] for one in both] == ["3", "12"]
    _, alone, _ = ask("evaluate", runs("copy"), "data.length=12", "--rows", 20, "--json")
    assert json.loads(alone)["metrics"] == both[1]["metrics"]


def test_evaluate_takes_every_row_of_another_file(runs, ask, home):
    (home / "others.tsv").write_text("red green\tred\nblue\tblue\npink\tblue\n")
    _, out, _ = ask("evaluate", runs("seq2vec"), "data.path=others.tsv", "--json")
    assert json.loads(out)["examples"] == 3


def test_evaluate_refuses_labels_that_are_not_there(runs, refused, home):
    (home / "bare.tsv").write_text("red green\nblue\n")
    assert "there is no column 2" in refused("evaluate", runs("seq2vec"), "data.path=bare.tsv")
    assert "--over: 'model.dim=3' is not data.key=a,b,c." in refused("evaluate", runs("copy"), "--over", "model.dim=3")


@pytest.mark.parametrize("training", [None, {}, {"steps": 7}, {"batch": 3, "other": 5}])
def test_a_run_that_leaves_its_batch_to_the_default_is_evaluated(runs, training):
    model = Model.load(runs("copy"))
    found = evaluate_data(model.graph, model.data(labelled=True), training, rows=4)
    assert found.values["exact"] >= 0


def test_a_batch_that_is_no_number_is_one_sentence(runs):
    model = Model.load(runs("copy"))
    with pytest.raises(UserError, match=r"training\.batch   the config of the run\n.*found 'x'"):
        evaluate_data(model.graph, model.data(labelled=True), {"batch": "x"}, rows=4)


def test_beam_search_takes_a_length_normalisation_and_greedy_decoding_none(runs, refused):
    folder = runs("seq2seq")
    model = Model.load(folder)
    found = [
        model.evaluate(model.data(labelled=True), beams=3, **options).values
        for options in (
            {},
            {"normalisation": "mean"},
            {"normalisation": "gnmt", "alpha": 5.0},
            {"normalisation": "none"},
        )
    ]
    assert found[0] == found[1]
    assert found[2]["chrf"] != found[3]["chrf"], "long texts, then short ones"
    assert "--alpha: has no effect on greedy decoding. Set beams." in refused("evaluate", folder, "--alpha", "0.6")
    assert "--length-normalisation: has no effect" in refused("evaluate", folder, "--length-normalisation", "gnmt")
