"""Weights & Biases, with the real client, which never sees any address but 127.0.0.1: what is recorded offline,
what is delivered, and what dead servers and dead clients do to a run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from composer.core.problems import UserError
from composer.training.loggers import load_loggers
from tests.support.loggers import SVG, info, open_loggers
from tests.support.wandb_records import begun, history, recorded, records
from tests.support.wandb_server import CLOSED, serving

pytestmark = pytest.mark.slow

KEY = "a" * 40


def report(opened, folder, picture):
    """One of everything."""
    for step in range(1, 4):
        opened.metrics(step, {"loss": 1 / step})
    opened.metrics(3, {"valid/loss": 0.5})
    opened.samples(3, [{"source": "ab", "found": "ba", "right": True}, {"source": "cd", "score": 0.5}])
    opened.figure("attention", picture, 3)
    (folder / "best.ckpt").write_bytes(b"weights")
    opened.checkpoint(folder / "best.ckpt", ["best", "last"])
    opened.finish("finished", {"valid/loss": 0.25})


TABLE = {
    "columns": ["source", "found", "right", "score"],
    "data": [["ab", "ba", True, None], ["cd", None, None, 0.5]],
}


def test_without_an_account_everything_is_recorded_in_the_run_folder(tmp_path, client, picture, capfd):
    folder = tmp_path / "run"
    study = {"phase": "final", "untuned": "its best learning_rate (0.3) is the highest tried"}
    opened = open_loggers(
        {"wandb": {"tags": ["small"]}}, info(folder, group="sweep", graph_svg=SVG, size={"parameters": 7}, **study)
    )
    report(opened, folder, picture)
    printed = capfd.readouterr()
    (path,) = (folder / "wandb").glob("offline-run-*-abc123")
    assert printed.out == f"W&B: recorded offline; send it with: wandb sync {path}\n"
    assert printed.err == ""

    (run,) = recorded(folder)
    assert history(run, "step", "loss") == [(1, 1), (2, 0.5), (3, 1 / 3)]
    assert history(run, "step", "valid/loss") == [(3, 0.5)]
    facts = begun(run)
    assert facts["config"]["update"]["model"] == {"nodes": {"x": {"depth": 2}}}
    assert (facts["config"]["update"]["seed"], facts["config"]["update"]["parameters"]) == (1, 7)
    assert facts["config"]["update"]["tuned"] == "no: its best learning_rate (0.3) is the highest tried"
    assert (facts["run_id"], facts["display_name"], facts["project"]) == ("abc123", "a run", "sequence-composer")
    assert (facts["run_group"], facts["tags"]) == ("sweep", ["small"])
    metrics = [record["metric"] for record in run if record["type"] == "metric"]
    assert {"glob_name": "*", "step_metric": "step"}.items() <= metrics[1].items()

    ((table,),) = history(run, "samples.path")
    assert TABLE.items() <= json.loads((path / "files" / table).read_text()).items()
    ((image, kind),) = history(run, "attention.path", "attention._type")
    assert kind == "image-file"
    assert (path / "files" / image).read_bytes() == picture.read_bytes()
    ((graph, step),) = history(run, "graph.path", "step")
    assert (path / "files" / graph).read_text() == SVG
    assert step == 0

    artifacts = [record["artifact"] for record in run if record["type"] == "artifact"]
    (model,) = [artifact for artifact in artifacts if artifact["type"] == "model"]
    assert {"best", "last"} <= set(model["aliases"])
    (content,) = model["manifest"]["contents"]
    assert content["path"] == "best.ckpt"
    kept = Path(content["local_path"])
    assert kept.is_relative_to(folder)  # and no copy in the user's home
    assert kept.samefile(folder / "best.ckpt")  # nor any at all
    assert run[-1]["exit"]["exit_code"] == 0
    updates = [record["summary"]["update"] for record in run if record["type"] == "summary"]
    assert [update["valid/loss"] for update in updates if "valid/loss" in update][-1] == 0.25


def test_two_runs_in_one_process_stay_two_and_a_resumed_one_keeps_its_identity(tmp_path, client):
    folder = tmp_path / "run"
    for name, loss in (("one", 1.0), ("two", 2.0)):
        opened = open_loggers({"wandb": {}}, info(folder, identifier=name))
        opened.metrics(1, {"loss": loss})  # the first is left as a crash leaves it
    opened.finish("stopped", {})
    opened = open_loggers({"wandb": {"artifacts": False}}, info(folder, identifier="two", resumed_from=1))
    opened.metrics(2, {"loss": 3.0})
    (folder / "last.ckpt").write_bytes(b"weights")
    opened.checkpoint(folder / "last.ckpt", ["last"])
    opened.finish("failed", {})
    runs = recorded(folder)
    assert [begun(run)["run_id"] for run in runs] == ["one", "two", "two"]
    assert [history(run, "step", "loss") for run in runs] == [[(1, 1)], [(1, 2)], [(2, 3)]]
    assert [run[-1]["exit"]["exit_code"] for run in runs[1:]] == [255, 1]
    assert not [record for record in runs[2] if record["type"] == "artifact"]


def test_a_checkpoint_stays_as_it_was_logged_when_another_takes_its_place(tmp_path, client):
    opened = open_loggers({"wandb": {}}, info(tmp_path))
    for content in (b"first", b"second"):
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").rename(tmp_path / "last.ckpt")
        opened.checkpoint(tmp_path / "last.ckpt", ["last"])
    opened.finish("finished", {})
    artifacts = [record["artifact"] for record in recorded(tmp_path)[0] if record["type"] == "artifact"]
    entries = [artifact["manifest"]["contents"][0] for artifact in artifacts]
    assert [entry["path"] for entry in entries] == ["last.ckpt", "last.ckpt"]
    assert [Path(entry["local_path"]).read_bytes() for entry in entries] == [b"first", b"second"]


def assert_delivered(server, picture):
    assert server.history("step", "loss") == [(1, 1), (2, 0.5), (3, 1 / 3)]
    assert server.history("step", "valid/loss") == [(3, 0.5)]
    assert json.loads(server.runs[0]["config"])["model"]["value"] == {"nodes": {"x": {"depth": 2}}}
    assert (server.runs[0]["name"], server.runs[0]["project"]) == ("abc123", "sequence-composer")
    assert server.finished == {"abc123": 0}
    files = {Path(name).parent.name: content for name, content in server.files.items()}
    assert TABLE.items() <= json.loads(files["table"]).items()
    assert files["images"] == picture.read_bytes()
    assert files["html"].decode() == SVG
    numbers = {artifact["artifactTypeName"]: str(n) for n, artifact in enumerate(server.artifacts, start=1)}
    assert server.files[f"artifact-{numbers['model']}/best.ckpt"] == b"weights"
    assert numbers["model"] in server.committed
    model = server.artifacts[int(numbers["model"]) - 1]
    assert {"best", "last"} <= {alias["alias"] for alias in model["aliases"]}


def test_whoever_is_logged_in_has_everything_delivered(tmp_path, client, picture, capfd):
    with serving() as server:
        home = client(server.url)
        host = server.url.removeprefix("http://")
        (home / "netrc").write_text(f"machine {host}\n  login user\n  password {KEY}\n")  # as `wandb login` leaves it
        folder = tmp_path / "run"
        opened = open_loggers({"wandb": {}}, info(folder, graph_svg=SVG))
        report(opened, folder, picture)
        printed = capfd.readouterr()
        assert printed.out == f"W&B: {server.url}/tester/sequence-composer/runs/abc123\n"
        assert printed.err == ""
        assert_delivered(server, picture)


def test_what_was_recorded_offline_is_delivered_by_sync(tmp_path, client, picture):
    folder = tmp_path / "run"
    opened = open_loggers({"wandb": {}}, info(folder, graph_svg=SVG))
    report(opened, folder, picture)
    (path,) = (folder / "wandb").glob("offline-run-*")
    with serving() as server:
        client(server.url, KEY)
        subprocess.run([sys.executable, "-m", "wandb", "sync", str(path)], cwd=path, check=True, capture_output=True)
        assert_delivered(server, picture)


def test_a_dead_server_does_not_keep_a_run_from_going_on(tmp_path, client, capfd):
    client(CLOSED, KEY)
    folder = tmp_path / "run"
    opened = open_loggers({"wandb": {"init_timeout": 0.5}}, info(folder))
    opened.metrics(1, {"loss": 1.0})
    opened.finish("finished", {})
    said, where = capfd.readouterr().out.splitlines()
    assert said.startswith("W&B: not reached in 0.5 s, going on offline: ")
    assert "connection refused" in said
    path = Path(where.removeprefix("W&B: recorded offline; send it with: wandb sync "))
    assert history(records(path), "step", "loss") == [(1, 1)]


def test_a_server_that_dies_during_the_run_does_not_end_it(tmp_path, client, capfd):
    folder = tmp_path / "run"
    with serving() as server:
        client(server.url, KEY)
        opened = open_loggers({"wandb": {"finish_timeout": 0.5}}, info(folder))
        capfd.readouterr()
    opened.metrics(1, {"loss": 1.0})
    opened.finish("finished", {})
    said = capfd.readouterr().out
    (path,) = (folder / "wandb").glob("run-*")
    assert said == f"W&B: not everything was sent in 0.5 s; the rest: wandb sync {path}\n"
    assert history(records(path), "step", "loss") == [(1, 1)]


def test_what_cannot_be_uploaded_is_said_once_and_not_tried_again(tmp_path, client, monkeypatch, capfd):
    """Each attempt waits for the server, some twenty seconds."""
    import wandb

    def fail(*_, **__):
        attempts.append(1)
        raise wandb.errors.CommError("the server is away")

    attempts = []
    opened = open_loggers({"wandb": {}}, info(tmp_path))
    monkeypatch.setattr(type(opened.each[0].run), "log_artifact", fail)
    capfd.readouterr()
    (tmp_path / "last.ckpt").write_bytes(b"weights")
    for step in range(3):
        opened.samples(step, [{"a": "b"}])
        opened.checkpoint(tmp_path / "last.ckpt", ["last"])
        opened.metrics(step, {"loss": 1.0})
    opened.finish("finished", {})
    assert len(attempts) == 1
    assert capfd.readouterr().out == "W&B: no more tables and checkpoints in this run: the server is away\n"
    assert history(recorded(tmp_path)[0], "step", "loss") == [(0, 1), (1, 1), (2, 1)]


def test_a_client_that_dies_does_not_take_the_run_with_it(tmp_path, client, started, capfd):
    opened = open_loggers({"wandb": {}}, info(tmp_path / "run"))
    opened.metrics(1, {"loss": 1.0})
    capfd.readouterr()
    (core,) = [process for process in started if process.poll() is None]
    core.kill()
    core.wait()
    for step in range(2, 200):
        opened.metrics(step, {"loss": 1.0})
    opened.finish("finished", {})
    (line,) = capfd.readouterr().out.splitlines()
    assert line.startswith("W&B: its client has died, and the run goes on without it.")
    again = open_loggers({"wandb": {}}, info(tmp_path / "next"))
    again.metrics(1, {"loss": 1.0})
    again.finish("finished", {})
    assert history(recorded(tmp_path / "next")[0], "loss") == [(1,)]


def test_online_without_a_login_and_a_broken_login_are_refused_and_nothing_asks(client, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked"))
    with pytest.raises(UserError, match=r"logger.wandb.mode\s+is online, but nobody is logged in to http://127"):
        load_loggers({"wandb": {"mode": "online"}})
    client(mode="online")
    with pytest.raises(UserError, match="nobody is logged in"):
        load_loggers({"wandb": {}})
    client(key="too short")
    with pytest.raises(UserError, match="login cannot be used: WANDB_API_KEY invalid"):
        load_loggers({"wandb": {}})


def test_the_mode_is_the_config_s_then_the_environment_s_then_the_login_s(client):
    def mode(knob="auto"):
        (found,) = load_loggers({"wandb": {"mode": knob}}).each
        return found.mode

    assert mode() == "offline"
    client(key=KEY)
    assert mode() == "online"
    client(key=KEY, mode="offline")
    assert (mode(), mode("online")) == ("offline", "online")
    client(key=KEY, mode="disabled")
    assert (mode(), mode("offline")) == ("disabled", "offline")
    client(key=KEY, mode="dryrun")
    assert mode() == "offline"
    client(mode="sometimes")
    with pytest.raises(UserError, match="WANDB_MODE=sometimes"):
        mode()


def test_a_client_that_is_switched_off_records_nothing(tmp_path, client, picture, capfd):
    client(mode="disabled")
    folder = tmp_path / "run"
    report(open_loggers({"wandb": {}}, info(folder, graph_svg=SVG)), folder, picture)
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in folder.iterdir()] == ["best.ckpt"]


def test_the_client_reports_no_runs_of_its_own_accord(client, monkeypatch):
    """It would, even of offline ones, and to its makers."""
    monkeypatch.delenv("WANDB_ERROR_REPORTING")
    load_loggers({"wandb": {}})
    assert os.environ["WANDB_ERROR_REPORTING"] == "false"
