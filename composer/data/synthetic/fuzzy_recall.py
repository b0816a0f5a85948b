"""Fuzzy recall: in-context recall whose keys and values are several tokens each. A task of MAD (Poli et al., 2024)."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Signal
from composer.data.generated_source import FixedLength, GeneratedSource, answer_field, cut, numbered, vocabulary_field
from composer.data.source import Split

BLANK = 0


@register("data", "fuzzy_recall")
class FuzzyRecall(FixedLength):
    """source: keys of 1 to ``key_tokens`` different tokens, each followed by its value of 1 to ``value_tokens``, but
    for the last token of the last value; target: along the same time axis, the next token where that belongs to the
    value of a key seen before, and <blank> elsewhere. The last key was always seen before.

    In the validation and test splits every key has ``key_tokens`` tokens, as in the paper.
    """

    keys: Positive = 7
    values: Positive = 8
    key_tokens: Positive = 3
    value_tokens: Positive = 3
    length: Positive = 128

    def prepare(self) -> None:
        if self.key_tokens > self.keys:
            message = f"a key of {self.key_tokens} different tokens needs as many, but keys is {self.keys}."
            raise Invalid("key_tokens", message)
        if self.value_tokens > self.values:
            message = f"a value of {self.value_tokens} different tokens needs as many, but values is {self.values}."
            raise Invalid("value_tokens", message)
        longest = self.key_tokens + self.value_tokens
        self.spans.require(2 * longest, ", too short for the longest key and value twice")

    def bare_fields(self) -> dict[str, Field]:
        values = numbered(self.values, "v")
        known = (*numbered(self.keys, "k"), *values)
        return {"source": vocabulary_field("ids", known, foretells="target"), "target": answer_field(values)}

    lengths = GeneratedSource.lengths  # those of the keys and values that are drawn

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        B, time = len(rows), self.spans.most(split)
        longest = self.key_tokens + self.value_tokens
        pairs = time // 2 + 1
        keys, key_sizes = self._motifs("keys", split, rows, pairs, self.keys, self.key_tokens)
        if split != "train":
            key_sizes = torch.full_like(key_sizes, self.key_tokens)
        values, value_sizes = self._motifs("values", split, rows, pairs, self.values, self.value_tokens)
        # the value of a key is that which was drawn where the key is seen first
        digits = torch.where(torch.arange(self.key_tokens) < key_sizes[..., None], keys + 1, 0)
        codes = (digits * (self.keys + 1) ** torch.arange(self.key_tokens)).sum(2)  # (B, pairs)
        first = (codes[:, :, None] == codes[:, None]).byte().argmax(2)
        values = values.gather(1, first[..., None].expand_as(values))
        sizes = key_sizes + value_sizes.gather(1, first)
        # pairs as long as another one fits, then one of them again
        counts = (sizes.cumsum(1) - sizes <= time - 2 * longest).sum(1)  # (B,)
        index = torch.arange(pairs).expand(B, pairs)
        again = self.integers("last", split, rows, 1, counts[:, None])
        chosen = torch.where(index == counts[:, None], again, index)
        seen = (first < index) | (index == counts[:, None])
        keys, values = (motif.gather(1, chosen[..., None].expand_as(motif)) for motif in (keys, values))
        key_sizes, sizes = key_sizes.gather(1, chosen), sizes.gather(1, chosen)
        return self._written(keys, values, key_sizes, sizes.masked_fill(index > counts[:, None], 0), seen, time)

    def _motifs(
        self, name: str, split: Split, rows: Tensor, pairs: int, tokens: int, longest: int
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Different tokens (B, pairs, longest), and how many of them are used (B, pairs)."""
        draws = self.draw(name, split, rows, pairs * tokens).view(len(rows), pairs, tokens)
        return draws.argsort(dim=2)[..., :longest], 1 + self.integers(f"{name} sizes", split, rows, pairs, longest)

    def _written(
        self, keys: Tensor, values: Tensor, key_sizes: Tensor, sizes: Tensor, seen: Tensor, time: int
    ) -> dict[str, Signal]:  # fmt: skip
        """The pairs one after the other. ``sizes`` (B, pairs) are those of key and value, 0 for unused pairs."""
        B, lengths = len(keys), sizes.sum(1) - 1
        starts = (sizes.cumsum(1) - sizes)[..., None]
        source = torch.zeros(B, time + 1, dtype=torch.long)  # the last column takes what is not written
        target = torch.full_like(source, BLANK)
        key_steps, value_steps = torch.arange(keys.shape[2]), key_sizes[..., None] + torch.arange(values.shape[2])
        of_key, of_value = key_steps < key_sizes[..., None], value_steps < sizes[..., None]
        of_key = of_key & (sizes > 0)[..., None]
        _scatter(source, starts + key_steps, keys, of_key)
        _scatter(source, starts + value_steps, self.keys + values, of_value)
        _scatter(target, starts + value_steps - 1, 1 + values, of_value & seen[..., None])
        return {"source": cut(source[:, :time], lengths), "target": cut(target[:, :time], lengths)}


def _scatter(rows: Tensor, steps: Tensor, values: Tensor, used: Tensor) -> None:
    """Write (B, pairs, n) values at steps of the rows (B, T), those that are not used into the last column."""
    last = rows.shape[1] - 1
    rows.scatter_(1, torch.where(used, steps, last).flatten(1), values.flatten(1))
