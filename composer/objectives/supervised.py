"""Supervised learning: inputs and targets are the fields of the source.

The target is a class, a value, a tag for every step, or a sequence. A sequence that the graph generates is learned with
teacher forcing: the graph reads the true sequence, shifted by one step. In training, word dropout replaces some rare
words of the inputs by <unk>, where the source asks for it (data/codecs/word_dropout.py); never in a field that the
graph predicts. Weights of classes or rows act on the training loss only, so that metrics stay comparable.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import torch

from composer.core.registry import register
from composer.core.signals import Ids, Signal
from composer.data.codecs.word_dropout import WordDropout
from composer.data.counter_random import uniform
from composer.data.source import RowNumbers, Source, Split
from composer.objectives.objective import Batch, Objective


@register("objective", "supervised")
class Supervised(Objective):
    def __init__(self, source: Source, *, seed: int = 0) -> None:
        super().__init__(source)
        self.seed = seed

    @cached_property
    def _word_dropout(self) -> dict[str, WordDropout]:
        every = self.source.word_dropout
        return {name: dropout for name, dropout in every.items() if name not in self.predicted}

    def training_batch(self, split: Split, rows: RowNumbers, epoch: int) -> Batch:
        batch = self.batch(split, rows, epoch)
        index = torch.as_tensor(rows, dtype=torch.long)
        replaced: dict[str, Signal] = {}
        for name, dropout in self._word_dropout.items():
            signal = batch.signals[name]
            assert isinstance(signal, Ids)
            draws = uniform(self.seed, f"{split}/{epoch}/word dropout/{name}", index, signal.time)
            replaced[name] = dropout.apply(signal, draws)
        weights = self.source.loss_weights(split, rows)
        return replace(batch, signals=batch.signals | replaced, weights=batch.weights | weights)
