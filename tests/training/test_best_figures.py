"""What a run shows as its result is what its best checkpoint was validated with."""

import json
import math
import re

import pytest

from composer.config.composition import compose
from composer.inference.find_checkpoint import find_checkpoint
from composer.metrics import Evaluation, Evaluator
from composer.runs import checkpoint
from composer.runs.sweep_folder import SweepFolder
from composer.studies.sweep.sweep_results import JUDGED, records_of, table
from composer.training import module
from composer.training.run import train as job
from composer.training.run.show import in_a_line

SMALL = [
    "data=copy", "data.train_size=40", "data.valid_size=8", "data.length=4", "model.dim=8", "mixer=gru",
    "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1", "training.batch=4", "training.validate_every=2",
    "training.log_every=2", "training.checkpoint_every=2", "schedule=constant", "logger=none",
]  # fmt: skip


@pytest.fixture
def train(monkeypatch):
    """Trains with these validation losses, one after the other."""

    def run(losses, *overrides):
        left = iter(losses)

        class Given(Evaluator):
            def result(self, *_):
                loss = next(left)
                sample = {"source": "a", "found": f"at {loss}", "right": None}
                return Evaluation({"loss": loss, "exact": 10 * loss}, [sample])

        monkeypatch.setattr(module, "Evaluator", Given)  # of validations, not of the test at the end
        outcome = job.train(compose(list(overrides)))
        assert next(left, None) is None
        return outcome, json.loads((outcome.folder.path / "run.json").read_text())

    return run


def begin(tmp_path, steps, figures="false", name="run"):
    return [*SMALL, f"training.steps={steps}", f"training.figures={figures}", f"runs={tmp_path}", f"name={name}"]


@pytest.mark.slow
def test_the_result_is_that_of_the_best_checkpoint_not_of_the_last_step(train, tmp_path, capsys, monkeypatch):
    drawn = []
    monkeypatch.setattr(job, "write_figures", lambda folder, graph, *_: drawn.append(graph) or {})
    outcome, facts = train([3.0, 1.0, 2.0], *begin(tmp_path, 6, figures="true"))
    assert facts["result"] == outcome.values == {"valid/loss": 1.0, "valid/exact": 10.0}
    assert (facts["result_step"], facts["last_step"]) == (4, 6)
    assert facts["last"]["valid/loss"] == 2.0
    said = capsys.readouterr().out
    assert re.search(r"best at step 4 +validation +test  95 % interval\n-+\nloss +1  ", said)
    assert re.search(r"\nexact +10  ", said)
    assert "a -> at 1.0" in said
    assert "a -> at 2.0" not in said
    used = find_checkpoint(outcome.folder.path)  # what generate, predict and evaluate load
    content = checkpoint.load(used)
    assert content["step"] == 4
    weights = drawn[0].state_dict()
    assert all(bool((weights[name] == value).all()) for name, value in content["model"].items())


@pytest.mark.slow
def test_a_resumed_run_knows_the_best_figures_of_before(train, tmp_path, capsys):
    _, facts = train([1.5, 2.5], *begin(tmp_path, 4))
    (tmp_path / "run" / "run.json").write_text(json.dumps(facts | {"seconds": 1000.0}))
    _, facts = train([2.0], f"resume={tmp_path / 'run'}", "training.steps=6")
    assert facts["result"] == {"valid/loss": 1.5, "valid/exact": 15.0}
    assert (facts["result_step"], facts["last"]["valid/loss"]) == (2, 2.0)
    assert re.search(r"best at step 2 +validation +test  95 % interval\n-+\nloss +1\.5  ", capsys.readouterr().out)
    assert facts["seconds"] >= 1000, "the seconds of the first start are lost"
    _, facts = train([1.25], f"resume={tmp_path / 'run'}", "training.steps=8")
    assert (facts["result"]["valid/loss"], facts["result_step"]) == (1.25, 8)


@pytest.mark.slow
def test_more_steps_are_proposed_only_if_the_best_was_not_long_past(train, tmp_path, capsys):
    train([3.0, 2.0, 1.0], *begin(tmp_path, 6, name="better"))
    assert f"resume={tmp_path / 'better'} training.steps=12" in capsys.readouterr().out
    train([1.0, 2.0, 3.0], *begin(tmp_path, 6, name="worse"), "optimiser.learning_rate=0.003")
    said = capsys.readouterr().out
    assert "training.steps=12" not in said
    assert "not more steps, because the best was at step 2 of 6" in said
    assert "optimiser.learning_rate=0.001" in said


@pytest.mark.slow
def test_a_loss_that_is_no_number_is_never_the_best(train, tmp_path):
    _, facts = train([math.nan, 2.0, math.nan], *begin(tmp_path, 6))
    assert (facts["result"]["valid/loss"], facts["result_step"]) == (2.0, 4)


@pytest.mark.slow
def test_a_sweep_is_ordered_by_the_best_figures(train, tmp_path):
    for name, losses in {"0_a": [1.0, 9.0], "1_b": [2.0, 2.0], "2_c": [0.5, 3.0], "3_d": [math.nan, math.nan]}.items():
        train(losses, *begin(tmp_path, 4, name=name))
    lines = [line.split() for line in table(records_of(SweepFolder(tmp_path)), *JUDGED).splitlines()]
    assert lines[0] == ["run", "loss", "exact", "step", "seconds"]
    assert [line[0] for line in lines[2:]] == ["2_c", "0_a", "1_b", "3_d"]
    assert [line[1] for line in lines[2:5]] == ["0.5", "1", "2"]


@pytest.mark.slow
def test_without_a_validation_the_result_is_of_the_last_step(train, tmp_path, capsys):
    table = tmp_path / "films.tsv"
    table.write_text("good\tyes\nbad\tno\n" * 4)
    data = ["model=seq2vec", "data=labelled", f"data.path={table}", "data.valid=0", "mixer=gru", "model.dim=8"]
    length = ["training.steps=4", "training.batch=4", "training.figures=false", "logger=none"]
    _, facts = train([], *data, *length, f"runs={tmp_path}", "name=run")
    assert facts["result_step"] == 4
    assert facts["result"] == facts["last"]
    assert "\nstep 4  loss" in capsys.readouterr().out


def test_a_wrong_sample_is_shown_with_what_was_wanted():
    sample = {"source": "4 June", "wanted": "06-04", "found": "06-03", "right": False}
    assert in_a_line(sample) == "  WRONG  4 June -> 06-03  (wanted 06-04)"
    assert in_a_line(sample | {"found": "06-04", "right": True}) == "  right  4 June -> 06-04"
    assert in_a_line({"wanted": "1.5\n2", "found": "1.4", "right": None}) == "  1.4  (wanted 1.5\\n2)"
