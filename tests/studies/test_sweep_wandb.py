"""Sweeps of W&B: the YAML, a real agent that runs it against a server on 127.0.0.1, and a report."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
import yaml

from composer.cli.main import main
from composer.core.problems import UserError
from composer.runs.folder import RunFolder
from composer.runs.sweep_folder import SweepFolder
from composer.studies.sweep.wandb_report import final_metric
from composer.studies.sweep.wandb_sweep_config import wandb_sweep
from tests.support import processes
from tests.support.paths import ROOT
from tests.support.sweeps import TINY
from tests.support.wandb_server import serving

RATE = "optimiser.learning_rate=tag(log,interval(1e-4,1e-2))"


def test_a_search_is_a_sweep_of_wandb_over_the_same_space():
    space = ["mixer=lstm,gru", RATE, "model.dim=int(interval(8,64))", "model.nodes.encoder.dropout=interval(0,0.5)"]
    sweep = wandb_sweep(["search=tpe", "search.trials=7", "search.metric=valid/accuracy", "data=copy", *space])
    assert sweep["method"] == "bayes"
    assert sweep["run_cap"] == 7
    assert sweep["metric"] == {"name": "valid/accuracy", "goal": "maximize"}
    assert sweep["parameters"] == {
        "mixer": {"values": ["lstm", "gru"]},
        "optimiser.learning_rate": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1e-2},
        "model.dim": {"distribution": "int_uniform", "min": 8, "max": 64},
        "model.nodes.encoder.dropout": {"distribution": "uniform", "min": 0, "max": 0.5},
    }
    assert sweep["command"] == ["${env}", "python", "${program}", "data=copy", "logger=wandb", "${args_no_hyphens}"]
    assert sweep["project"] == "sequence-composer"  # where logger=wandb sends the runs


def test_a_space_in_yaml_is_part_of_the_sweep(tmp_path):
    (tmp_path / "search").mkdir()
    text = (ROOT / "conf" / "search" / "random.yaml").read_text().replace("space: {}", "space:")
    (tmp_path / "search" / "mine.yaml").write_text(f"{text}  {RATE.replace('=', ': ')}\n")
    sweep = wandb_sweep(["search=mine", "seed=1,2"], tmp_path)
    assert sweep["method"] == "random"
    assert list(sweep["parameters"]) == ["optimiser.learning_rate", "seed"]
    assert f"--config-dir={tmp_path}" in sweep["command"]


def test_values_without_a_search_are_a_grid():
    sweep = wandb_sweep(["mixer=lstm,gru", "seed=1,2,3", "logger=[wandb]"])
    assert sweep["method"] == "grid"
    assert sweep["parameters"] == {"mixer": {"values": ["lstm", "gru"]}, "seed": {"values": [1, 2, 3]}}
    assert "run_cap" not in sweep


@pytest.mark.parametrize(
    ("arguments", "message"), [([RATE], "add search=tpe"), (["seed=1,2", "logger=tensorboard"], "logger=wandb. Add it")]
)
def test_what_cannot_be_a_sweep_of_wandb_is_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        wandb_sweep(arguments)


def agent(sweep):
    """``wandb agent``, without its waits of five seconds."""
    from wandb import wandb_agent

    wandb_agent.Agent.POLL_INTERVAL = 0.2
    wandb_agent.run_agent(sweep, count=1)


@pytest.mark.slow
def test_an_agent_of_wandb_trains_a_run_of_the_sweep(tmp_path):
    with serving() as server:
        server.sweep = yaml.safe_dump(wandb_sweep(["search=random", *TINY, f"runs={tmp_path}", "name=trial", RATE]))
        drawn = {"optimiser.learning_rate": {"value": 0.0025}}
        server.commands = [{"type": "run", "run_id": "r1", "program": str(ROOT / "train.py"), "args": drawn}]
        places = {f"WANDB_{name}": str(tmp_path) for name in ("DIR", "CONFIG_DIR", "CACHE_DIR", "DATA_DIR")}
        path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
        login = {"WANDB_BASE_URL": server.url, "WANDB_API_KEY": "a" * 40, "WANDB_ERROR_REPORTING": "false"}
        environment = {**places, **login, "PATH": path, "PYTHONPATH": str(ROOT)}
        done = processes.run(agent, "tester/sequence-composer/s1", environment=environment)
        assert done.code == 0, done.err
        assert RunFolder(tmp_path / "trial").read_record().status == "finished", done.err
        assert {run["name"] for run in server.runs} == {"r1"}
        assert server.runs[0]["sweep"] == "s1"  # W&B knows whose result it is
        config = json.loads(server.runs[0]["config"])
        assert config["optimiser"]["value"]["learning_rate"] == 0.0025
        assert {"seed", "parameters"} <= set(config)
        assert server.finished == {"r1": 0}
        assert [step for step, _ in server.history("step", "valid/loss")] == [3, 6]


def test_hyphens_before_overrides_are_understood():
    command = [sys.executable, str(ROOT / "train.py"), "--seed=5", "--mixer=lstm", "--cfg", "job"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "seed: 5" in done.stdout.splitlines()


@pytest.fixture
def logged(tmp_path):
    """A study, one of whose runs was logged to W&B."""
    facts = {"kind": "study", "arguments": ["study=recall"], "judged": "valid/loss", "direction": "min"}
    folder = SweepFolder.create(tmp_path / "recall", facts)
    run = RunFolder(folder.path / "0_seed=1")
    run.make()
    reason = "its best learning_rate is the lowest tried"
    run.update_record(status="finished", result={"valid/loss": 0.5}, untuned=reason)
    run.update_record(trial={"number": 0, "parameters": {"seed": 1, "mixer@model.mixer": "gru"}})
    run.config.write_text(yaml.safe_dump({"logger": {"wandb": {"project": "p", "entity": "tester"}}}))
    return folder


def test_a_report_needs_its_package(logged, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    with pytest.raises(SystemExit):
        main(["wandb-sweep", "--report", str(logged.path)])
    assert "pip install 'sequence-composer[wandb_report]'" in capsys.readouterr().err


def test_a_sweep_that_was_not_logged_has_no_report(logged, capsys):
    (logged.path / "0_seed=1" / "config.yaml").write_text("logger: null\n")
    with pytest.raises(SystemExit):
        main(["wandb-sweep", "--report", str(logged.path)])
    assert "Add logger=wandb" in capsys.readouterr().err


def test_a_report_shows_the_test_split_where_all_final_runs_have_it(logged):
    run, trial = (RunFolder(logged.path / name) for name in ("0_seed=1", "1_seed=1"))
    trial.make()
    trial.update_record(status="finished", trial={"number": 1, "phase": "tuning"})
    trial.config.write_text("{}")
    assert final_metric(logged, "valid/loss") == "valid/loss"
    run.update_record(test={"loss": {"value": 0.5, "low": 0.4, "high": 0.6}})
    assert final_metric(logged, "valid/loss") == "test/loss"
    assert final_metric(logged, "valid/bleu") == "valid/bleu"


def report(folder):
    return main(["wandb-sweep", "--report", folder])


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("wandb_workspaces") is None, reason="wandb-workspaces is not installed")
@pytest.mark.parametrize("key", [None, "a" * 40], ids=["without a login", "with a login"])
def test_a_report_shows_the_runs_of_a_study_by_arm(logged, tmp_path, key):
    with serving() as server:
        places = {f"WANDB_{name}": str(tmp_path) for name in ("DIR", "CONFIG_DIR", "CACHE_DIR", "DATA_DIR")}
        login = {"WANDB_BASE_URL": server.url, "NETRC": str(tmp_path / "netrc"), "WANDB_ERROR_REPORTING": "false"}
        key_of = {"WANDB_API_KEY": key} if key else {}
        done = processes.run(report, str(logged.path), environment={**places, **login, **key_of})
        if key is None:
            assert (done.code, server.views) == (2, [])
            assert "nobody is logged in" in done.err
            return
        assert done.code == 0, done.err
        (view,) = server.views
        assert view["displayName"] == "Study recall"
        (grid,) = [block["metadata"] for block in json.loads(view["spec"])["blocks"] if "metadata" in block]
        (runs,) = grid["runSets"]
        (chosen,) = runs["filters"]["filters"]
        assert (chosen["key"]["name"], chosen["value"]) == ("group", "recall")
        assert [key["name"] for key in runs["grouping"]] == ["arm.value"]
        assert "is not tuned: its best learning_rate is the lowest tried" in view["spec"]
        assert "| arm | valid/loss | parameters |" in view["spec"]
        assert done.out.strip().startswith(server.url)
