"""What is to be learned from the data: an objective turns examples into inputs, targets and what counts of them."""

from composer.objectives.objective import Batch, Objective, load_objective

__all__ = ["Batch", "Objective", "load_objective"]
