"""How much of the batches of an epoch is padding."""

from composer.batching import Batches


def padding(batches: Batches) -> float:
    """The fraction of the steps of an epoch that are padding, for batches of one part each."""
    real = padded = 0
    for (rows,) in batches:
        for lengths in batches.source.lengths(batches.split, rows).values():
            real += int(lengths.sum())
            padded += int(lengths.max()) * len(lengths)
    return 1 - real / padded
