"""A run that is killed at any instant goes on to the same weights and metrics, bit for bit, as one that never was."""

import json
import os
import shutil
import signal
import time

import pytest

from composer.config.composition import compose
from composer.runs import checkpoint, checkpoint_file
from composer.runs.resume import resumed
from tests.support import processes
from tests.support.paths import ROOT
from tests.support.runs import logged
from tests.support.trees import assert_same

pytestmark = pytest.mark.slow

#: Small, and with everything that has a state: dropout's draws, a running mean, parts of a batch, a plateau, and draws
#: of scheduled sampling.
BASE = [
    "data=copy", "data.train_size=100", "data.valid_size=20", "data.length=6", "model.dim=16", "mixer.heads=2",
    "training.steps=16", "training.batch=8", "training.accumulate=2", "training.checkpoint_every=5",
    "training.validate_every=8", "training.decode_rows=4", "training.ema=0.9", "training.log_every=3",
    "training.figures=false", "trainer.threads=1", "training.scheduled_sampling.rate=0.5",
    "schedule=plateau", "schedule.patience=1", "model.nodes.encoder.dropout=0.1",
    "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1",
]  # fmt: skip
CARRY = [
    "data=text", "model=language_model", "mixer=gru", "model.dim=16", "data.length=8", "training.steps=16",
    "training.batch=4", "training.carry=true", "training.checkpoint_every=5", "training.validate_every=8",
    "training.figures=false", "model.nodes.decoder.dropout=0.1", "model.nodes.decoder.depth=1",
]  # fmt: skip
MIXED = [
    "data=mixture", "data.each.type=text", "data.each.length=64", "data.weights.news=0.3", "data.weights.books=0.7",
    "model=language_model", "model.dim=16", "mixer.heads=2", "training.steps=16", "training.batch=4",
    "training.checkpoint_every=5", "training.validate_every=8", "training.figures=false",
    "model.nodes.decoder.dropout=0.1", "model.nodes.decoder.depth=1",
]  # fmt: skip
SAMPLED = [
    "experiment=word2vec", "data=text", "data.length=16", "data.tokeniser.min_count=null", "model.dim=8",
    "objective.subsample=0.1", "training.epochs=null", "training.steps=16", "training.batch=32",
    "training.checkpoint_every=5", "training.validate_every=8", "training.figures=false",
]  # fmt: skip
#: Callbacks with states: one of Lightning's, and one of a plugin under a name of the user's.
CALLBACKS = [
    *BASE, f"plugins=[{ROOT / 'tests' / 'fixtures' / 'doors' / 'doors.py'}]",
    "callbacks=[early_stopping,learning_rate_monitor]", "callbacks.mean.type=smoothed", "callbacks.mean.share=0.3",
]  # fmt: skip


def weights(folder):
    """All that has to be the same."""
    content = checkpoint.load(folder / "checkpoints" / "last.pt")
    assert content["step"] == 16
    return {key: content[key] for key in ("model", "average", "optimiser", "schedule", "ranks", "callbacks")} | {
        "place": content["progress"]["place"],
        "best": content["progress"]["best"],
    }


def spend(folder):
    """Let a killed run have taken many more seconds than its run.json says."""
    file = folder / "run.json"
    facts = json.loads(file.read_text())
    facts["seconds"] += 1000
    file.write_text(json.dumps(facts))
    return facts["seconds"]


@pytest.fixture(scope="module")
def configs(shared):
    """The overrides of each run."""
    sentence = "the quick brown fox jumps over the lazy dog, again and again. "
    folder = shared.folder("text to resume on", lambda folder: (folder / "text.txt").write_text(sentence * 40))
    news = shared.folder("news to resume on", lambda folder: (folder / "news.txt").write_text(sentence.upper() * 20))
    sources = [f"data.sources.news={news / 'news.txt'}", f"data.sources.books={folder / 'text.txt'}"]
    text = f"data.path={folder / 'text.txt'}"
    return {"plain": BASE, "callbacks": CALLBACKS, "carry": [*CARRY, text], "mixed": [*MIXED, *sources],
            "sampled": [*SAMPLED, text]}  # fmt: skip


@pytest.fixture(scope="module")
def uninterrupted(shared, configs):
    """The run of a config that nothing happened to."""
    return lambda name: shared.run(processes.train_well, configs[name])


def killed_after_step(overrides, step):
    from composer.training.module import TrainingModule

    after = TrainingModule.on_train_batch_end  # which comes after that of the callbacks

    def end(self, *arguments):
        if self.progress.step == step:
            os.kill(os.getpid(), signal.SIGKILL)
        after(self, *arguments)

    TrainingModule.on_train_batch_end = end
    return processes.train(overrides)


def killed_in_write(overrides, number, share):
    """Dies in the middle of writing the checkpoint of this number."""
    save, calls = checkpoint_file.serialize_file, []

    def torn(entries, file, metadata):
        calls.append(0)
        save(entries, file, metadata)
        if len(calls) == number:
            os.truncate(file, int(file.stat().st_size * share))
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint_file.serialize_file = torn
    return processes.train(overrides)


def killed_in_log(overrides, number):
    """Dies while it writes a line of figures, and leaves half of it."""
    from composer.training.run.record import RunRecorder

    append, calls = RunRecorder._append, []

    def torn(self, path, lines):
        calls.append(0)
        if len(calls) == number:
            with path.open("a") as file:
                file.write(lines[0][: len(lines[0]) // 2])
                file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        append(self, path, lines)

    RunRecorder._append = torn
    return processes.train(overrides)


@pytest.mark.parametrize(
    ("name", "how", "arguments"),
    [
        ("plain", killed_after_step, (7,)),  # two steps after a checkpoint, within an epoch
        ("plain", killed_after_step, (14,)),  # in the second epoch
        ("plain", killed_in_write, (2, 0.5)),  # the temporary file is torn
        ("plain", killed_in_write, (3, 1.0)),  # written, not yet renamed
        ("plain", killed_in_log, (6,)),
        ("callbacks", killed_after_step, (12,)),  # between two validations
        ("carry", killed_after_step, (12,)),
        ("mixed", killed_after_step, (14,)),  # in the second epoch, which has other rows
        ("sampled", killed_after_step, (12,)),  # negatives are drawn
    ],
)
def test_a_killed_run_goes_on_to_the_same_weights(uninterrupted, configs, tmp_path, name, how, arguments):
    overrides = [*configs[name], f"runs={tmp_path}", "name=killed"]
    assert processes.run(how, overrides, *arguments).code == -signal.SIGKILL
    folder = tmp_path / "killed"
    spent = spend(folder)
    plugins = [override for override in overrides if override.startswith("plugins=")]
    assert processes.run(processes.train, [f"resume={folder}", *plugins]).code == 0
    assert json.loads((folder / "run.json").read_text())["seconds"] >= spent, "the seconds of the killed start are lost"
    assert_same(weights(folder), weights(uninterrupted(name)))
    assert logged(folder) == logged(uninterrupted(name))
    assert not list((folder / "checkpoints").glob(".*")), "what was half-written is still there"


def test_a_run_killed_before_its_first_checkpoint_begins_anew(uninterrupted, tmp_path):
    overrides = [*BASE, f"runs={tmp_path}", "name=killed"]
    assert processes.run(killed_after_step, overrides, 2).code == -signal.SIGKILL
    assert processes.run(processes.train, [f"resume={tmp_path / 'killed'}"]).code == 0
    assert_same(weights(tmp_path / "killed"), weights(uninterrupted("plain")))


def test_a_run_killed_from_outside_goes_on(uninterrupted, tmp_path):
    """By another process, at whatever instant."""
    running = processes.Running(processes.train, [*BASE, f"runs={tmp_path}", "name=killed"])
    last = tmp_path / "killed" / "checkpoints" / "last.safetensors"
    while not last.exists():
        assert running.process.is_alive(), running.join().err
        time.sleep(0.005)
    running.process.kill()
    running.join()
    if checkpoint.load(last)["step"] < 16:
        assert processes.run(processes.train, [f"resume={tmp_path / 'killed'}"]).code == 0
    assert_same(weights(tmp_path / "killed")["model"], weights(uninterrupted("plain"))["model"])


def stopped_by(overrides, number, step):
    from composer.training.module import TrainingModule

    count = TrainingModule.count

    def counted(self, *arguments):
        count(self, *arguments)
        if self.progress.step == step:
            os.kill(os.getpid(), number)

    TrainingModule.count = counted
    return processes.train(overrides)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_once_and_ends_cleanly(uninterrupted, tmp_path, number):
    overrides = [*BASE, f"runs={tmp_path}", "name=stopped"]
    said = processes.run(stopped_by, overrides, number, 11)
    assert said.code == 128 + number
    assert said.out.count("stopped, and saved") == 1
    assert "Traceback" not in said.err
    folder = tmp_path / "stopped"
    assert checkpoint.load(folder / "checkpoints" / "last.pt")["step"] == 11
    assert '"status": "stopped"' in (folder / "run.json").read_text()
    assert processes.run(processes.train, [f"resume={folder}"]).code == 0
    assert_same(weights(folder), weights(uninterrupted("plain")))
    assert logged(folder) == logged(uninterrupted("plain"))


def test_same_seed_same_weights(uninterrupted, tmp_path):
    assert processes.run(processes.train, [*BASE, f"runs={tmp_path}", "name=again"]).code == 0
    assert_same(weights(tmp_path / "again"), weights(uninterrupted("plain")))


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("mixer=lstm", "a run goes on as it was begun"),
        ("training.steps=16", "has taken its 16 steps"),
        ("training.stepz=20", "Did you mean 'steps'?"),
    ],
)
def test_what_cannot_change_in_a_resumed_run_is_refused(uninterrupted, override, words):
    done = processes.run(processes.train, [f"resume={uninterrupted('plain')}", override])
    assert done.code == 2
    assert words in done.err


def test_a_resumed_run_can_do_without_a_logger():
    begun = compose(["logger=[csv,tensorboard]"])
    again = resumed(compose(["~logger.csv", "+logger.wandb={mode: offline}"]), begun.written()).values["logger"]
    assert {name: bool(keys) for name, keys in again.items()} == {"tensorboard": False, "wandb": True}


def test_a_run_goes_on_for_longer(uninterrupted, tmp_path):
    shutil.copytree(uninterrupted("plain"), tmp_path / "longer")
    assert processes.run(processes.train, [f"resume={tmp_path / 'longer'}", "training.steps=20"]).code == 0
    assert checkpoint.load(tmp_path / "longer" / "checkpoints" / "last.pt")["step"] == 20


def test_other_data_is_refused(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox jumps over the lazy dog " * 40)
    overrides = [*CARRY, f"data.path={text}", f"runs={tmp_path}", "name=changed"]
    assert processes.run(killed_after_step, overrides, 12).code == -signal.SIGKILL
    shutil.copytree(tmp_path / "changed", tmp_path / "copy")
    text.write_text("THE QUICK brown fox jumps over the lazy dog " * 40)
    done = processes.run(processes.train, [f"resume={tmp_path / 'copy'}"])
    assert done.code == 2
    assert "the data has changed since the run began" in done.err
    assert "'target': its vocabulary had" in done.err
