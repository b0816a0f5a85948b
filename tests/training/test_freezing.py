"""Frozen nodes: bit-identical weights after training with everything that could change them, and unfreezing in time."""

import pytest
import torch

from composer.config.composition import compose
from composer.runs import checkpoint
from composer.training.run.plan import prepare
from composer.training.run.train import materialise
from tests.support import processes

pytestmark = pytest.mark.slow

#: Everything that changes weights: weight decay, momentum, the moving average, parts of a batch.
BASE = [
    "data=copy", "data.train_size=64", "data.valid_size=8", "data.length=6", "model=seq2seq", "model.dim=8",
    "mixer.heads=2", "training.batch=8", "training.accumulate=2",
    "model.nodes.decoder.depth=1",
    "training.validate_every=3", "training.checkpoint_every=2", "training.ema=0.5", "training.figures=false",
    "training.decode_rows=0", "training.samples=0", "trainer.threads=1", "optimiser.weight_decay=0.5",
    "schedule=constant", "trainer.accelerator=cpu", "optimiser.eps=1e-5",
]  # fmt: skip
SEQ2SEQ = [*BASE, "model.nodes.encoder.depth=1"]
OTHERS = {"target_embedding", "decoder", "output"}
FREEZE = ["init.freeze=[source_embedding,encoder]"]


def begin(folder, name, *more, world=1):
    overrides = [*SEQ2SEQ, *more, f"runs={folder}", f"name={name}"]
    if world == 1:
        assert processes.run(processes.train, overrides).code == 0
    else:
        assert [done.code for done in processes.train_on(world, [*overrides, f"trainer.devices={world}"])] == [
            0
        ] * world
    return checkpoint.load(folder / name / "checkpoints" / "last.safetensors")


def changed(before, after, part="model"):
    """The nodes of which some weight differs."""
    return {
        name.split(".")[1] for name, tensor in before["model"].items() if not torch.equal(tensor, after[part][name])
    }


@pytest.fixture(scope="module")
def initial():
    """The weights before any step."""
    return {"model": materialise(prepare(compose(SEQ2SEQ))).state_dict()}


@pytest.mark.parametrize("strategy", ["single", "ddp", "fsdp"])
def test_frozen_weights_stay_as_they_were_to_the_bit_until_they_are_unfrozen(tmp_path, initial, strategy):
    more = [] if strategy == "single" else [f"trainer={strategy}"]
    world = 1 if strategy == "single" else 2
    for end, learning in ((4, OTHERS), (3, OTHERS | {"encoder"})):
        later = [*FREEZE, f"init.unfreeze_after={{encoder: {end}}}", "training.steps=4"]
        done = begin(tmp_path, f"until_{end}", *later, *more, world=world)
        for part in ("model", "average"):
            assert changed(initial, done, part) == learning
        assert {name.split(".")[1] for name in done["optimiser"]} == learning


def test_a_resumed_run_freezes_and_unfreezes_as_one_that_was_never_stopped(tmp_path):
    later = [*FREEZE, "init.unfreeze_after={encoder: 4}"]
    straight = begin(tmp_path, "straight", *later, "training.steps=6")
    begin(tmp_path, "run", *later, "training.steps=3")
    for steps in (5, 6):  # stopped before the encoder learns, and after
        again = [f"resume={tmp_path / 'run'}", f"training.steps={steps}"]
        assert processes.run(processes.train, again).code == 0
    resumed = checkpoint.load(tmp_path / "run" / "checkpoints" / "last.safetensors")
    for part in ("model", "average"):
        assert all(torch.equal(tensor, resumed[part][name]) for name, tensor in straight[part].items())


def test_a_frozen_node_runs_in_evaluation_mode(tmp_path):
    """With dropout in no node but the frozen one, its rate changes nothing."""
    runs = [
        begin(tmp_path, str(rate), *FREEZE, f"model.nodes.encoder.dropout={rate}", "training.steps=3")
        for rate in (0.0, 0.5)
    ]
    assert changed(*runs) == set()


def test_weights_that_a_frozen_node_shares_are_frozen_in_the_other_node(tmp_path):
    tied = [*BASE, "model=language_model", "objective=next_token", "model.nodes.output.tied=embedding"]
    before = materialise(prepare(compose(tied))).state_dict()
    processes.train_well([*tied, "init.freeze=[embedding]", "training.steps=3", f"runs={tmp_path}", "name=run"])
    after = checkpoint.load(tmp_path / "run" / "checkpoints" / "last.safetensors")["model"]
    assert torch.equal(before["nodes.output.project.weight"], after["nodes.output.project.weight"])
    assert not torch.equal(before["nodes.output.project.bias"], after["nodes.output.project.bias"])
