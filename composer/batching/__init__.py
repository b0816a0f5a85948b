"""Which examples are trained on or evaluated together: batches by length or budget, dealt to processes, resumable."""

from composer.batching.batches import Batches
from composer.batching.loader import Loader, drawn_batches
from composer.batching.order import drawn_rows

__all__ = ["Batches", "Loader", "drawn_batches", "drawn_rows"]
