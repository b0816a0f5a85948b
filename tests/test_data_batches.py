"""Batches of rows: every one once, the same for the same seed, from any point on, over any number of processes."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.data import Batches, Loader, load_source
from composer.data.batches import permuted
from composer.data.packed import Packer
from composer.data.source import Source
from composer.problems import Invalid
from composer.signals import Ids


class Lengths(Source):
    """Rows of given lengths; what they hold is their number."""

    fields = {}

    def __init__(self, lengths):
        self.all = torch.tensor(lengths, dtype=torch.long).view(-1, 2)

    def size(self, split):
        return len(self.all)

    def lengths(self, split, rows):
        return {"source": self.all[rows, 0], "target": self.all[rows, 1]}

    def batch(self, split, rows):
        return {"target": Ids(rows[:, None])}

    def show(self, field, signal):
        raise NotImplementedError


sources = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=120).map(Lengths)
budgets = st.fixed_dictionaries({}, optional={"rows": st.integers(1, 9), "tokens": st.integers(1, 300)}).filter(bool)
seeds = st.integers(0, 10**6)


def plan(source, **options):
    return [rows.tolist() for rows in Batches(source, "train", **options)]


@given(source=sources, budget=budgets, seed=seeds, shuffle=st.booleans())
def test_an_epoch_has_every_row_exactly_once_within_its_budget(source, budget, seed, shuffle):
    batches = Batches(source, "train", **budget, seed=seed, shuffle=shuffle)
    count = len(batches)
    found = [rows.tolist() for rows in batches]
    assert len(found) == count
    assert sorted(row for rows in found for row in rows) == list(range(source.size("train")))
    for rows in found:
        assert len(rows) <= budget.get("rows", len(rows))
        padded = int(source.all[rows].amax(0).sum()) * len(rows)
        assert len(rows) == 1 or padded <= budget.get("tokens", padded)


@given(source=sources, budget=budgets, seed=seeds, epochs=st.integers(0, 2), data=st.data())
def test_a_resumed_epoch_goes_on_as_if_it_had_never_stopped(source, budget, seed, epochs, data):
    whole = Batches(source, "train", **budget, seed=seed)
    for _ in range(epochs):
        list(whole)
    expected = [rows.tolist() for rows in whole] + [rows.tolist() for rows in whole]
    stopped = Batches(source, "train", **budget, seed=seed)
    stopped.seek(epochs)
    taken = data.draw(st.integers(0, len(stopped)))
    before = [rows.tolist() for rows, _ in zip(stopped, range(taken), strict=False)] if taken else []
    state = json.loads(json.dumps({"epoch": epochs, "position": taken}))
    resumed = Batches(source, "train", **budget, seed=seed)
    resumed.load_state_dict(state)
    after = [rows.tolist() for rows in resumed] + [rows.tolist() for rows in resumed]
    assert before + after == expected
    assert resumed.state_dict() == {"epoch": epochs + 2, "position": 0}


def test_the_state_counts_the_batches_taken():
    batches = Batches(Lengths([(1, 1)] * 10), "train", rows=2)
    running = iter(batches)
    next(running), next(running)
    assert batches.state_dict() == {"epoch": 0, "position": 2}
    list(running)
    assert batches.state_dict() == {"epoch": 1, "position": 0}


@given(source=sources, budget=budgets, seed=seeds, world=st.integers(1, 5), shuffle=st.booleans())
def test_shards_together_are_the_batches_of_one_process(source, budget, seed, world, shuffle):
    options = {**budget, "seed": seed, "shuffle": shuffle}
    whole = plan(source, **options)
    shards = [plan(source, **options, rank=rank, world=world) for rank in range(world)]
    for batch, *parts in zip(whole, *shards, strict=True):
        assert sorted(row for part in parts for row in part) == sorted(batch)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(source=sources, budget=budgets, seed=seeds, world=st.integers(1, 4))
def test_validation_counts_every_example_once_over_all_processes(source, budget, seed, world):
    seen = []
    for rank in range(world):
        loader = Loader(Batches(source, "valid", **budget, shuffle=False, rank=rank, world=world))
        seen += [int(row) for batch in loader for row in batch["target"].values]
    assert sorted(seen) == list(range(source.size("valid")))


@given(source=sources, budget=budgets, world=st.integers(1, 4))
def test_no_process_goes_without_when_asked(source, budget, world):
    if source.size("train") >= world:
        for rank in range(world):
            assert all(plan(source, **budget, rank=rank, world=world, least=world))
        whole = [row for rows in plan(source, **budget, least=world) for row in rows]
        assert sorted(whole) == list(range(source.size("train")))


def test_seeds_and_epochs_have_orders_of_their_own():
    source = Lengths([(1, 1)] * 50)
    batches = Batches(source, "train", rows=5)
    first, second = ([rows.tolist() for rows in batches] for _ in range(2))
    assert first == plan(source, rows=5)
    assert first != second
    assert first != plan(source, rows=5, seed=1)


def test_padding_is_reported_and_buckets_lessen_it():
    lengths = [(1 + 37 * i % 50, 1 + 37 * i % 50) for i in range(2000)]
    batches = Batches(Lengths(lengths), "train", tokens=500)
    real = padded = 0
    for rows in batches:
        chosen = [lengths[row] for row in rows.tolist()]
        real += sum(map(sum, chosen))
        padded += len(chosen) * sum(max(side) for side in zip(*chosen, strict=True))
    batches.seek(0)
    assert batches.padding() == pytest.approx(1 - real / padded)
    assert batches.padding() < 0.05  # rows as they come: about a half
    assert Batches(Lengths([(3, 4)] * 9), "train", rows=4).padding() == 0


@given(size=st.integers(1, 500), seed=seeds, epoch=st.integers(0, 5))
def test_the_order_is_a_permutation_computed_place_by_place(size, seed, epoch):
    order = permuted(torch.arange(size), size, seed, epoch)
    assert sorted(order.tolist()) == list(range(size))
    place = size // 2
    assert permuted(torch.tensor([place]), size, seed, epoch).item() == order[place].item()


def test_the_order_looks_random():
    """Spearman's correlation of place and row, and of a row and the next: both about 0 +- 0.01 for 10,000 rows."""
    order = permuted(torch.arange(10000), 10000, 0, 0).double()
    for pair in (torch.stack([torch.arange(10000.0).double(), order]), torch.stack([order[1:], order[:-1]])):
        assert abs(float(torch.corrcoef(pair)[0, 1])) < 0.05


def test_a_split_of_any_size_is_planned_without_its_order_in_memory():
    source = load_source({"type": "copy", "train_size": 10**11})
    batches = Batches(source, "train", tokens=2000)
    rows = next(iter(batches))
    assert len(rows) > 1
    assert int(rows.max()) > 10**9


def test_a_batch_needs_a_budget_and_a_rank_a_world():
    with pytest.raises(Invalid, match="batch"):
        Batches(Lengths([(1, 1)]), "train")
    with pytest.raises(Invalid, match="rank"):
        Batches(Lengths([(1, 1)]), "train", rows=1, rank=2, world=2)


@given(rows=st.lists(st.lists(st.integers(0, 99), max_size=9), min_size=1, max_size=20), data=st.data())
@pytest.mark.parametrize("memory", [0, 2**20])
def test_packed_rows_come_back_whether_in_memory_or_on_disk(memory, rows, data):
    from composer.data import packed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "MEMORY", memory)
        packer = Packer(torch.int16)
        for row in rows:
            packer.add([row])
        found = packer.finish()
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    values, lengths = found.pad(torch.tensor(wanted))
    assert values.dtype == torch.long
    for row, ids, length in zip(wanted, values.tolist(), lengths.tolist(), strict=True):
        assert ids[:length] == rows[row]
        assert not any(ids[length:])
