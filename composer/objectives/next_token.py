"""Causal language modelling: every step is predicted from the steps before it (Shannon, 1951; Bengio et al., 2003).

Field: ``target``, the sequence. Other fields of the data are ignored.
"""

from __future__ import annotations

from collections.abc import Collection

from composer.core.registry import register
from composer.core.signals import Field
from composer.data.source import Source
from composer.objectives.objective import Objective, own_sequence


@register("objective", "next_token")
class NextToken(Objective):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.target = own_sequence(source)

    @property
    def fields(self) -> dict[str, Field]:
        return {"target": self.target}

    def needs(self, wanted: Collection[str]) -> set[str]:
        return {"target"}
