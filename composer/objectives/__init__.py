"""Training tasks: an objective turns examples of a data source into inputs, targets and the weights of the targets."""

from composer.objectives.objective import Batch, Objective, Origin, load_objective

__all__ = ["Batch", "Objective", "Origin", "load_objective"]
