"""Selective copying: a few symbols at random places among blanks are copied in order (Gu and Dao, 2023)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.generated_source import FixedLength, asking_field, ended, ended_field, numbered
from composer.data.source import Split

BLANK, ASK, FIRST = 0, 1, 2


@register("data", "selective_copying")
class SelectiveCopying(FixedLength):
    """source: ``length`` steps, ``copied`` of which hold a symbol; target: these symbols, in order.

    aligned: whether the target runs along the time axis of the source. The source then ends with one step <ask> for
        each symbol, at which the target is the symbol; before these steps the target is <blank>. Otherwise the target
        is a sequence with its own time axis, ended by <eos>
    """

    symbols: Positive = 14
    length: Positive = 256
    copied: Positive = 16
    aligned: bool = True

    def prepare(self) -> None:
        self.spans.require(self.copied, f", too short for the {self.copied} symbols to copy")

    def bare_fields(self) -> dict[str, Field]:
        names = numbered(self.symbols)
        given = asking_field(names)
        asked = replace(given, blank=BLANK, axis="source") if self.aligned else ended_field(names)
        return {"source": given, "target": asked}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        B, length = len(rows), self.spans.most(split)
        order = self.draw("places", split, rows, length).argsort(dim=1)
        places = order[:, : self.copied].sort(dim=1).values  # (B, copied), in order
        symbols = FIRST + self.integers("symbols", split, rows, self.copied, self.symbols)
        given = torch.full((B, length), BLANK).scatter_(1, places, symbols)
        if not self.aligned:
            return {"source": Ids(given), "target": ended(symbols, torch.full((B,), self.copied))}
        source = torch.cat([given, torch.full((B, self.copied), ASK)], dim=1)
        target = torch.cat([torch.full((B, length), BLANK), symbols], dim=1)
        return {"source": Ids(source), "target": Ids(target)}
