"""Errors of a training run in one sentence: which step, which node or file, what the user can do."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from composer.core.problems import UserError
from composer.core.signals import Ids, Label, Signal, Timed
from composer.graph.graph import Graph

#: How the errors of a loss and of a gradient that are NaN or infinite begin, and how that of bad data goes on.
LOSS, GRADIENT, DATA = "the loss is not finite", "the gradient is not finite", "the data is not, "


def diverged(reason: str) -> bool:
    """Whether a run that ended for this reason diverged: it failed by its own numbers, and not by those of its data."""
    text = " ".join(reason.split())
    return text.startswith((LOSS, GRADIENT)) and DATA not in text


@torch.no_grad()
def not_finite(graph: Graph, inputs: Mapping[str, Signal], step: int) -> UserError:
    """The error for a loss that is NaN or infinite: names the first non-finite place, from the data to the heads."""
    advice = "Lower optimiser.learning_rate, set training.clip, or look at the data."
    head = f"{LOSS} at step {step}: "
    for name, signal in inputs.items():
        if not isinstance(signal, Ids | Label) and not _finite(signal):
            return UserError(f"{head}{DATA}its field '{name}' holds nan or inf. Mend the data.")
    for name, parameter in graph.named_parameters():
        if not bool(parameter.isfinite().all()):
            return UserError(f"{head}the weights '{name.removeprefix('nodes.')}' are not. {advice}")
    signals = dict(inputs)
    for node in graph.walk(signals):
        if not _finite(signals[node.name]):
            return UserError(f"{head}node '{node.name}' is the first whose output is not. {advice}")
    heads = ", ".join(each.name for each in graph.heads)
    return UserError(f"{head}every node's output is finite, so it is the loss itself, of {heads}. {advice}")


def gradient_not_finite(graph: Graph, step: int) -> UserError:
    """The error for a gradient that is NaN or infinite.

    It names the last such node in the graph's order, because the backward pass reaches that node first.
    """
    bad = [
        name
        for name, module in graph.nodes.items()
        if any(p.grad is not None and not bool(p.grad.isfinite().all()) for p in module.parameters())
    ]
    where = f"node '{bad[-1]}' is the first, from the loss backwards, whose gradient is not" if bad else "no node's is"
    return UserError(f"{GRADIENT} at step {step}: {where}. Lower optimiser.learning_rate, or look at the data.")


def _finite(signal: Signal) -> bool:
    values: Tensor = signal.filled() if isinstance(signal, Timed) else signal.values
    return bool(values.isfinite().all())


@contextmanager
def memory_errors(model: nn.Module) -> Iterator[None]:
    """Turn out-of-memory errors into a ``UserError``, because smaller batches or other settings avoid them."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise out_of_memory(model) from error
    except RuntimeError as error:
        if "can't allocate memory" in str(error) or "not enough memory" in str(error):
            raise out_of_memory(model) from error
        raise


def out_of_memory(model: nn.Module) -> UserError:
    count = sum(parameter.numel() for parameter in model.parameters())
    return UserError(
        f"out of memory, with a model of {count:,} parameters. Lower training.batch (or training.batch_tokens), raise "
        "training.accumulate, set trainer.recompute=true, or shorten the sequences."
    )


#: Errors of a disk: full, over its quota, a file too large for it, failing, or read-only.
DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the disk into a ``UserError``, wherever a run writes."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK:
            raise
        where = error.filename or folder
        raise UserError(
            f"cannot write '{where}': {error.strerror}. Make room, then go on with resume={folder}."
        ) from error
