"""Every evaluation takes its rows from one drawn order of the split, whatever its batches and processes."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.batching import Batches, drawn_batches, drawn_rows
from composer.core.problems import Invalid
from composer.data import load_source
from composer.objectives import Objective


class Noting(Objective):
    """Notes which rows it was asked for."""

    def batch(self, split, rows, epoch=0):
        return rows.tolist()


def file_of_text(folder):
    path = folder / "text.txt"
    path.write_text("the quick brown fox jumps over the lazy dog, again and again. " * 40)
    return {"type": "text", "path": str(path), "length": 8, "valid": 0.3}


def sorted_file(folder):
    """18 classes one after the other, and of each the short texts first: so files often are."""
    text = "".join(f"{'ab' * n}\tclass{label:02}\n" for label in range(18) for n in range(1, 51))
    for name in ("train.tsv", "valid.tsv"):
        (folder / name).write_text(text)
    return {"type": "labelled", "path": str(folder / "train.tsv"), "valid": str(folder / "valid.tsv")}


SOURCES = {
    "sorted": sorted_file,
    "generated": lambda folder: {"type": "reverse", "valid_size": 90},
    "windows": file_of_text,
}


@pytest.fixture(scope="module", params=SOURCES)
def objective(request, tmp_path_factory):
    return Noting(load_source(SOURCES[request.param](tmp_path_factory.mktemp("data"))))


def taken(objective, *, world=1, **options):
    """Which rows all processes together generate for, and which they only read."""
    found = ([], [])
    for rank in range(world):
        for rows, batches in zip(
            found, drawn_batches(objective, "valid", rank=rank, world=world, **options), strict=True
        ):
            rows += itertools.chain.from_iterable(batches)
    return found


budgets = st.sampled_from([{"batch": 1}, {"batch": 7}, {"batch": 200}, {"batch": None, "batch_tokens": 100}])
counts = st.one_of(st.none(), st.integers(0, 120))


@given(budget=budgets, world=st.integers(1, 3), rows=counts, decode_rows=counts, samples=st.integers(0, 12))
def test_the_rows_are_the_first_of_the_drawn_order_whatever_the_batches(
    objective, budget, world, rows, decode_rows, samples
):
    decoded, forced = taken(objective, world=world, rows=rows, decode_rows=decode_rows, samples=samples, **budget)
    order = drawn_rows(objective.size("valid"), rows).tolist()
    cut = len(order) if decode_rows is None else decode_rows
    assert sorted(decoded) == sorted(order[:cut])
    assert sorted(forced) == sorted(order[cut:])


@given(budget=budgets, world=st.integers(1, 3), decode_rows=st.one_of(st.none(), st.integers(0, 12)))
def test_the_examples_shown_are_the_first_of_the_drawn_order_on_the_first_process(
    objective, budget, world, decode_rows
):
    decoded, forced = drawn_batches(objective, "valid", samples=5, decode_rows=decode_rows, world=world, **budget)
    first = list(itertools.chain(*decoded, *forced))[:5]
    assert first == drawn_rows(objective.size("valid"), 5).tolist()


@given(size=st.integers(0, 400), count=st.integers(0, 400), more=st.integers(0, 400))
def test_fewer_drawn_rows_are_a_part_of_more(size, count, more):
    few, many = drawn_rows(size, count).tolist(), drawn_rows(size, count + more).tolist()
    assert len(few) == min(size, count)
    assert few == many[: len(few)]
    assert sorted(drawn_rows(size).tolist()) == list(range(size))


def test_of_a_sorted_file_all_classes_and_lengths_are_seen(tmp_path):
    source = load_source(sorted_file(tmp_path))
    assert source.size("valid") == 900
    rows = drawn_rows(900, 100)
    labels = source.batch("valid", rows)["target"].values
    assert len(set(labels.tolist())) >= 12
    lengths = source.lengths("valid", rows)["source"].double()
    assert float(lengths.mean()) == pytest.approx(51, abs=10)
    first = source.batch("valid", torch.arange(100))["target"].values
    assert len(set(first.tolist())) == 2  # what the first rows of the file would have shown


def test_streams_take_every_row():
    class Running(Noting):
        running = True

    source = load_source({"type": "copy", "valid_size": 20})
    with pytest.raises(Invalid, match="streams"):
        Batches(Running(source), "valid", rows=2, streams=True, stop=10)
