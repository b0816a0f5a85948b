"""What a run reports arrives where it was sent, as it was sent: choosing loggers, several at once."""

import subprocess
import sys

import pytest
import yaml

from composer.core import registry
from composer.core.problems import UserError
from composer.training.loggers import Loggers, load_loggers
from composer.training.loggers.logger import NONE
from tests.support.loggers import chosen, info, refused
from tests.support.paths import ROOT

CONF = ROOT / "conf" / "logger"


# Choosing


def test_every_logger_has_a_leaf_of_its_name_that_lists_its_knobs_with_their_defaults():
    import inspect

    assert {path.stem for path in CONF.glob("*.yaml")} == {*registry.entries("logger"), NONE}
    for name, cls in registry.entries("logger").items():
        text = (CONF / f"{name}.yaml").read_text()
        assert text.startswith("# "), "the first line says what it is"
        assert cls.__module__.rpartition(".")[2] == name
        parameters = inspect.signature(cls).parameters.values()
        assert yaml.safe_load(text) == {name: {p.name: p.default for p in parameters}}


@pytest.mark.slow
def test_loggers_are_chosen_one_or_several_or_none():
    assert chosen() == chosen("logger=csv") == ["Csv"]
    assert chosen("logger=[csv,wandb]", "logger.wandb.mode=offline") == ["Csv", "Wandb"]
    assert chosen("logger=none") == chosen("logger=[]") == []


WRONG = {
    ("logger=wandd",): ["logger=wandd", "there is no logger 'wandd'. Did you mean 'wandb'?", "csv, mlflow, none"],
    ("logger=[csv,wandd]",): ["logger=[csv,wandd]", "no logger 'wandd'. Did you mean 'wandb'?", "csv, mlflow, none"],
    ("logger=[csv,none]",): ["command line: logger=[csv,none]", "'none' does not go together with csv"],
    ("logger=null",): ["command line: logger=null", "the name of an option"],
    ("logger=wandb", "logger.wandb.mode=on"): ["command line: logger.wandb.mode=on", "'auto', 'online', 'offline'"],
    ("logger=wandb", "logger.wandb.modes=on"): ["'logger.wandb' has no key 'modes'. Did you mean 'mode'?"],
    ("logger=wandb", "+logger.wandb.modes=on"): ["'wandb' has no parameter 'modes'. Did you mean 'mode'?"],
    ("+logger.csv.path=x",): ["logger.csv.path   command line", "'csv' has no parameter 'path'"],
    ("+logger.cvs={}",): ["logger.cvs   command line", "there is no logger 'cvs'. Did you mean 'csv'?"],
    ("++logger.csv=3",): ["logger.csv   command line", "expected a mapping, found 3"],
}


@pytest.mark.slow
@pytest.mark.parametrize("overrides", WRONG, ids=" ".join)
def test_a_wrong_choice_is_named_with_its_place(overrides):
    message = " ".join(refused(*overrides).split())
    assert all(part in message for part in (" ".join(part.split()) for part in WRONG[overrides])), message


def test_a_missing_package_is_named_before_anything_runs(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'sequence-composer\[tensorboard\]'"):
        load_loggers({"tensorboard": {}})


# Several at once


class Noted:
    def __init__(self, fails=""):
        self.calls, self.fails = [], fails

    def __getattr__(self, name):
        def call(*args):
            self.calls.append((name, *args))
            if name == self.fails:
                raise RuntimeError(name)

        return call


def test_all_get_everything(tmp_path):
    one, other = Noted(), Noted()
    both = Loggers([one, other])
    both.open(info(tmp_path))
    both.metrics(1, {"loss": 2.0})
    both.samples(1, [{"a": "b"}])
    both.figure("f", tmp_path / "f.png", 1)
    both.checkpoint(tmp_path / "c", ["best"])
    both.finish("stopped", {"loss": 1.0})
    assert [call[0] for call in one.calls] == ["open", "metrics", "samples", "figure", "checkpoint", "finish"]
    assert one.calls == other.calls


def test_where_one_cannot_begin_the_others_are_ended(tmp_path):
    one, other, third = Noted(), Noted(fails="open"), Noted()
    with pytest.raises(RuntimeError, match="open"):
        Loggers([one, other, third]).open(info(tmp_path))
    assert [call[:2] for call in one.calls[1:]] == [("finish", "failed")]
    assert third.calls == []


def test_all_end_even_if_one_fails_to():
    each = [Noted(), Noted(fails="finish"), Noted()]
    with pytest.raises(RuntimeError, match="finish"):
        Loggers(each).finish("finished", {})
    assert all(one.calls for one in each)


@pytest.mark.slow
def test_nothing_is_imported_before_it_is_used():
    code = """
import sys
from composer.training.loggers import load_loggers
load_loggers({"csv": {}})
load_loggers({"wandb": {"mode": "offline"}})
sys.exit(bool({"wandb", "tensorboard", "matplotlib"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
