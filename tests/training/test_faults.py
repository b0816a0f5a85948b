"""What goes wrong while a model trains is one clear sentence and exit code 2, and costs nothing that was saved."""

import json
import os

import pytest
import torch

from composer.runs import checkpoint
from tests.support import processes

pytestmark = pytest.mark.slow

BASE = [
    "data=copy", "data.train_size=100", "data.valid_size=20", "data.length=6", "model.dim=16", "mixer=gru",
    "training.steps=12", "training.batch=8", "training.checkpoint_every=3", "training.validate_every=4",
    "training.decode_rows=4", "training.figures=false",
]  # fmt: skip
SHALLOW = [*BASE, "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1"]
NAMED = [*SHALLOW, "name=run"]


def failed(done, *words):
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err
    return done


def poisoned(overrides, step, where):
    """The weights of a node are spoiled at a step, as a division by zero would."""
    from composer.training.module import TrainingModule

    def begin(self, *_):
        if self.progress.step == step - 1:
            nodes = self.graph.nodes
            if where == "weights":
                next(nodes["encoder"].parameters()).data[0] = torch.nan
            else:
                forward = nodes["decoder"].forward
                nodes["decoder"].forward = lambda *a, **k: _divided(forward(*a, **k))

    TrainingModule.on_train_batch_start = begin
    return processes.train(overrides)


def _divided(result):
    y, state = result
    return y.like(y.values / 0.0), state


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("weights", "the weights 'encoder.layers.0"),
        ("output", "node 'decoder' is the first whose output is not"),
    ],
)
def test_a_loss_that_is_no_number_names_the_step_and_the_node(tmp_path, where, words):
    done = processes.run(poisoned, [*NAMED, f"runs={tmp_path}"], 8, where)
    failed(done, "the loss is not finite at step 8", words, "optimiser.learning_rate")
    folder = tmp_path / "run"
    assert checkpoint.load(folder / "checkpoints" / "last.safetensors")["step"] == 6
    facts = json.loads((folder / "run.json").read_text())
    assert facts["status"] == "failed"
    assert "step 8" in facts["reason"]


def test_a_gradient_that_is_no_number_is_found_before_it_spoils_the_weights(tmp_path):
    done = processes.run(_exploding, [*NAMED, f"runs={tmp_path}"])
    failed(done, "the gradient is not finite at step 5", "node 'decoder'")


def _exploding(overrides):
    from composer.training.module import TrainingModule

    whole = TrainingModule.loss

    def loss_of(self, *arguments):
        loss = whole(self, *arguments)
        if self.progress.step == 4:
            weight = next(self.graph.nodes["decoder"].parameters())
            loss = loss + (weight.sum() * 0).sqrt()  # the root has no slope at zero
        return loss

    TrainingModule.loss = loss_of
    return processes.train(overrides)


def test_numbers_in_the_data_that_are_none_are_the_datas_fault(tmp_path):
    rows = "".join(f"{i % 7},{'inf' if i == 150 else i % 5}\n" for i in range(300))
    (tmp_path / "series.csv").write_text("a,b\n" + rows)
    done = processes.run(
        processes.train,
        [
            "data=series", f"data.path={tmp_path}/series.csv", "model=seq2seq", "head=gaussian", "embedding=continuous",
            "model.dim=16", "training.steps=100", f"runs={tmp_path / 'runs'}", "name=run",
        ],
    )  # fmt: skip
    assert done.code == 2
    assert "'inf'. Only finite numbers" in done.err
    assert "Traceback" not in done.err


def full(overrides, limit):
    """A device that has no room: every file of this process may grow to so many bytes and no further."""
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return processes.train(overrides)


def test_no_room_for_a_checkpoint_leaves_the_one_before(shared, tmp_path):
    shared.copy(shared.run(processes.train_well, SHALLOW), tmp_path)
    last = tmp_path / "run" / "checkpoints" / "last.safetensors"
    before = last.read_bytes()
    done = processes.run(full, [f"resume={tmp_path / 'run'}", "training.steps=30"], len(before) // 2)
    failed(
        done, "cannot write the checkpoint", "last.safetensors", "The file still holds the checkpoint before it, whole."
    )
    assert last.read_bytes() == before
    assert not list(last.parent.glob(".*"))
    assert processes.run(processes.train, [f"resume={tmp_path / 'run'}", "training.steps=30"]).code == 0


def starved(overrides):
    """Less memory than the model needs."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    return processes.train(overrides)


def test_no_memory_says_what_to_lower(tmp_path):
    done = processes.run(starved, [*NAMED, "training.batch=100", "model.dim=40000", f"runs={tmp_path}"])
    failed(done, "out of memory", "training.batch", "training.accumulate", "trainer.recompute")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["position=learned", "position.limit=4", "mixer=attention"], ["'source' of example", "positions for 4"]),
        (["runs=/proc/none"], ["cannot make the run's folder"]),
        (["resume=nowhere"], ["there is no run 'nowhere'"]),
        (["training.epochs=2"], ["so many steps or so many epochs", "both are set"]),
        (["training.batch=null"], ["neither how many rows nor how many tokens"]),
        (["optimiser=adamm"], ["Did you mean 'adam'?"]),
        (["optimiser.momentum=0.9"], ["optimiser.momentum"]),
        (["schedule.final=2"], ["schedule.final", "at most 1"]),
        (["trainer=gpu"], ["No GPU found. Use trainer=cpu, or check the driver."]),
        (["trainer.devices=2"], ["need trainer=ddp"]),
        (["trainer.precision=float16"], ["float16 needs a GPU"]),
        (["training.carry=true"], ["training.carry", "reads nothing but what it generates"]),
        (["model=language_model", "objective=next_token", "mixer=attention", "training.carry=true"], ["grows"]),
        (
            ["model=language_model", "objective=next_token", "training.carry=true"],
            ["training.carry   command line: training.carry=true", "do not follow each other"],
        ),
        (["training.scheduled_sampling.rate=2"], ["training.scheduled_sampling.rate", "at most 1"]),
        (["training.scheduled_sampling.start=0.5"], ["training.scheduled_sampling.start", "the rate is 0"]),
        (
            ["training.scheduled_sampling.rate=0.5", "trainer=fsdp", "trainer.devices=2"],
            ["training.scheduled_sampling.rate", "does not go with trainer=fsdp"],
        ),
        (["logger=wandd"], ["Did you mean 'wandb'?"]),
    ],
)
def test_bad_input_is_said_before_anything_is_written(tmp_path, overrides, words):
    done = processes.run(processes.train, [*BASE, "name=run", f"runs={tmp_path / 'runs'}", *overrides])
    failed(done, *words)
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


def test_a_folder_that_is_taken_is_not_written_over(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("years of work")
    failed(processes.run(processes.train, [*NAMED, f"runs={tmp_path}"]), "Choose another name")
    assert os.listdir(tmp_path / "run") == ["thesis.tex"]
