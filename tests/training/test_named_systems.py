"""Experiments that are named after a system train as they stand, and their models translate."""

import pytest
import torch

import composer
from tests.support import processes

SMALL = [
    "data.train_size=60", "data.valid_size=8", "data.symbols=5", "data.length=4", "model.dim=16", "training.steps=3",
    "training.batch=8", "training.validate_every=3", "training.figures=false", "trainer.threads=1",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["sutskever", "bahdanau", "luong"])
def test_a_recurrent_translator_trains_and_generates(experiment, shared):
    folder = shared.run(processes.train_well, [f"experiment={experiment}", *SMALL])
    model = composer.load(folder)
    assert all(torch.isfinite(parameter).all() for parameter in model.graph.parameters())
    assert len(model.generate(["1 2 3", "4"])) == 2
