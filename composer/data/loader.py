"""The batches of a plan, as an objective makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from composer.data.batches import Batches
from composer.data.source import Rows, Split
from composer.problems import UserError

if TYPE_CHECKING:  # objectives stand on data, not the other way round
    from composer.objectives import Batch, Objective


class Loader:
    """What an objective makes of the batches of a plan: for each, the parts of this process, at least a row in each.

    A process has no part in a batch with fewer rows than there are processes: its list is then empty. The state counts
    what was given out: all of it counts as used.
    """

    def __init__(self, objective: Objective, batches: Batches) -> None:
        self.objective, self.batches = objective, batches

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[Batch]]:
        """What is left of this epoch."""
        return self._made(self.objective.batch)

    def _made(self, make: Callable[[Split, Rows, int], Batch]) -> Iterator[list[Batch]]:
        plan, epoch = self.batches, self.batches.epoch
        for parts in plan:
            yield [make(plan.split, rows, epoch) for rows in parts if len(rows)]

    def forever(self) -> Iterator[list[Batch]]:
        """Batches to train on, one epoch after the other. A split with too little for that is a UserError."""
        plan = self.batches
        pieces = plan.world * plan.parts
        if plan.size < pieces:
            has = f"has {plan.size} example{'s' * (plan.size != 1)}" if plan.size else "is empty"
            wanted = (
                "" if pieces == 1 else f": too few for {plan.world} processes with {plan.parts} parts of a batch each"
            )
            raise UserError(f"the split '{plan.split}' of this data {has}{wanted}. Give more data, or another share.")
        while True:
            yield from self._made(self.objective.training_batch)

    def state_dict(self) -> dict[str, int]:
        return self.batches.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self.batches.load_state_dict(state)
