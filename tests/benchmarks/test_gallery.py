"""The quick form of the gallery: every experiment trains on data that needs no file, and an arm of the gallery runs."""

import re

import pytest

import composer
from benchmarks.gallery.__main__ import DATA, PAGE, RESULTS, main
from benchmarks.gallery.page import write_page
from benchmarks.gallery.results import Result, keep, read_results
from benchmarks.gallery.running import run_arm
from benchmarks.gallery.system import Arm, Goal, System
from benchmarks.gallery.systems import SYSTEMS
from composer.cli.gallery import systems
from composer.config.composition import compose
from composer.training.run.plan import prepare
from tests.support import processes
from tests.support.experiments import QUICK, changes
from tests.support.paths import ROOT

#: elmo reads the run of elmo_lm, so both are trained in one test.
EXPERIMENTS = [name for name in systems() if name not in ("elmo", "elmo_lm")]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_trains(name, tmp_path):
    words = [f"experiment={name}", *QUICK, f"runs={tmp_path}", "name=run"]
    assert processes.run(processes.train, words).code == 0


@pytest.mark.slow
def test_elmo_says_which_run_it_needs_and_trains_after_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = processes.run(processes.train, ["experiment=elmo", *QUICK])
    assert done.code == 2
    (command,) = re.findall(r"Train that run first: python train.py (.*?)\.\s", " ".join(done.err.split()))
    assert processes.run(processes.train, [*command.split(), *QUICK]).code == 0
    assert processes.run(processes.train, ["experiment=elmo", *QUICK, "name=tagger"]).code == 0
    said = composer.load("runs/tagger").predict(["On Monday ."])[0]
    assert said["words"] == "On Monday .", "which is typed once, though two fields are made of it"
    assert "context" not in said
    for words in changes(systems()["elmo"]):
        prepare(compose(["experiment=elmo", *words]))


def test_every_experiment_is_a_system_of_the_gallery_and_every_goal_is_quoted():
    before = {
        word for system in SYSTEMS for arm in system.arms if arm.before is not None for word in arm.before.overrides
    }
    assert {f"experiment={name}" for name in systems()} == {f"experiment={system.name}" for system in SYSTEMS} | {
        word for word in before if word.startswith("experiment=")
    }
    for system in SYSTEMS:
        assert system.name in systems()
        for arm in system.arms:
            assert arm.goal is None or arm.goal.metric in arm.quoted
            assert re.fullmatch(r"[\w.-]+", system.run_name(arm)), "can be typed as name=..."


@pytest.mark.slow
def test_an_arm_is_trained_evaluated_and_written_to_the_page(tmp_path, monkeypatch):
    def quickly(folder, program, *arguments):
        done = processes.program([ROOT / program if program.endswith(".py") else program, *arguments], folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    monkeypatch.setattr("benchmarks.gallery.running.python", quickly)
    arm = Arm("small", ("model.dim=16", "data.train_size=64"), ("accuracy",), "test", Goal("accuracy", least=2.0))
    system = System("speech_rnn", "tones", (arm,), "none")
    result = run_arm(system, arm, tmp_path, DATA, steps=2)
    assert result.steps == 2
    assert result.intervals["accuracy"][0] <= result.figures["accuracy"] <= result.intervals["accuracy"][1]
    keep(tmp_path / "results.jsonl", result)
    assert read_results(tmp_path / "results.jsonl") == {("speech_rnn", "small"): result}
    write_page(tmp_path / "page.md", [system], read_results(tmp_path / "results.jsonl"))
    text = (tmp_path / "page.md").read_text()
    assert "accuracy at least 2: **not reached**" in text
    assert (tmp_path / "page" / "speech_rnn.svg").is_file()


@pytest.mark.parametrize(("value", "reached"), [(0.5, True), (0.3, False)])
def test_a_goal_may_be_a_distance_from_other_arms(tmp_path, monkeypatch, value, reached):
    monkeypatch.setattr("benchmarks.gallery.page.draw", lambda experiment, picture: None)
    goal = Goal("bleu, long", least=0.1, over=(("sutskever", "a"), ("luong", "a")))
    figures = {"sutskever": 0.1, "luong": 0.3, "bahdanau": value}
    arms = {name: Arm("a", (), ("bleu",), goal=goal if name == "bahdanau" else None) for name in figures}
    results = {
        (name, "a"): Result(name, "a", "python train.py", "test", 1, 2, 3.0, {"bleu": 0.0, "bleu, long": found})
        for name, found in figures.items()
    }
    write_page(tmp_path / "page.md", [System(name, "pairs", (arm,)) for name, arm in arms.items()], results)
    said = f"bleu, long 0.1 above sutskever (a) and luong (a): {'reached' if reached else '**not reached**'}"
    assert (tmp_path / "page.md").read_text().count(said) == 2, "in the summary and in the section"


def test_a_result_replaces_an_earlier_one(tmp_path):
    for value in (0.5, 0.75):
        keep(tmp_path / "results.jsonl", Result("gpt", "a", "python train.py", "valid", 1, 2, 3.0, {"loss": value}))
    assert read_results(tmp_path / "results.jsonl")["gpt", "a"].figures == {"loss": 0.75}


def test_the_page_in_docs_is_what_the_results_say(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.gallery.page.draw", lambda experiment, picture: None)
    write_page(tmp_path / "gallery.md", SYSTEMS, read_results(RESULTS))
    assert (tmp_path / "gallery.md").read_text() == PAGE.read_text()


def test_an_unknown_system_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert "there is no system nothing" in capsys.readouterr().err
