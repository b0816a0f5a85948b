"""What each tracker shows of the same run, read back with the tracker's own reader."""

import csv
import math
from pathlib import Path

import pytest

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.runs.folder import read_lines
from composer.training.run.train import train
from tests.support import wandb_records
from tests.support.loggers import SVG, info, open_loggers

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]  # of MLflow's own code

ROWS = [{"source": "ab", "right": True}, {"source": "c|d", "score": 0.5}]


class FromCsv:
    """It has the names of metrics.jsonl, without ``train/``, and neither settings nor samples."""

    section = {"csv": {}}

    def __init__(self, folder):
        with (folder / "metrics.csv").open(newline="") as file:
            self.rows = list(csv.DictReader(file))

    def curve(self, name):
        name = name.removeprefix("train/")
        return [(int(row["step"]), float(row[name])) for row in self.rows if row.get(name)]


class FromTensorBoard:
    section = {"tensorboard": {}}

    def __init__(self, folder):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

        self.events = EventAccumulator(str(folder / "tensorboard")).Reload()
        self.table = {
            name: HParamsPluginData.FromString(self.events.SummaryMetadata(name).plugin_data.content)
            for name in self.events.PluginTagToContent("hparams")
        }

    def curve(self, name):
        return [(event.step, event.value) for event in self.events.Scalars(name)]

    def setting(self, name):
        (value,) = [
            getattr(found, found.WhichOneof("kind"))
            for record in self.table.values()
            for key, found in record.session_start_info.hparams.items()
            if key == name
        ]
        return value

    def compared(self):
        return {metric.name.tag for record in self.table.values() for metric in record.experiment.metric_infos}

    def samples(self):
        return self.events.Tensors("samples/text_summary")[0].tensor_proto.string_val[0].decode()

    def has_figure(self):
        return self.events.Images("attention")[0].width == 5

    def status(self):
        return self.events.Tensors("status/text_summary")[-1].tensor_proto.string_val[0].decode()


class FromMlflow:
    section = {"mlflow": {}}
    statuses = {"FINISHED": "finished", "KILLED": "stopped"}

    def __init__(self, folder):
        from mlflow import MlflowClient

        self.client = MlflowClient(f"sqlite:///{folder.parent / 'mlflow.db'}")
        self.experiment = self.client.get_experiment_by_name("sequence-composer").experiment_id
        (self.run,) = self.client.search_runs([self.experiment])
        assert self.run.data.tags["mlflow.runName"] == "a run"
        assert self.run.data.tags["job_type"] == "tuning"

    def curve(self, name):
        return [(each.step, each.value) for each in self.client.get_metric_history(self.run.info.run_id, name)]

    def setting(self, name):
        return int(self.run.data.params[name])

    def compared(self):
        return set(self.run.data.metrics) & {"best/valid/loss", "test/loss"}

    def samples(self):
        return (self.files("samples") / "step_3.json").read_text()

    def has_figure(self):
        return (self.files("figures") / "attention.png").is_file() and (self.files("checkpoints") / "best").is_file()

    def files(self, name):
        return Path(self.client.download_artifacts(self.run.info.run_id, name))

    def status(self):
        return self.statuses[self.run.info.status]


class FromWandb:
    section = {"wandb": {"mode": "offline"}}
    statuses = {0: "finished", 255: "stopped"}

    def __init__(self, folder):
        self.folder = folder
        self.runs = wandb_records.recorded(folder)
        assert {wandb_records.begun(run)["run_id"] for run in self.runs} == {"abc123"}
        assert {wandb_records.begun(run)["job_type"] for run in self.runs} == {"tuning"}

    def curve(self, name):
        return [row for run in self.runs for row in wandb_records.history(run, "step", name)]

    def setting(self, name):
        value = wandb_records.begun(self.runs[0])["config"]["update"]
        for key in name.split("."):
            value = value[key]
        return value

    def compared(self):
        updates = [record["summary"]["update"] for record in self.runs[-1] if record["type"] == "summary"]
        summary = {name: value for update in updates for name, value in update.items()}
        assert summary["valid/loss"] == 0.25
        return {f"best/{name}" if "valid" in name else name for name in summary}

    def samples(self):
        ((path,),) = wandb_records.history(self.runs[0], "samples.path")
        file, *_ = self.folder.glob(f"wandb/offline-*/files/{path}")  # one, and a link to it
        return file.read_text()

    def has_figure(self):
        return bool(wandb_records.history(self.runs[0], "attention.path"))

    def status(self):
        return self.statuses[self.runs[-1][-1]["exit"]["exit_code"]]


READERS = {"csv": FromCsv, "tensorboard": FromTensorBoard, "wandb": FromWandb, "mlflow": FromMlflow}


@pytest.mark.parametrize("name", READERS)
def test_a_tracker_shows_a_stopped_and_resumed_run_whole(name, tmp_path, picture, monkeypatch, request):
    pytest.importorskip({"csv": "csv"}.get(name, name))
    if name == "wandb":
        request.getfixturevalue("client")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    folder, read = tmp_path / "run", READERS[name]
    (tmp_path / "best").write_bytes(b"weights")

    opened = open_loggers(read.section, info(folder, phase="tuning", graph_svg=SVG))
    for step in range(1, 4):
        opened.metrics(step, {"loss": 1 / 2**step}, "train/")
    opened.metrics(3, {"valid/loss": 0.5})
    opened.samples(3, ROWS)
    opened.figure("attention", picture, 3)
    opened.checkpoint(tmp_path / "best", ["best"])
    opened.finish("stopped", {"valid/loss": 0.5})
    found = read(folder)
    if name != "csv":
        assert found.status() == "stopped"
        assert found.setting("model.nodes.x.depth") == 2
        assert "ab" in found.samples()
        assert found.has_figure()

    opened = open_loggers(read.section, info(folder, phase="tuning", graph_svg=SVG, resumed_from=3))
    opened.metrics(4, {"loss": 0.0625}, "train/")
    opened.metrics(4, {"valid/loss": 0.25, "smoothed": 2.0})
    opened.metrics(4, {"test/loss": 0.75})
    opened.finish("finished", {"valid/loss": 0.25, "test/loss": 0.75})
    found = read(folder)
    assert found.curve("train/loss") == [(1, 0.5), (2, 0.25), (3, 0.125), (4, 0.0625)]
    assert found.curve("valid/loss") == [(3, 0.5), (4, 0.25)]
    assert found.curve("test/loss") == [(4, 0.75)]
    assert found.curve("smoothed") == [(4, 2.0)]  # of a callback, under the name that it chose
    if name != "csv":
        assert found.status() == "finished"
        assert found.compared() >= {"best/valid/loss", "test/loss"}


def test_mlflow_says_what_it_cannot_reach_and_a_run_goes_on_without_it(tmp_path, monkeypatch, capsys):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(UserError, match=r"^logger.mlflow: the server cannot be used: .*refused"):
        open_loggers({"mlflow": {"uri": "http://127.0.0.1:9"}}, info(tmp_path / "one"))
    opened = open_loggers({"mlflow": {}}, info(tmp_path / "two"))
    capsys.readouterr()
    opened.each[0].run = "gone"
    for step in range(3):
        opened.metrics(step, {"loss": 1.0})
    opened.finish("finished", {})
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("MLflow: no longer reached, and the run goes on without it: ")


def test_a_run_sends_its_loggers_what_its_folder_holds(tmp_path):
    """Every value of metrics.jsonl and the result on the test split; and the profiler leaves its report."""
    pytest.importorskip("tensorboard")
    task = ["data=copy", "data.train_size=16", "data.valid_size=8", "data.length=4", "training.decode_rows=0"]
    sizes = ["model.dim=8", "mixer=gru", "training.figures=false", "training.batch=8"]
    steps = ["training.steps=4", "training.log_every=1", "training.validate_every=2", "trainer.profiler=simple"]
    run = train(
        compose([*task, *sizes, *steps, "logger=[csv,tensorboard]", f"runs={tmp_path}", "name=run"]), quiet=True
    ).folder
    record, rows = run.read_record(), list(read_lines(run.metrics))
    wanted = [(row["step"], f"train/{name}" if "/" not in name else name, value) for row in rows
              for name, value in row.items() if name != "step"]  # fmt: skip
    wanted += [(4, f"test/{name}", found["value"]) for name, found in record.test.items() if found["value"] is not None]
    assert {name.partition("/")[0] for _, name, _ in wanted} == {"train", "valid", "test"}
    for reader in (FromCsv(run.path), FromTensorBoard(run.path)):
        for name in {name for _, name, _ in wanted}:
            expected = [
                (step, pytest.approx(math.nan if value is None else value, rel=1e-6, nan_ok=True))
                for step, each, value in wanted
                if each == name
            ]
            assert reader.curve(name) == expected
    assert "run_training_batch" in (run.path / "profile" / "fit-simple.txt").read_text()
