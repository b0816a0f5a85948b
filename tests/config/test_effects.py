"""An override that is accepted has an effect: one that has none where it stands is refused, and says what to do."""

import contextlib
import io
import itertools
import json
import logging
import re
import runpy
import sys
from functools import partial
from types import SimpleNamespace

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from omegaconf import OmegaConf

from composer.config.composition import compose
from composer.config.overrides import ALLOWED, check_effects, mode_of, split_options
from composer.core.problems import UserError
from composer.studies.sweep import value_checks
from composer.training.run import train as training
from tests.support import processes
from tests.support.paths import ROOT

#: What is begun, and how.
MODES = {"run": ["seed=1"], "sweep": ["-m", "seed=1,2"], "other sweeper": ["-m", "seed=1,2", "hydra/sweeper=basic"]}

#: An override of every key of Hydra that may be set, and of our own keys that say where a run goes; with what it needs.
OVERRIDES = {
    "hydra/launcher": ("hydra/launcher=parallel",),
    "hydra/sweeper": ("hydra/sweeper=basic",),
    "hydra.launcher.*": ("hydra.launcher.jobs=7", "hydra/launcher=parallel"),
    "hydra.sweeper.*": ("hydra.sweeper.max_batch_size=1",),
    "hydra.sweep.dir": ("hydra.sweep.dir=elsewhere",),
    "hydra.sweep.subdir": ("hydra.sweep.subdir=other",),
    "hydra.verbose": ("hydra.verbose=true",),
    "hydra.searchpath": ("hydra.searchpath=[file:///tmp]",),
    "name": ("name=mine",),
    "runs": ("runs=mine",),
    "runs of a folder": ("runs=mine", "hydra.sweep.dir=elsewhere"),
    "name of a folder": ("name=mine", "hydra.sweep.dir=elsewhere"),
    "group": ("group=mine",),
    "resume": ("resume=runs/mine",),
}


def observed(folder, words):
    """What train.py does with these words until it would train: the runs and where they go, or an error."""
    seen = {"code": 0}

    def single(composed, **_):
        seen["run"] = [str(composed.values[key]) for key in ("runs", "name", "group", "resume")]
        seen["level"] = logging.getLogger().level
        return training.Outcome(None, "finished", {}, 0)

    def launch(launcher, job_overrides, initial_job_idx):
        sweep = launcher.config.hydra.sweep
        jobs = [str(job_overrides), sweep.dir, OmegaConf.to_container(sweep, resolve=False)["subdir"]]
        seen["jobs"] = [re.sub(r"\d", "#", text) for text in jobs]
        seen["level"] = logging.getLogger().level
        raise SystemExit(0)

    def launch_as_ready(launcher, next_job, ended):
        seen["jobs"] = ["parallel", launcher.jobs]
        raise SystemExit(0)

    def instantiate(self, **given):  # of the launcher, not its class: Hydra may have made the class anew
        launcher = original(self, **given)
        own = launch_as_ready if hasattr(launcher, "launch_as_ready") else launch
        setattr(launcher, own.__name__, partial(own, launcher))
        return launcher

    original = Plugins.instantiate_launcher
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as errors:
        patch.chdir(folder)
        patch.setattr(training, "train", single)
        plan = SimpleNamespace(training=SimpleNamespace(monitor="loss"))
        patch.setattr(value_checks, "check_values", lambda *_: plan)
        patch.setattr(Plugins, "instantiate_launcher", instantiate)
        patch.setattr(sys, "argv", [str(ROOT / "train.py"), *words])
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            seen["code"] = end.code
        finally:
            GlobalHydra.instance().clear()
    return seen, errors.getvalue()


def everything(folder):
    """In a process of its own, because train.py changes the state of Hydra and of the log."""
    found, places = [], (folder / str(number) for number in itertools.count())
    for mode, words in MODES.items():
        alone, _ = observed(made(next(places)), words)
        for case, (override, *needed) in OVERRIDES.items():
            if override not in words:
                without = observed(made(next(places)), [*words, *needed])[0] if needed else alone
                having, errors = observed(made(next(places)), [*words, *needed, override])
                found.append([mode, case, having == without, having["code"], errors])
    (folder / "found.json").write_text(json.dumps(found))


def made(folder):
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_an_override_has_an_effect_or_is_refused(tmp_path):
    assert set(ALLOWED) <= OVERRIDES.keys()
    processes.run(everything, tmp_path)
    accepted = set()
    for mode, case, same, code, errors in json.loads((tmp_path / "found.json").read_text()):
        if code == 2:
            assert "command line: " in errors, (mode, case)
        else:
            assert not same, f"{mode}: {OVERRIDES[case]} is accepted and has no effect"
            accepted.add((mode, case))
    assert {("sweep", "name"), ("sweep", "hydra.launcher.*")} <= accepted
    assert {(mode, "hydra.sweep.dir") for mode in ("sweep", "other sweeper")} <= accepted


def test_commands_refuse_what_concerns_sweeps():
    for case in ALLOWED:
        with pytest.raises(UserError, match="has no effect here"):
            compose(OVERRIDES[case][:1])
    with pytest.raises(UserError, match="needs hydra/sweeper=durable"):
        check_effects(["search=tpe"], "other sweeper")


@pytest.mark.parametrize(
    ("typed", "ordered"),
    [
        ("trainer.threads=1 -m seed=1,2", "-m trainer.threads=1 seed=1,2"),
        ("seed=1 --config-dir mine mixer=x -m", "--config-dir mine -m seed=1 mixer=x"),
        ("seed=1 -cd mine ~mixer", "-cd mine seed=1 ~mixer"),
        ("seed=1 --info searchpath mixer=x", "--info searchpath seed=1 mixer=x"),
        ("--config-dir=mine seed=1 --cfg job", "--config-dir=mine --cfg job seed=1"),
        ("-m seed=1", "-m seed=1"),
    ],
)
def test_options_may_stand_between_overrides(typed, ordered):
    options, overrides = split_options(typed.split())
    assert [*options, *overrides] == ordered.split()


def test_the_sweeper_is_the_last_one_that_is_chosen():
    assert mode_of(["seed=1"]) == "run"
    assert mode_of(["seed=1", "--multirun"]) == "sweep"
    assert mode_of(["-m", "hydra/sweeper=basic"]) == "other sweeper"
    assert mode_of(["-m", "hydra/sweeper=basic", "hydra/sweeper=durable"]) == "sweep"
