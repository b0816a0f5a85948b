"""The lengths of the rows in the first batches of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from composer.core.signals import Timed
from composer.graph.flops import Lengths, time_axes
from composer.graph.graph import Graph
from composer.objectives import Batch
from composer.training.run.plan import TrainingPlan

#: The number of training steps whose rows are measured.
MEASURED_STEPS = 20


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a few training steps, by the lengths of their time axes, without padding.

    counts: how many rows have which lengths
    steps: the number of training steps
    """

    counts: Mapping[Lengths, int]
    steps: int = 1

    @classmethod
    def of_steps(cls, plan: TrainingPlan, steps: int = MEASURED_STEPS) -> TrainingRows:
        """The rows of the first steps of a run."""
        counts: Counter[Lengths] = Counter()
        for parts in islice(plan.loader().forever(), steps):
            for batch in parts:
                counts.update(row_lengths(plan.meta, batch))
        return cls(counts, steps)

    @classmethod
    def of(cls, plan: TrainingPlan) -> TrainingRows:
        """A row of the data where all rows have the same known lengths, otherwise those of the first steps."""
        inputs = plan.meta.plan.inputs
        fixed = {field.axis or name: field.steps for name, field in inputs.items() if field.timed}
        if None not in fixed.values():
            return cls({tuple(steps for steps in fixed.values() if steps is not None): 1})
        return cls.of_steps(plan)

    @property
    def examples(self) -> int:
        return sum(self.counts.values())

    @property
    def tokens(self) -> float:
        """The sum of all rows' lengths; of a row with several time axes, the mean of their lengths. Without any: rows.

        So FLOPs per token are those that ``describe`` shows where all sequences have the length that it assumes.
        """
        return sum(number * (sum(lengths) / len(lengths) if lengths else 1) for lengths, number in self.counts.items())


def row_lengths(graph: Graph, batch: Batch) -> list[Lengths]:
    """The lengths of every row's time axes. A row without any step counts as one step."""
    lengths: dict[str, list[int]] = {}
    for name, field in graph.plan.inputs.items():
        signal = batch.signals[name]
        if isinstance(signal, Timed):
            lengths.setdefault(field.axis or name, signal.counts.clamp(min=1).tolist())
    axes = time_axes(graph)
    return list(zip(*(lengths[axis] for axis in axes), strict=True)) if axes else [()] * batch.rows
