"""test_examples.npz: what a comparison of runs has to know of the single examples of the test split.

A file of plain NumPy arrays, which ``numpy.load(path)`` opens. N examples, in the order of their rows in the data:

step                 the step of the checkpoint
identity             a digest of the content of all examples: runs with the same one were tested on the same examples
draws                a digest of the first resample: with the same one, resamples of two runs have the same examples
row, length          (N,), the row of the test split, and its steps: those of the longest input that is a sequence, or
                     of the target where no input is one; 0 where nothing has steps
statistics/METRIC    (N, S), float32, the statistics of every example, whose sum gives the metric (metrics/metric.py),
                     of the metric that judges, the loss and the headline. Of more than 100,000 examples, a random
                     100,000 are kept, the same ones in every run; ``row`` and ``length`` are theirs
resampled/METRIC     (R,), the metric in 1,000 resamples of all examples (metrics/bootstrap.py). Resample r has the same
                     examples in every run, so that the differences of two runs are those of a paired bootstrap, also
                     of metrics that are no means of examples, such as BLEU and F1
bins                 (K, 3), the shortest and the longest length and the number of examples of every group of lengths;
                     K = 0 where all examples have one length
by_length/METRIC     (K,), the metric of the examples in every group
trained              (2,), the shortest and the longest length among 10,000 rows of the training split
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.npyio import NpzFile
from torch import Tensor

from composer.batching import drawn_rows
from composer.core.problems import UserError
from composer.core.signals import Signal, Timed
from composer.core.storage.atomic_files import write_bytes
from composer.metrics.evaluation import RESAMPLES, Evaluation
from composer.objectives import Batch, Objective

#: The most examples whose statistics are kept.
KEPT = 100_000

#: The most statistics that a metric may have to be kept for single examples. F1 has three for every class.
WIDTH = 16

#: The rows of the training split whose lengths are read.
SAMPLED = 10_000

#: The most groups of lengths. So many different lengths, or fewer, have a group each.
GROUPS = 12

#: What NumPy raises for a file that is torn or no file of arrays.
BROKEN = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class ExampleRecord:
    """What test_examples.npz says of one metric. The fields are described at the top of this module."""

    identity: str
    draws: str
    resampled: np.ndarray
    bins: np.ndarray
    by_length: np.ndarray
    trained: np.ndarray


class SeenExamples:
    """The rows, lengths and contents of the examples that pass in batches."""

    def __init__(self, given: Collection[str]) -> None:
        self.given = given
        self.rows: list[Tensor] = []
        self.lengths: list[Tensor] = []
        self.digests: list[bytes] = []

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            assert batch.origin is not None  # the rows of a split
            self.rows.append(batch.origin.rows)
            counts = {name: part.counts for name, part in batch.signals.items() if isinstance(part, Timed)}
            self.lengths.append(_longest(counts, self.given, batch.rows))
            self.digests += _digests(batch)
            yield batch

    def ordered(self) -> tuple[Tensor, Tensor, str]:
        """Rows and lengths in the order of the rows, and a digest of all contents."""
        rows = torch.cat(self.rows)
        order = rows.argsort(stable=True)
        whole = hashlib.sha256()
        for place in order.tolist():
            whole.update(self.digests[place])
        return rows[order], torch.cat(self.lengths)[order], whole.hexdigest()


def _longest(counts: Mapping[str, Tensor], given: Collection[str], rows: int) -> Tensor:
    """(B,), the steps of the longest input that is a sequence, else of the longest sequence; 0 where there is none."""
    chosen = [found for name, found in counts.items() if name in given] or list(counts.values())
    return torch.stack([torch.zeros(rows, dtype=torch.long), *(found.cpu() for found in chosen)]).amax(0)


def _digests(batch: Batch) -> list[bytes]:
    """A digest of every row: the values of its fields, without padding."""
    found = [hashlib.blake2b(digest_size=16) for _ in range(batch.rows)]
    for name in sorted(batch.signals):
        for digest, values in zip(found, _unpadded(batch.signals[name]), strict=True):
            digest.update(f"{name} {values.shape} {values.dtype} ".encode())
            digest.update(values.tobytes())
    return [digest.digest() for digest in found]


def _unpadded(signal: Signal) -> Iterator[np.ndarray]:
    values = signal.values.cpu().numpy()
    if not isinstance(signal, Timed):
        yield from values
        return
    yield from (row[:count] for row, count in zip(values, signal.counts.tolist(), strict=True))


def trained_lengths(objective: Objective, given: Collection[str]) -> tuple[int, int]:
    """The shortest and the longest length in the training split, of a sample of its rows; 0 where nothing has steps."""
    rows = drawn_rows(objective.size("train"), SAMPLED)
    longest = _longest(objective.lengths("train", rows), given, len(rows))
    return int(longest.min()), int(longest.max())


def write_records(
    path: Path, step: int, seen: SeenExamples, found: Evaluation, *, main: Collection[str], trained: tuple[int, int]
) -> None:
    """Write test_examples.npz, atomically.

    main: the metrics whose statistics are kept for every example
    trained: the shortest and the longest length in training
    """
    rows, lengths, identity = seen.ordered()
    groups = length_groups(lengths)
    members = [(lengths >= low) & (lengths <= high) for low, high in groups]
    chosen = torch.isin(rows, drawn_rows(len(rows), KEPT))
    draw = next(found.examples.counts(len(rows), RESAMPLES, 0))[0].to(torch.int32)
    arrays: dict[str, Any] = {
        "step": step,
        "identity": identity,
        "draws": hashlib.sha256(draw.numpy().tobytes()).hexdigest(),
        "row": rows[chosen].numpy(),
        "length": lengths[chosen].int().numpy(),
        "trained": np.array(trained),
        "bins": np.array([(*ends, int(inside.sum())) for ends, inside in zip(groups, members, strict=True)]).reshape(
            -1, 3
        ),
    }
    for name, statistics in found.statistics.items():
        if name in main and statistics.shape[1] <= WIDTH:
            arrays[f"statistics/{name}"] = statistics[chosen].float().numpy()
        sums = [statistics[inside].sum(0) for inside in members]
        arrays[f"by_length/{name}"] = np.array([float(found.scores[name].value(total)) for total in sums])
        arrays[f"resampled/{name}"] = found.resampled[name].numpy()
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_bytes(path, content.getvalue())


def length_groups(lengths: Tensor) -> list[tuple[int, int]]:
    """The shortest and the longest length of groups of lengths with about equally many examples; none for one length.

    Few different lengths have a group each.
    """
    values, counts = lengths.unique(return_counts=True)
    if len(values) < 2:
        return []
    place = torch.arange(len(values))
    if len(values) > GROUPS:
        middle = counts.cumsum(0) - counts / 2  # a length is in the group of the middle one of its examples
        place = (middle * GROUPS / len(lengths)).long()
    groups = [values[place == number] for number in place.unique()]
    return [(int(group[0]), int(group[-1])) for group in groups]


@contextmanager
def _arrays(path: Path) -> Iterator[NpzFile]:
    with path.open("rb") as content:  # NumPy would leave a torn file open
        file = np.load(content, allow_pickle=False)
        if not isinstance(file, NpzFile):
            raise ValueError("not an archive of arrays")
        yield file


def read_record(path: Path, metric: str) -> ExampleRecord | None:
    """What the file says of a metric; None without the file, or where the file does not know the metric."""
    if not path.is_file():
        return None
    try:
        with _arrays(path) as file:
            if f"resampled/{metric}" not in file:
                return None
            identity, draws = (str(file[name]) for name in ("identity", "draws"))
            arrays = [file[name] for name in (f"resampled/{metric}", "bins", f"by_length/{metric}", "trained")]
    except BROKEN as error:
        raise UserError(f"'{path}' cannot be read: {error}") from error
    record = ExampleRecord(identity, draws, *arrays)
    groups = record.by_length.size
    shapes = [(record.resampled.size,), (groups, 3), (groups,), (2,)]
    if [array.shape for array in arrays] != shapes or any(array.dtype.kind not in "if" for array in arrays):
        raise UserError(f"'{path}' is not of the form that a run writes")
    return record


def recorded_step(path: Path) -> int | None:
    """The step of the checkpoint whose examples the file has; None without a file that can be read."""
    try:
        with _arrays(path) as file:
            return int(file["step"])
    except BROKEN:
        return None
