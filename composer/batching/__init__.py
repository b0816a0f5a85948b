"""Batches: which examples are trained on or evaluated together.

Batches may be bucketed by length and limited by a token budget, are divided among processes and micro-batches, and
can be resumed in the middle of an epoch.
"""

from composer.batching.batches import Batches
from composer.batching.loader import DrawnBatches, Loader, drawn_batches
from composer.batching.order import drawn_rows

__all__ = ["Batches", "DrawnBatches", "Loader", "drawn_batches", "drawn_rows"]
