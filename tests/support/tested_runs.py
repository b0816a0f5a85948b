"""Run folders without training whose test examples have known losses."""

from pathlib import Path

import torch

from composer.metrics import Evaluation, find_metric
from composer.metrics.evaluation import Score
from composer.training.run.example_records import SeenExamples, write_records
from tests.support.runs import write_run


def write_tested(
    folder: Path, arm, seed, losses, *, lengths=None, content="the data", trained=(1, 9), valid=1.0, config=()
):
    """A run whose test loss is the mean of ``losses``, one an example."""
    losses = torch.as_tensor(losses, dtype=torch.float64)
    loss = float(losses.mean())
    test = {"loss": {"value": loss, "low": loss, "high": loss}}
    write_run(folder, [f"mixer={arm}"], valid, seed, config=config, arm=arm, test=test)
    write_examples(folder / "test_examples.npz", losses, lengths=lengths, content=content, trained=trained)
    return folder


def write_examples(path: Path, losses, *, lengths=None, content="the data", trained=(1, 9)):
    seen = SeenExamples(())
    seen.rows = [torch.arange(len(losses))]
    seen.lengths = [torch.as_tensor(lengths) if lengths is not None else torch.full((len(losses),), 4)]
    seen.digests = [f"{content} {row}".encode() for row in range(len(losses))]
    write_records(path, 100, seen, evaluation(losses), main={"loss"}, trained=trained)


def evaluation(losses):
    statistics = torch.stack([losses, torch.ones_like(losses)], dim=1)
    scores = {"loss": Score({"output": find_metric("loss")(None)})}
    return Evaluation({"loss": float(losses.mean())}, [], {"loss": statistics}, scores)
