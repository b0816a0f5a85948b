"""The same symbols again."""

from __future__ import annotations

from torch import Tensor

from composer.data.source import source
from composer.data.synthetic.sequences import Sequences


@source("copy")
class Copy(Sequences):
    def answer(self, values: Tensor, lengths: Tensor) -> Tensor:
        return values
