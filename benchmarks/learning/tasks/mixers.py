"""Reversing integers with every mixer of the catalogue: which of them learn it, and how soon."""

from __future__ import annotations

from benchmarks.learning.task import Contest, Ours, Task
from benchmarks.learning.tasks.reversing import MODEL, data
from composer.core import registry
from composer.core.block import Signature


def contests() -> tuple[Contest, ...]:
    """One for every mixer that can stand in a decoder: a model that looks ahead would see what it has to write."""
    found = []
    for name, block in registry.blocks("mixer").items():
        memory = Signature.of(block).ports.get("memory")
        if getattr(block, "causal", True) is False:
            continue
        overrides = [f"mixer={name}"]
        if memory is not None and not memory.optional:  # attention is inside the recurrence, in place of the cross slot
            overrides = [f"mixer@model.nodes.decoder.mixer={name}", "model.nodes.decoder.cross=null", "mixer=gru"]
        found.append(Contest(Ours(name, (*MODEL, *overrides)), ()))
    return tuple(found)


MIXERS = Task(
    name="mixers",
    title="Reversing with every mixer",
    description="The task of the first section with every mixer of the catalogue in both stacks, at the default rate. "
    "BLEU is measured every 30 steps, and a run ends when BLEU has reached 0.95. "
    "Bidirectional and fourier are not here: they look ahead, so that they can stand in an encoder alone. "
    "rnnsearch stands in the decoder, behind an encoder of GRUs. "
    "Every mixer learns the task. How soon probably depends on what a mixer shows a step of its neighbours: "
    "conv needs by far the fewest steps: with the neighbours inside every source step, cross-attention finds the next "
    "integer by the integer that was written last. Gated recurrences and state spaces carry the neighbours, too. "
    "Attention first has to learn where to look, and the forms with smoother weights take longer (linear, additive, "
    "simple). identity shows no neighbour, so that only counting positions helps; pooling averages both neighbours, "
    "which hides which of them is to the left. sliding_window and sparse are attention here: their windows are longer "
    "than the sequences.",
    data=data,
    contests=contests(),
    figures=("loss", "token_accuracy", "bleu"),
    measured=20,
    goal=("bleu", 0.95),
    usual=False,
)
