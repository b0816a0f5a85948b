"""Published figures: every cell is complete, ours is the paper's statistic, the page says what the results say."""

import json
import re
import shlex

import numpy as np
import pytest
import yaml

from benchmarks.gallery.systems import SYSTEMS
from benchmarks.literature.__main__ import PAGE, RESULTS, all_results, main, trained
from benchmarks.literature.cell import BEST, CHECKED, MEAN, Rule, scaled, scaled_best
from benchmarks.literature.cells import CELLS, STUDIES
from benchmarks.literature.page import Outcome, outcome, page
from benchmarks.literature.results import Result, keep, read_results, results_of
from composer.studies.comparison import compare
from tests.support.paths import ROOT
from tests.support.study_runs import STUDY, write_run


def test_every_cell_is_complete_and_named_once():
    assert len(CELLS) >= 30
    assert len({cell.id for cell in CELLS}) == len(CELLS)
    for cell in CELLS:
        assert all((cell.study, cell.model, cell.task, cell.metric, str(cell.rule), cell.statistic.words)), cell
        assert all(vars(cell.paper).values()), cell.paper
        assert re.fullmatch(r"\d{4}\.\d{5}", cell.paper.arxiv)
        assert cell.checked in CHECKED
        assert (cell.arm is None) == bool(cell.waits_for), "either an arm, or what it waits for"
        numbers = [cell.rule.solved, cell.rule.within, cell.rule.at_least, cell.rule.at_most]
        assert sum(number is not None for number in numbers) == 1
        assert cell.rule.reached(cell.goal, cell.goal), "the paper itself reaches its goal"


def test_commands_can_be_typed_and_the_gallery_has_the_arms_that_are_taken_from_it():
    known = {(system.name, arm.name) for system in SYSTEMS for arm in system.arms}
    for cell in CELLS:
        python, program, option, choice = shlex.split(cell.command)
        assert (python, program, option, choice) == ("python", "train.py", "-m", f"study={cell.study}")
        assert cell.gallery is None or cell.gallery in known
    for result in all_results(RESULTS).values():
        assert shlex.split(result.command)[:2] == ["python", "train.py"]


def test_a_cell_is_left_out_if_its_study_lacks_the_arm():
    for study in STUDIES:
        arms = yaml.safe_load((ROOT / "conf" / "study" / f"{study}.yaml").read_text(encoding="utf-8"))["study"]["arms"]
        for cell in (cell for cell in CELLS if cell.study == study and not cell.gallery and not cell.waits_for):
            assert (cell.arm in arms) != bool(cell.left_out), cell.id


def test_the_cells_of_a_table_are_those_of_the_issue():
    tracking = {(cell.model, cell.task): cell.goal for cell in CELLS if cell.study == "state_tracking"}
    for model, parity, modular in (
        ("transformer", 0.022, 0.031), ("mLSTM", 0.087, 0.040), ("sLSTM", 1.0, 0.787), ("Mamba", 0.0, 0.095),
        ("Mamba [-1, 1]", 1.0, 0.241), ("DeltaNet", 0.017, 0.314), ("DeltaNet [-1, 1]", 1.0, 0.971),
    ):  # fmt: skip
        assert (tracking[model, "parity"], tracking[model, "modular_arithmetic"]) == (parity, modular)


def test_statistics_by_hand():
    assert BEST.value([0.5, 0.75, 0.6]) == 0.75
    assert MEAN.value([0.5, 0.75, 0.25]) == 0.5
    assert scaled_best(0.5).value([0.5, 0.75]) == 0.5
    assert scaled_best(0.2).value([0.2, 0.1]) == 0
    assert scaled(1.0, 0.2) == 1
    assert scaled(0.1, 0.2) == pytest.approx(-0.125), "worse than guessing"


def test_rules_by_hand():
    solved = Rule(solved=0.9)
    assert solved.reached(0.93, 1.0)
    assert solved.reached(0.3, 0.62), "neither solves the task"
    assert not solved.reached(0.89, 1.0)
    assert not solved.reached(0.95, 0.62), "a task that the paper's model does not solve"
    assert Rule(within=0.1).reached(0.70, 0.787)
    assert not Rule(within=0.1).reached(0.95, 0.787)
    assert Rule(at_least=0.02).reached(0.975, 0.995)
    assert not Rule(at_least=0.02).reached(0.97, 0.995)
    assert Rule(at_most=0.05).reached(1.2, 1.548)
    assert not Rule(at_most=0.05).reached(1.6, 1.548)


@pytest.fixture
def study(tmp_path):
    """A study with one arm of a cell, two seeds at 0.5 and 0.9, a tuning run, and an arm that no cell knows."""
    folder = tmp_path / "study"
    for number, (arm, phase, accuracy) in enumerate(
        [
            ("lstm_parity", "final", 0.5),
            ("lstm_parity", "final", 0.9),
            ("lstm_parity", "tuning", 0.4),
            ("x", "final", 1),
        ]
    ):
        trial = {"number": number, "phase": phase, "parameters": {}}
        run = write_run(folder / f"{number}_{arm}", arm, number, STUDY["lstm"], trial=trial)
        facts = json.loads((run / "run.json").read_text())
        facts["test"] = {"accuracy": {"value": accuracy}}
        facts["seconds"] = 10.0
        (run / "run.json").write_text(json.dumps(facts))
    (folder / "sweep.json").write_text(json.dumps({"kind": "study", "status": "finished"}))
    return folder


def test_ours_is_computed_from_the_runs_of_the_arm(study, tmp_path):
    cells = [cell for cell in CELLS if cell.study == "state_tracking"]
    (found,) = results_of(compare([study]), cells, "python train.py -m study=state_tracking")
    assert found.id == "state_tracking/slstm/parity"
    assert found.value == pytest.approx(0.8), "of the best seed, scaled: (0.9 - 0.5) / 0.5"
    assert found.mean == pytest.approx(0.7)
    assert (found.seeds, found.seconds, found.metric) == (2, 30.0, "test/accuracy")
    assert found.low < 0.7 < found.high
    (cell,) = [cell for cell in cells if cell.id == found.id]
    assert outcome(cell, {found.id: found}) is Outcome.MISSED
    text = page(CELLS, {found.id: found})
    assert "| sLSTM | parity | lstm_parity | 1.000 | 0.800 | test/accuracy 0.700 [" in text
    assert "state_tracking, sLSTM, parity: 0.800 instead of 1.000." in text.partition("## Misses")[2]
    assert "the block mLSTM: 3 cells" in text.partition("## Waiting")[2]
    assert "| [state_tracking](#state_tracking) | 21 | 0 | 0 | 1 | 4 | 4 | 12 |" in text
    assert "| left out: two tasks are run |" in text


def test_a_goal_that_guessing_reaches_is_told_from_one_that_is_learned():
    learned, guessed = (
        next(cell for cell in CELLS if cell.id == f"chomsky/{name}/parity") for name in ("rnn", "transformer")
    )
    for cell, kind in ((learned, Outcome.REACHED), (guessed, Outcome.GUESSED)):
        result = Result(cell.id, cell.goal, cell.goal, None, None, 3, 1.0, "test/accuracy", "")
        assert outcome(cell, {cell.id: result}) is kind


#: Right answers and answers, of a short and a long example; the third asks for nothing.
EXAMPLES = {"0_lstm_parity": [(1, 1), (0, 9), (0, 0)], "1_lstm_parity": [(1, 2), (9, 9), (0, 0)]}


def test_every_sequence_counts_alike_in_a_cell_by_sequence(study):
    for name, statistics in EXAMPLES.items():
        np.savez(study / name / "test_examples.npz", **{"statistics/accuracy": np.array(statistics, dtype=np.float32)})
    cells = [cell for cell in CELLS if cell.study == "chomsky"]
    (found,) = results_of(compare([study]), cells, "python train.py -m study=chomsky")
    assert found.id == "chomsky/lstm/parity"
    assert (found.value, found.mean) == (0.75, 0.625), "(1 + 0) / 2 and (0.5 + 1) / 2, the best and the mean of both"
    assert found.metric == "test/accuracy by sequence"
    assert found.low < found.mean < found.high
    text = page(CELLS, {found.id: found})
    assert "| LSTM | parity | lstm_parity | 1.000 | 0.750 | test/accuracy by sequence 0.625 [" in text
    assert "ours is the best seed, by the mean over test sequences of the accuracy of each" in text


def test_a_trained_study_is_read_and_its_results_replace_earlier_ones(study, tmp_path, capsys):
    results = tmp_path / "results.jsonl"
    keep(results, [Result("state_tracking/slstm/parity", 0, 0, None, None, 1, 1, "test/accuracy", "python train.py")])
    main(["--study", "state_tracking", "--runs", str(study), "--results", str(results)])
    assert "state_tracking: 1 of 21 cells" in capsys.readouterr().out
    assert [result.value for result in read_results(results).values()] == [pytest.approx(0.8)]
    assert trained("state_tracking", study) == study


def test_an_unknown_study_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--study", "nothing"])
    assert "there is no study nothing" in capsys.readouterr().err
    assert set(STUDIES) == {"state_tracking", "chomsky", "recall", "mad", "selective_copying", "shakespeare"}


def test_the_page_in_docs_is_what_the_results_say():
    assert page(CELLS, all_results(RESULTS)) == PAGE.read_text(encoding="utf-8")
