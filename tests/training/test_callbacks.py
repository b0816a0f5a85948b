"""Callbacks that a config names: chosen like loggers, bound by their signatures, attached to the Trainer of a run."""

import inspect
import json

import pytest
import yaml
from lightning import Callback

from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import ConfigError, UserError
from composer.training.callbacks.configured import load_callbacks, states
from tests.support import processes
from tests.support.paths import ROOT
from tests.support.runs import logged

CONF = ROOT / "conf" / "callbacks"
SMALL = ["data=copy", "data.length=6", "data.train_size=100", "data.valid_size=20", "model.dim=16", "mixer=gru",
         "training.batch=8", "training.decode_rows=0", "training.figures=false", "logger=none"]  # fmt: skip


def chosen(*overrides):
    composed = compose(list(overrides))
    return load_callbacks(composed.values.get("callbacks"), composed.locate)


def test_every_callback_has_a_leaf_of_its_name_that_lists_its_knobs_with_their_defaults():
    known = registry.entries("callback")
    assert {path.stem for path in CONF.glob("*.yaml")} == {
        n for n, e in known.items() if e.__module__.startswith("comp")
    }
    for path in CONF.glob("*.yaml"):
        text = path.read_text()
        assert text.startswith("# "), "the first line says what it is"
        parameters = inspect.signature(known[path.stem]).parameters.values()
        keys = yaml.safe_load(text)[path.stem]
        assert list(keys) == [p.name for p in parameters]
        assert all(keys[p.name] == p.default for p in parameters if p.default is not p.empty)


@pytest.mark.slow
def test_callbacks_are_chosen_by_their_files_or_by_names_of_the_users():
    assert chosen() == chosen("callbacks=[]") == {}
    assert list(chosen("callbacks=[early_stopping,timer]")) == ["early_stopping", "timer"]
    named = chosen("callbacks.night.type=timer", "callbacks.night.hours=8", "callbacks.timer.hours=2")
    assert [callback.time_remaining() for callback in named.values()] == [8 * 3600, 2 * 3600]


WRONG = {
    ("callbacks=[early_stoping]",): ["callbacks=[early_stoping]", "Did you mean 'early_stopping'?"],
    ("callbacks=early_stopping", "callbacks.early_stopping.pacience=1"): [
        "callbacks.early_stopping.pacience command line: callbacks.early_stopping.pacience=1",
        "'early_stopping' has no parameter 'pacience'. Did you mean 'patience'?",
    ],
    ("callbacks.half.hours=1",): ["callbacks.half command line: callbacks.half.hours=1", "no callback 'half'"],
    ("callbacks.half.type=timr",): ["no callback 'timr'. Did you mean 'timer'?"],
    ("callbacks.timer.hours=-1",): ["callbacks.timer.hours=-1", "expected a number above 0, found -1"],
    ("callbacks.timer=3",): ["callbacks.timer command line: callbacks.timer=3", "expected a mapping, found 3"],
    ("callbacks=3",): ["callbacks", "3"],
}


@pytest.mark.slow
@pytest.mark.parametrize("overrides", WRONG, ids=" ".join)
def test_a_wrong_choice_is_named_with_its_place(overrides):
    with pytest.raises(UserError) as caught:
        chosen(*overrides)
    message = " ".join(str(caught.value).split())
    assert all(part in message for part in WRONG[overrides]), message


def test_a_misspelt_key_of_a_file_is_named_with_its_line(tmp_path):
    (tmp_path / "callbacks").mkdir()
    (tmp_path / "callbacks" / "mine.yaml").write_text("# Mine.\nmine:\n  type: timer\n  hour: 3\n")
    composed = compose(["callbacks=mine"], tmp_path)
    with pytest.raises(ConfigError, match=r"callbacks\.mine\.hour +\S*mine\.yaml:4\s+'timer' has no parameter 'hour'"):
        load_callbacks(composed.values["callbacks"], composed.locate)


def test_an_entry_that_makes_no_callback_is_refused(monkeypatch):
    class Mine:
        def __init__(self, *, depth: int = 1):
            self.depth = depth

    monkeypatch.setattr(registry, "entries", lambda kind: {"mine": Mine})
    with pytest.raises(ConfigError, match=r"is a Mine, and no lightning\.Callback"):
        load_callbacks({"mine": {}})


@pytest.mark.slow
def test_a_run_ends_by_lightnings_early_stopping_is_saved_and_goes_on(tmp_path):
    """A change of the loss by less than 100 is no improvement, so the second validation is one without any."""
    stop = ["callbacks=[early_stopping,learning_rate_monitor]", "callbacks.early_stopping.patience=1",
            "callbacks.early_stopping.min_delta=100.0"]  # fmt: skip
    overrides = [*SMALL, *stop, "training.steps=30", "training.validate_every=4", "training.log_every=2"]
    processes.train_well([*overrides, f"runs={tmp_path}", "name=run"])
    run = tmp_path / "run"
    record = json.loads((run / "run.json").read_text())
    assert (record["status"], record["last_step"]) == ("finished", 8)
    rates = {line["step"]: line["lr-AdamW/pg1"] for line in logged(run) if "lr-AdamW/pg1" in line}
    assert rates == {line["step"]: line["learning_rate"] for line in logged(run) if "learning_rate" in line}
    assert processes.run(processes.train, [f"resume={run}", "callbacks=[]"]).code == 0
    assert [line["step"] for line in logged(run) if "valid/loss" in line] == [4, 8, 12, 16, 20, 24, 28, 30]


@pytest.mark.slow
def test_a_run_whose_time_is_up_is_validated_and_saved(tmp_path):
    overrides = [*SMALL, "callbacks.timer.hours=1e-9", "training.steps=300", "training.log_every=1"]
    processes.train_well([*overrides, f"runs={tmp_path}", "name=run"])
    steps = [line["step"] for line in logged(tmp_path / "run")]
    assert max(steps) < 300
    assert "valid/loss" in logged(tmp_path / "run")[-1]
    assert (tmp_path / "run" / "checkpoints" / "last.safetensors").is_file()


@pytest.mark.slow
def test_a_value_that_nothing_logs_is_named_at_the_first_validation(tmp_path):
    wrong = ["callbacks=early_stopping", "callbacks.early_stopping.monitor=valid/los"]
    overrides = [*SMALL, *wrong, "training.steps=4", "training.validate_every=2"]
    done = processes.run(processes.train, [*overrides, f"runs={tmp_path}", "name=run"])
    assert done.code == 2
    assert "'valid/los', but nothing of this name is logged. Did you mean 'valid/loss'?" in done.err


class Keeps(Callback):
    def __init__(self, state):
        self.state = state

    def state_dict(self):
        return self.state


def test_a_state_that_is_no_plain_data_is_not_kept_and_said():
    configured = {"plain": Keeps({"losses": [1.0, (2, None)]}), "none": Keeps({}), "odd": Keeps({"at": {1: object()}})}
    with pytest.warns(UserWarning, match=r"callbacks\.odd: its state_dict has a value of type object"):
        assert states(configured) == {"plain": {"losses": [1.0, (2, None)]}}
