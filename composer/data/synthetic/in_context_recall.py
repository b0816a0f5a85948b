"""In-context recall: pairs of key and value follow one another, and the value of a key seen before is predicted.

A task of MAD (Poli et al., 2024). With noise, some pairs are replaced by two tokens of a vocabulary of their own, which
is MAD's noisy recall.
"""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive, Probability
from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.generated_source import FixedLength, answer_field, numbered, vocabulary_field
from composer.data.source import Split

BLANK = 0


@register("data", "in_context_recall")
class InContextRecall(FixedLength):
    """source: keys, each followed by its value, of which the last value is left out; target: along the same time axis,
    the value at every key that was seen before, and <blank> elsewhere. The last key was always seen before.

    The values of the keys are drawn anew for every example.
    """

    keys: Positive = 8
    values: Positive = 8
    length: Positive = 128
    noise: Probability = 0.0
    noise_symbols: Positive = 16

    def prepare(self) -> None:
        self.spans.require(4, ", too short for a pair and a key that is seen again")
        self.spans.require_even("pairs of key and value")

    def bare_fields(self) -> dict[str, Field]:
        values = numbered(self.values, "v")
        known = (*numbered(self.keys, "k"), *values, *numbered(self.noise_symbols if self.noise else 0, "n"))
        return {"source": vocabulary_field("ids", known, foretells="target"), "target": answer_field(values)}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        B, pairs = len(rows), self.spans.most(split) // 2
        keys = self.integers("keys", split, rows, pairs, self.keys)  # (B, pairs)
        noisy = self.draw("noise", split, rows, pairs) < self.noise
        noisy = noisy.scatter(1, self.integers("kept", split, rows, 1, pairs - 1), False)  # one pair at least
        noisy[:, -1] = False
        index = torch.arange(pairs).expand(B, pairs)
        first = torch.full((B, self.keys), pairs).scatter_reduce(
            1, keys[:, :-1], index[:, :-1].masked_fill(noisy[:, :-1], pairs), "amin"
        )  # (B, keys): where a key is seen first
        chosen = self.draw("last", split, rows, self.keys).masked_fill(first == pairs, -1.0)
        keys[:, -1] = chosen.argmax(1)  # every key seen is equally likely
        known = self.integers("values", split, rows, self.keys, self.values)
        values = known.gather(1, keys)
        source = torch.stack([keys, self.keys + values], dim=2)  # (B, pairs, 2)
        if self.noise:
            drawn = self.integers("noise tokens", split, rows, 2 * pairs, self.noise_symbols).view(B, pairs, 2)
            source = torch.where(noisy[..., None], self.keys + self.values + drawn, source)
        seen = (index > first.gather(1, keys)) & ~noisy
        target = torch.stack([torch.where(seen, 1 + values, BLANK), torch.full_like(values, BLANK)], dim=2)
        return {"source": Ids(source.view(B, -1)[:, :-1]), "target": Ids(target.view(B, -1)[:, :-1])}
