"""The module and the data under a plain Trainer of Lightning, with its own callbacks, loggers and profiler."""

import json
import runpy
import warnings

import lightning
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.tuner import Tuner

import composer
from composer import UserError
from composer.runs import checkpoint
from tests.support import processes
from tests.support.paths import ROOT
from tests.support.runs import logged

pytestmark = pytest.mark.slow

SCRIPT = ROOT / "tests" / "training" / "lightning_script.py"
SMALL = ["data=copy", "data.length=6", "data.train_size=100", "data.valid_size=20", "model.dim=16", "mixer=gru",
         "training.batch=8", "training.decode_rows=4", "training.log_every=2"]  # fmt: skip


def quiet(**options):
    """A Trainer that writes nothing, unless it is told to."""
    plain = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return lightning.Trainer(**({"enable_checkpointing": False} | plain | options))


@pytest.fixture(autouse=True)
def noise():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning.*")
        yield


def script(folder):
    """The script of the docs; what it measured."""
    import os

    os.chdir(folder)
    names = runpy.run_path(str(SCRIPT))
    module, trainer, best = names["module"], names["trainer"], names["best"]
    found = {"loss": module.report["loss"], "tested": {k: float(v) for k, v in trainer.logged_metrics.items()}}
    found |= {"best": float(best.best_model_score), "file": best.best_model_path}
    (folder / "found.json").write_text(json.dumps(found))
    return 0


def test_the_script_of_the_docs_reaches_the_losses_of_train_py(tmp_path):
    assert len([line for line in SCRIPT.read_text().splitlines() if line]) <= 15
    assert SCRIPT.read_text() in (ROOT / "docs" / "training.md").read_text()
    done = processes.run(script, tmp_path)
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "found.json").read_text())
    overrides = ["data=copy", "data.length=6", "data.train_size=400", "model.dim=16", "mixer=gru"]
    same = [*overrides, "training.steps=40", "training.validate_every=7", "training.figures=false"]  # 7 steps an epoch
    processes.train_well([*same, f"runs={tmp_path}", "name=run"])
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert found["loss"] == facts["last"]["loss"]
    values = {line["step"]: line["valid/loss"] for line in logged(tmp_path / "run") if "valid/loss" in line}
    assert found["best"] == pytest.approx(min(value for step, value in values.items() if step % 7 == 0), rel=1e-6)
    assert found["tested"].keys() >= {"test/loss", "test/exact"}
    events = list((tmp_path / "lightning_runs").rglob("events.*"))
    assert len(events) >= 1


@pytest.fixture
def parts():
    return lambda *overrides: composer.compose([*SMALL, *overrides]).lightning()


def test_values_are_logged_under_their_names(parts):
    module, data = parts("training.ema=0.5")
    trainer = quiet(max_epochs=2)
    trainer.fit(module, data)
    names = {"train/loss", "train/learning_rate", "train/gradient_norm", "valid/loss", "valid/exact"}
    assert names <= trainer.logged_metrics.keys()
    assert names <= trainer.callback_metrics.keys()
    assert module.progress.step == trainer.global_step == module.steps == 26
    rate = trainer.lr_scheduler_configs[0].scheduler
    assert rate.last_epoch == 26
    assert float(trainer.logged_metrics["train/learning_rate"]) < 0.1 * rate.base_lrs[0]  # at the end of its cosine


@pytest.mark.parametrize("budget", ["training.batch=8", "training.batch_tokens=150"])
def test_lightnings_own_checkpoint_goes_on_to_the_weights_of_a_run_that_was_not_stopped(parts, tmp_path, budget):
    overrides = ("schedule=constant", "training.ema=0.9", "training.accumulate=2", "optimiser=sgd", budget)
    whole, data = parts(*overrides)
    quiet(max_steps=9).fit(whole, data)
    module, data = parts(*overrides)
    saved = ModelCheckpoint(tmp_path, monitor="valid/loss", save_last=True)
    quiet(max_steps=5, val_check_interval=5, check_val_every_n_epoch=None, callbacks=[saved],
          enable_checkpointing=True).fit(module, data)  # fmt: skip
    assert torch.load(saved.best_model_path, weights_only=True)["progress"]["step"] == 5
    again, data = parts(*overrides)
    quiet(max_steps=9, val_check_interval=5, check_val_every_n_epoch=None).fit(
        again, data, ckpt_path=saved.last_model_path
    )
    assert again.progress.step == 9
    for name, weight in whole.graph.state_dict().items():
        assert torch.equal(again.graph.state_dict()[name], weight), name
        assert torch.equal(again.average.means[name], whole.average.means[name]), name


def test_a_validation_with_an_average_measures_the_average(parts):
    module, data = parts("training.ema=0.9")
    trainer = quiet(max_steps=6)
    trainer.fit(module, data)
    weights = {name: weight.clone() for name, weight in module.graph.state_dict().items()}
    [averaged] = trainer.validate(module, data, verbose=False)
    assert all(torch.equal(module.graph.state_dict()[name], weight) for name, weight in weights.items())
    module.graph.load_state_dict(module.average.means)
    module.average = None
    [plain] = quiet().validate(module, data, verbose=False)
    assert averaged["valid/loss"] == pytest.approx(plain["valid/loss"], rel=1e-6)


def test_the_tuner_finds_a_learning_rate(parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module, data = parts()
    found = Tuner(quiet(max_steps=100)).lr_find(module, data, num_training=20, update_attr=False)
    assert len(found.results["lr"]) == len(found.results["loss"]) == 20


def test_a_trainer_without_a_logger_warns_of_no_value(parts):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        quiet(max_steps=4).fit(*parts())
    assert not [str(each.message) for each in found if "no logger" in str(each.message)]


def test_the_bar_shows_the_losses(parts):
    trainer = quiet(max_epochs=1)
    trainer.fit(*parts())
    assert trainer.progress_bar_metrics.keys() == {"train/loss", "valid/loss"}


class Places(lightning.Callback):
    """Where in the training data every step is, and the rows that it takes."""

    def __init__(self):
        self.seen, self.rows = [], []

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self.seen.append((batch.place["epoch"], batch.place["position"]))
        self.rows.append([row for part in batch.micro_batches for row in part.batch.origin.rows.tolist()])


def test_epochs_that_the_trainer_cuts_short_begin_with_rows_of_their_own(parts):
    module, data = parts("schedule=cosine")
    places = Places()
    trainer = quiet(max_epochs=3, limit_train_batches=2, callbacks=[places])
    trainer.fit(module, data)
    assert places.seen == [(epoch, batch) for epoch in range(3) for batch in (1, 2)]
    assert module.steps == module.progress.step == 6


def test_batches_to_overfit_are_the_same_in_every_epoch(parts):
    module, data = parts()
    places = Places()
    quiet(max_epochs=4, overfit_batches=1, callbacks=[places]).fit(module, data)
    assert len(places.rows) == 4
    assert len({tuple(rows) for rows in places.rows}) == 1


def test_a_share_of_a_split_can_be_evaluated(parts):
    module, data = parts("data.valid_size=40", "training.samples=0")
    trainer = quiet(max_epochs=1, limit_val_batches=0.5)
    trainer.fit(module, data)
    assert trainer.num_val_batches == [3], "of one batch of 4 decoded rows and 5 of 8 at most"


def test_a_module_that_is_fitted_again_goes_on(parts):
    module, data = parts()
    places = Places()
    trainer = quiet(max_epochs=1, callbacks=[places])
    trainer.fit(module, data)
    trainer.fit_loop.max_epochs = 2
    trainer.fit(module, data)
    assert module.steps == module.progress.step == len(places.seen)
    whole = Places()
    quiet(max_epochs=2, callbacks=[whole]).fit(*parts())
    assert places.seen == whole.seen
    assert places.rows == whole.rows


def test_data_without_a_validation_split_is_trained_on_without_a_warning(tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"{i} a b\t{i} b\n" for i in range(40)))
    overrides = ["data=pairs", f"data.path={tmp_path / 'pairs.tsv'}", "data.valid=0", "data.test=0"]
    module, data = composer.compose([*overrides, *SMALL[4:]]).lightning()
    trainer = quiet(max_steps=3)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        trainer.fit(module, data)
    assert module.progress.step == 3
    assert not [str(each.message) for each in found if "length" in str(each.message)]
    assert trainer.limit_val_batches == 1.0, "the Trainer may be used again"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"accumulate_grad_batches": 4}, r"accumulate_grad_batches=4\).*training\.accumulate=4"),
        ({"gradient_clip_val": 0.5}, r"gradient_clip_val=0\.5\).*training\.clip=0\.5"),
        (
            {"gradient_clip_val": 0.5, "gradient_clip_algorithm": "value"},
            r"gradient_clip_val=0\.5\).*training\.clip=null training\.clip_value=0\.5",
        ),
    ],
)
def test_what_the_module_does_itself_is_refused_with_the_key_of_the_config(parts, options, words):
    with pytest.raises(UserError, match=words):
        quiet(max_steps=2, **options).fit(*parts())


def test_config_train_does_what_train_py_does(tmp_path):
    config = composer.compose([*SMALL, "training.steps=2", "training.figures=false", f"runs={tmp_path}", "name=run"])
    assert config.values["training"]["steps"] == 2
    outcome = config.train()
    assert outcome.status == "finished"
    assert composer.load(outcome).step == 2  # an outcome stands for its folder
    assert repr(outcome).startswith(f"{tmp_path / 'run'}: finished")
    assert f"{outcome.values['valid/loss']:.4g}" in repr(outcome)
    assert checkpoint.load(tmp_path / "run" / "checkpoints" / "last.pt")["step"] == 2
