"""``evaluate``: what the last validation found, over any rows."""

import json

import pytest
import torch

from composer.core.problems import UserError
from composer.inference.data_evaluation import evaluate_data
from composer.inference.evaluation_details import details_text
from composer.inference.model import Model
from composer.metrics import describe
from composer.metrics.details import HeadDetails
from composer.metrics.outcomes import ByName, ClassOutcomes
from composer.runs.folder import read_lines
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
        if name == "coverage":  # of the bounds that this validation has calibrated
            assert metric["value"] == pytest.approx(0.95, abs=0.05)
            continue
        if metric["value"] is None:
            continue
        assert metric["value"] == pytest.approx(wanted[name], rel=1e-5), name
        assert metric["low"] <= metric["value"] <= metric["high"]
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


def test_a_key_that_changes_no_example_is_refused(runs, ask):
    """Lengths of training, where the test split has lengths of its own."""
    asked = ["evaluate", runs("copy"), "data.test_length=5", "--split", "test", "--rows", 5, "--over"]
    code, _, error = ask(*asked, "data.length=3,4")
    assert code == 2
    assert "--over: data.length changes no example of the split 'test'. Did you mean data.test_length?" in error
    assert ask(*asked, "data.test_length=3,4")[0] == 0


@pytest.mark.parametrize(("family", "kind"), [("seq2vec", "class"), ("tagger", "tag"), ("copy", None)])
def test_evaluate_shows_every_class_what_is_confused_and_the_worst_examples(runs, ask, tmp_path, family, kind):
    asked = ["evaluate", runs(family), "--split", "valid", "--worst", 2]
    code, out, _ = ask(*asked, "-o", tmp_path / "figures")
    _, given, _ = ask(*asked, "--json")
    [head] = json.loads(given)["heads"].values()
    assert code == 0
    assert out.count("  predicted  ") == len(head["worst"]) == 2
    assert f"  wanted     {head['worst'][0]['wanted']}" in out
    assert head["worst"][0]["loss"] >= head["worst"][1]["loss"]
    if kind is None:
        assert set(head) == {"worst"}
        assert not (tmp_path / "figures").exists()
        return
    assert "confusion matrix: targets by row, predictions by column" in out
    assert (tmp_path / "figures" / "confusion_output.png").is_file()
    rows = head[f"by_{kind}"]
    right = sum(cell["count"] for cell in head["confusion"] if cell["wanted"] == cell["predicted"])
    total = sum(cell["count"] for cell in head["confusion"])
    assert right / total == pytest.approx(json.loads(given)["metrics"]["accuracy"]["value"])
    assert sum(row["support"] for row in rows) == total
    for row in rows:
        assert f"\n{row[kind]} " in out


def test_evaluate_writes_its_figure_where_inspect_does_unless_it_cannot(runs, ask, refused, tmp_path, monkeypatch):
    folder = runs("seq2vec")
    _, out, _ = ask("evaluate", folder, "--worst", 0)
    assert f"wrote {folder / 'inspect' / 'confusion_output.png'}" in out
    assert "largest loss" not in out
    (tmp_path / "taken").write_text("")
    assert "cannot make the folder" in refused("evaluate", folder, "-o", tmp_path / "taken")
    assert "without --json" in refused("evaluate", folder, "--json", "-o", tmp_path)
    monkeypatch.setattr("composer.cli.evaluate.beside", lambda *_: tmp_path / "taken")
    code, out, _ = ask("evaluate", folder)
    assert (code, "by class" in out) == (0, True)
    assert "no figure: cannot make the folder" in out


def test_the_table_of_many_classes_is_cut_and_their_confusions_are_listed():
    names = tuple(f"class {i}" for i in range(30))
    confusion = torch.diag(torch.arange(1.0, 31.0))
    confusion[3, 4], confusion[7, 2] = 5, 9
    counts = torch.stack([confusion.diag(), confusion.sum(1), confusion.sum(0)], dim=1)
    details = HeadDetails(ByName("class", names, counts), ClassOutcomes(names, confusion, None))
    lines = details_text({"output": details}).splitlines()
    assert "(10 rarer classes: --json)" in lines
    table = [line.split() for line in lines if line.startswith("class ")]
    commonest = sorted(range(30), key=lambda i: (-confusion.sum(1)[i], i))[:20]
    assert [row[1] for row in table[:21]] == ["precision", *map(str, commonest)]
    assert table[-2] == ["class", "7", "class", "2", "9", "0.529"]
    assert table[-1] == ["class", "3", "class", "4", "5", "0.556"]


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
