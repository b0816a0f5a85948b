"""Several processes with a share of the batch each do what one does with all of it. Real processes, over gloo."""

import json

import pytest
import torch

from composer.runs import checkpoint
from tests.support import processes
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

#: A bias of attention's keys cancels in the softmax: its gradient is nothing but rounding, which Adam with a tiny eps
#: blows up to whole steps in either direction. With this eps, only what is learned is compared.
EPS = "optimiser.eps=1e-5"

STEPS = 6
SHALLOW = ["model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1"]

#: Ragged rows, so that processes have different numbers of tokens; an odd number of rows for validation.
BASE = [
    "data=copy", "data.train_size=100", "data.valid_size=23", "data.min_length=2", "data.length=9", "model.dim=16",
    f"training.steps={STEPS}", "training.batch=8", "training.validate_every=3", "training.figures=false",
    "trainer.accelerator=cpu", "trainer.threads=1", EPS,
]  # fmt: skip
MODELS = {
    "rnn": ["mixer=lstm", "position=none", *SHALLOW],
    "transformer": ["mixer.heads=2", "training.clip=null", "training.clip_value=0.001"],
    "sampled": ["mixer=gru", "training.scheduled_sampling.rate=0.8", *SHALLOW],
    "hybrid": ["experiment=hybrid"],
    # the head computes the chosen steps alone
    "masked": ["model=tagger", "objective=masked_token", "mixer.heads=2", SHALLOW[0]],
    "shared": ["mixer.heads=2", "model.nodes.encoder.share=true", "model.nodes.decoder.share=true"],
    # a batch leaves some weights without a gradient, and the load of the experts has a loss of its own
    "experts": ["ffn=mixture_of_experts", "ffn.balance=0.1", *SHALLOW],
}


def outcome(folder):
    content = checkpoint.load(folder / "checkpoints" / "last.safetensors")
    assert content["step"] == STEPS
    facts = json.loads((folder / "run.json").read_text())
    return content["model"], facts["result"] | {"examples": facts["last"]["examples"]}


@pytest.fixture
def alone(shared):
    """Each model trained by one process."""
    return lambda name: outcome(shared.run(processes.train_well, [*BASE, *MODELS[name]]))


def assert_agree(found, wanted):
    for name, weight in wanted[0].items():
        torch.testing.assert_close(found[0][name], weight, atol=1e-5, rtol=0, msg=lambda text, name=name: name + text)
    for name, value in wanted[1].items():
        assert found[1][name] == pytest.approx(value, abs=1e-4, nan_ok=True), name


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("rnn", "ddp"),
        ("transformer", "fsdp"),
        ("hybrid", "fsdp"),
        ("masked", "ddp"),
        ("masked", "fsdp"),
        ("sampled", "ddp"),
        ("shared", "fsdp"),
        ("experts", "ddp"),
        ("experts", "fsdp"),
    ],
)
def test_two_processes_reach_the_weights_of_one(alone, tmp_path, name, strategy):
    overrides = [*BASE, *MODELS[name], f"trainer={strategy}", "trainer.devices=2", f"runs={tmp_path}", "name=two"]
    done = processes.train_on(2, overrides)
    assert [each.code for each in done] == [0, 0]
    assert_agree(outcome(tmp_path / "two"), alone(name))


@pytest.mark.parametrize("name", ["transformer", "masked", "experts", "sampled"])
def test_parts_of_a_batch_reach_the_weights_of_the_whole(alone, tmp_path, name):
    overrides = [*BASE, *MODELS[name], "training.accumulate=3", f"runs={tmp_path}", "name=parts"]
    assert processes.run(processes.train, overrides).code == 0
    assert_agree(outcome(tmp_path / "parts"), alone(name))


def test_the_program_begins_its_processes_itself(alone, tmp_path):
    command = [ROOT / "train.py", *BASE, *MODELS["rnn"], "trainer=ddp", "trainer.devices=2"]
    done = processes.program([*command, f"runs={tmp_path}", "name=two"], tmp_path)  # the second one is not a fork
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["two"]
    assert done.stdout.count("run       ") == 2  # at the start and at the end, once
    assert_agree(outcome(tmp_path / "two"), alone("rnn"))


def test_one_process_goes_on_with_what_two_began(alone, tmp_path):
    overrides = [*BASE, *MODELS["transformer"], "trainer=fsdp", "trainer.devices=2", "training.steps=4"]
    done = processes.train_on(2, [*overrides, "schedule=constant", f"runs={tmp_path}", "name=two"])
    assert [each.code for each in done] == [0, 0]
    again = [f"resume={tmp_path / 'two'}", "trainer=cpu", "trainer.threads=1", f"training.steps={STEPS}"]
    assert processes.run(processes.train, again).code == 0
    straight = [*BASE, *MODELS["transformer"], "schedule=constant", f"runs={tmp_path}", "name=one"]
    assert processes.run(processes.train, straight).code == 0
    assert_agree(outcome(tmp_path / "two"), outcome(tmp_path / "one"))
