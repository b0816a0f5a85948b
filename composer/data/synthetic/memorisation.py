"""Memorisation: the value of every key is the same in all examples, and is learned in the weights.

A task of MAD (Poli et al., 2024). The keys and values are paired at random, once for a seed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.counter_random import uniform
from composer.data.generated_source import FixedLength, answer_field, numbered, vocabulary_field
from composer.data.source import Split


@register("data", "memorisation")
class Memorisation(FixedLength):
    """source: keys, each followed by <insert>; target: along the same time axis, the value of the key at <insert>, and
    <blank> at the key. There are as many values as keys."""

    keys: Positive = 127
    length: Positive = 32

    def prepare(self) -> None:
        self.spans.require_even("keys with <insert>")
        self.known = uniform(self.seed, "values", torch.zeros(1), self.keys)[0].argsort()  # the value of every key

    def bare_fields(self) -> dict[str, Field]:
        known = ("<insert>", *numbered(self.keys, "k"))
        return {"source": vocabulary_field("ids", known), "target": answer_field(numbered(self.keys, "v"))}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        keys = self.integers("keys", split, rows, self.spans.most(split) // 2, self.keys)
        none = torch.zeros_like(keys)
        source, target = torch.stack([1 + keys, none], dim=2), torch.stack([none, 1 + self.known[keys]], dim=2)
        return {"source": Ids(source.flatten(1)), "target": Ids(target.flatten(1))}
