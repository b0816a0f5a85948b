"""Characters and bytes as tokens. They need no library: looking up each character here is thirty times faster than
splitting the characters with a regular expression.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from composer.core.registry import register
from composer.data.tokenisers.tokeniser import Texts, TokeniserType


def code_points(text: str) -> Tensor:
    """The Unicode code points of a text that is not empty, (T,)."""
    if text.isascii():
        return torch.frombuffer(bytearray(text, "ascii"), dtype=torch.uint8)
    return torch.frombuffer(bytearray(text, "utf-32-le", "surrogatepass"), dtype=torch.int32)


@register("tokeniser", "characters")
class Characters(TokeniserType):
    """The most frequent characters."""

    def learn(self, texts: Texts) -> None:
        seen = torch.zeros(128, dtype=torch.long)  # by code point
        for text in texts():
            found = torch.bincount(code_points(text)) if text else seen[:0]
            if len(found) > len(seen):
                seen = torch.cat([seen, seen.new_zeros(len(found) - len(seen))])
            seen[: len(found)] += found
        counts = {chr(point): int(seen[point]) for point in seen.nonzero()[:, 0].tolist()}
        common = (symbol for symbol, count in counts.items() if count >= (self.options.min_count or 1))
        room = self.options.vocabulary - len(self.options.special_names)
        self.know(sorted(sorted(common, key=lambda symbol: (-counts[symbol], symbol))[:room]))

    def encode(self, texts: list[str]) -> list[list[int]]:
        return [self.find(text) for text in texts]

    @cached_property
    def _table(self) -> Tensor:
        """(points,), the token of every code point up to the first one above all that are known, which is <unk>."""
        known = {ord(symbol): number for symbol, number in self.ids.items()}
        table = torch.full((max(known, default=0) + 2,), self.unknown_id, dtype=torch.int32)
        table[list(known)] = torch.tensor(list(known.values()), dtype=torch.int32)
        return table

    def encode_one(self, text: str) -> Tensor:
        if not text:
            return self._table[:0]
        return self._table.index_select(0, code_points(text).int().clamp_(max=len(self._table) - 1))

    def unknown(self, text: str) -> list[str]:
        return [symbol for symbol in text if symbol not in self.ids]

    def decode(self, ids: list[int]) -> str:
        return "".join(self.tokens[i] for i in ids)


@register("tokeniser", "bytes")
class Bytes(TokeniserType):
    """The bytes of UTF-8. Every text can be encoded, so nothing is unknown."""

    least = None

    def learn(self, texts: Texts) -> None:
        self.restore(None)

    def encode(self, texts: list[str]) -> list[list[int]]:
        first = self.first
        return [[first + byte for byte in text.encode("utf-8", "surrogatepass")] for text in texts]

    def encode_one(self, text: str) -> Tensor:
        raw = bytearray(text, "utf-8", "surrogatepass")
        return torch.frombuffer(raw, dtype=torch.uint8).int() + self.first if raw else torch.zeros(0, dtype=torch.int32)

    def decode(self, ids: list[int]) -> str:
        """The text of the bytes, with special tokens by their names and U+FFFD for bytes that are not UTF-8."""
        pieces: list[bytes] = [bytes([i - self.first]) if i >= self.first else self.tokens[i].encode() for i in ids]
        return b"".join(pieces).decode("utf-8", "replace")

    def state(self) -> None:
        return None

    def restore(self, state: None) -> None:
        self.know(f"0x{byte:02x}" for byte in range(256))
        self.first = len(self.options.special_names)
