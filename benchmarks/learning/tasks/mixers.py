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
    "rnnsearch and luong stand in the decoder, behind an encoder of GRUs. "
    "Every mixer learns the task; the figures are of one seed. "
    "The reference is the best of the general mixers, 210 steps (mingru, minlstm, rg_lru, s4d), and the limit is 1.5 "
    "times that, 315 steps. conv, with 120, is not the reference, because its form suits the task: with the neighbours "
    "inside every source step, cross-attention finds the next integer by the integer that was written last. "
    "Within the limit are the gated recurrences and state spaces (210 to 270), which carry the neighbours, too, and "
    "attention, sliding_window, sparse, retention and rnn (300). sliding_window and sparse are attention here: their "
    "windows are longer than the sequences. "
    "Seven mixers are beyond the limit. The steps are measured; the reasons are our explanations. A variant is called "
    "no faster by its training loss over 200 to 380 steps of one run (that of rnnsearch by its BLEU). "
    "identity (330) mixes nothing, so that both layers of cross-attention are needed to find an integer and the "
    "one before it; it is the baseline. simple_attention (360) has no parameters, and a normalised step fits itself so "
    "much better than any other that the mixer starts as the identity; a score divided by the root of the width is no "
    "faster. pooling (360) reaches 0.90 after 210 steps and is slow from there on: it has no parameter that could undo "
    "its blur. A window of 2, which tells left from right, is no faster. rnnsearch (360) has a single head of additive "
    "attention in each layer; the GRU's initialisation and larger scores give 360, too. luong (330) was not "
    "looked into. linear_attention (390) and "
    "additive_attention (420) have smooth weights, from which a single neighbour is hard to pick; larger weights "
    "at initialisation made neither faster.",
    data=data,
    contests=contests(),
    figures=("loss", "token_accuracy", "bleu"),
    measured=20,
    goal=("bleu", 0.95),
    usual=False,
)
