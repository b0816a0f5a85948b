"""Batches of rows: every one once, the same for the same seed, from any point on, over any number of processes."""

import itertools
import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.batching import Batches, Loader
from composer.batching.order import drawn_rows, permuted
from composer.core.problems import Invalid, UserError
from composer.core.signals import Field, Ids
from composer.data import load_source
from composer.data.packed.packed_rows import Packer
from composer.data.source import Source
from composer.objectives import Objective
from tests.support.padding import padding


class Lengths(Source):
    """Rows of given lengths; what they hold is their number."""

    fields = {"target": Field("ids")}
    running = True

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
splits = st.sampled_from(["train", "valid"])


def plan(source, split="train", **options):
    """The batches of one part each."""
    return taken(Batches(source, split, **options))


def taken(batches):
    return [rows.tolist() for (rows,) in batches]


@pytest.mark.slow
@given(source=sources, budget=budgets, seed=seeds, shuffle=st.booleans(), least=st.integers(1, 4))
def test_an_epoch_has_every_row_exactly_once_within_its_budget(source, budget, seed, shuffle, least):
    batches = Batches(source, "train", **budget, seed=seed, shuffle=shuffle, parts=least)
    count = len(batches)
    found = [torch.cat(parts).tolist() for parts in batches]
    assert len(found) == count
    assert sorted(row for rows in found for row in rows) == list(range(source.size("train")))
    for rows in found:
        assert len(rows) >= min(least, source.size("train"))
        assert len(rows) < max(budget.get("rows", 10**9), least) + least, "what is left over joins the batch before"
        assert least > 1 or len(rows) == 1 or cost(source, rows) <= budget.get("tokens", 10**9)


def cost(source, rows):
    return int(source.all[rows].amax(0).sum()) * len(rows)


@given(source=sources, budget=budgets, seed=seeds)
def test_a_batch_ends_only_where_the_next_row_would_not_fit(source, budget, seed):
    """The rows of one pool, sorted by length: a row at a time into the last batch, as long as it fits."""
    count = source.size("train")
    expected = [[]]
    for row in sorted(drawn_rows(count).tolist(), key=lambda row: (max(source.all[row]), sum(source.all[row]))):
        grown = [*expected[-1], row]
        fits = len(grown) <= budget.get("rows", len(grown)) and cost(source, grown) <= budget.get("tokens", 10**9)
        if fits or not expected[-1]:
            expected[-1] = grown
        else:
            expected.append([row])
    batches = Batches(source, "train", **budget, seed=seed, shuffle=False)
    if count <= batches._pool():
        assert taken(batches) == expected


@given(source=sources, budget=budgets, seed=seeds, epochs=st.integers(0, 2), parts=st.integers(1, 3), data=st.data())
def test_a_resumed_epoch_goes_on_as_if_it_had_never_stopped(source, budget, seed, epochs, parts, data):
    def plain(batches):
        return [[part.tolist() for part in batch] for batch in batches]

    whole = Batches(source, "train", **budget, seed=seed, parts=parts)
    for _ in range(epochs):
        list(whole)
    expected = plain(whole) + plain(whole)
    stopped = Batches(source, "train", **budget, seed=seed, parts=parts)
    stopped.load_state_dict({"epoch": epochs, "position": 0})
    count = data.draw(st.integers(0, len(stopped)))
    running = iter(stopped)
    before = plain(next(running) for _ in range(count))
    state = json.loads(json.dumps(stopped.state_dict()))
    assert state == {"epoch": epochs, "position": count}
    resumed = Batches(source, "train", **budget, seed=seed, parts=parts)
    resumed.load_state_dict(state)
    assert before + plain(resumed) + plain(resumed) == expected
    assert resumed.state_dict() == {"epoch": epochs + 2, "position": 0}


def test_the_state_counts_the_batches_taken():
    batches = Batches(Lengths([(1, 1)] * 10), "train", rows=2)
    running = iter(batches)
    next(running), next(running)
    assert batches.state_dict() == {"epoch": 0, "position": 2}
    list(running)
    assert batches.state_dict() == {"epoch": 1, "position": 0}


worlds = st.fixed_dictionaries({"world": st.integers(1, 4), "parts": st.integers(1, 3)})


@given(source=sources, budget=budgets, seed=seeds, deal=worlds, streams=st.booleans(), split=splits)
def test_the_parts_of_all_processes_are_together_the_planned_batch(source, budget, seed, deal, streams, split):
    pieces = deal["world"] * deal["parts"]
    if streams:
        budget = {"rows": budget.get("rows", 3)}
        if source.size(split) < max(pieces, budget["rows"]):
            return
    options = {**budget, "seed": seed, "streams": streams}
    whole = [rows.tolist() for rows in Batches(source, split, **options, parts=pieces)._plan(0)]
    shards = [list(Batches(source, split, **options, rank=rank, **deal)) for rank in range(deal["world"])]
    for batch, *ranks in zip(whole, *shards, strict=True):
        dealt = [part.tolist() for parts in ranks for part in parts]
        assert len(dealt) == pieces
        assert sorted(row for part in dealt for row in part) == sorted(batch)
        for counts in ([len(part) for part in dealt], [sum(map(len, parts)) for parts in ranks]):
            assert max(counts) - min(counts) <= 1
        if source.size(split) >= pieces and not streams:
            assert all(dealt), "no process goes without"


@given(source=sources, budget=budgets, seed=seeds, world=st.integers(1, 4), streams=st.booleans())
def test_validation_counts_every_example_once_over_all_processes(source, budget, seed, world, streams):
    seen, counts = [], set()
    options = {"rows": 3, "streams": True} if streams else {**budget, "shuffle": False}
    for rank in range(world):
        loader = Loader(Objective(source), Batches(source, "valid", **options, rank=rank, world=world))
        batches = list(loader)
        counts.add(len(batches))
        seen += [int(row) for parts in batches for part in parts for row in part.signals["target"].values]
    assert sorted(seen) == list(range(source.size("valid")))
    assert len(counts) == 1, "every process has as many batches, so that they can meet after each"


# Streams


@given(
    size=st.integers(1, 60), rows=st.integers(1, 6), deal=worlds, split=splits, first=st.integers(0, 70), data=st.data()
)
def test_a_lane_goes_on_where_it_stopped_and_stays_where_it_is(size, rows, deal, split, first, data):
    source = Lengths([(1, 1)] * size)
    lanes = max(rows, deal["world"] * deal["parts"])
    if split == "train" and size < lanes:
        with pytest.raises(Invalid, match=f"{lanes} streams need as many examples, but .* has {size}"):
            Batches(source, split, rows=rows, streams=True, **deal)
        return
    batches = Batches(source, split, rows=rows, streams=True, rank=data.draw(st.integers(0, deal["world"] - 1)), **deal)
    count = len(batches)
    assert count == (size // lanes if split == "train" else -(-size // lanes))
    found = list(batches)
    assert len(found) == count
    for before, after in itertools.pairwise(found):
        for was, now in zip(before, after, strict=True):
            assert now.tolist() == [row + 1 for row in was.tolist()][: len(now)]
    batches.load_state_dict({"epoch": 1, "position": min(first, count)})
    assert [list(map(list, parts)) for parts in batches] == [list(map(list, parts)) for parts in found[first:]]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_streams_of_a_text_read_it_from_their_beginnings_on(tmp_path, parts):
    text = "".join(chr(97 + i * i % 26) for i in range(1000))
    (tmp_path / "a.txt").write_text(text)
    source = load_source({"type": "text", "path": f"{tmp_path}/a.txt", "length": 10, "valid": 0})
    lanes = ["", "", ""]
    for dealt in Loader(Objective(source), Batches(source, "train", rows=3, streams=True, parts=parts)):
        for part, batch in enumerate(dealt):
            for lane, shown in enumerate(source.show("target", batch.signals["target"])):
                lanes[part + parts * lane] += shown
    assert lanes == [text[:330], text[330:660], text[660:990]]


def test_rows_that_do_not_follow_each_other_cannot_be_streamed(tmp_path):
    (tmp_path / "a.txt").write_text("abc" * 100)
    overlapping = load_source({"type": "text", "path": f"{tmp_path}/a.txt", "length": 10, "stride": 5})
    for source in (overlapping, load_source({"type": "copy"})):
        with pytest.raises(Invalid, match="streams: the examples of this data do not follow each other"):
            Batches(source, "train", rows=2, streams=True)
    with pytest.raises(Invalid, match="tokens"):
        Batches(Lengths([(1, 1)]), "train", tokens=2, streams=True)


# The loader


def test_a_loader_goes_through_epochs_for_ever_and_resumes_anywhere():
    source = Lengths([(1, 1)] * 7)

    def loader():
        return Loader(Objective(source), Batches(source, "train", rows=4, parts=2))

    def rows(batches, count):
        return [[p.signals["target"].values.flatten().tolist() for p in b] for b in itertools.islice(batches, count)]

    whole = rows(loader().forever(), 6)
    assert all(len(parts) == 2 and all(parts) for parts in whole)
    assert sorted(itertools.chain(*whole[0], *whole[1])) == list(range(7))
    for stop in range(6):
        first, second = loader(), loader()
        begun = first.forever()
        before = rows(begun, stop)
        second.batches.load_state_dict(first.batches.state_dict())
        assert before + rows(second.forever(), 6 - stop) == whole


@pytest.mark.parametrize(
    ("size", "deal", "words"),
    [
        (0, {}, "'train' of this data is empty"),
        (3, {"world": 2, "parts": 2}, "has 3 examples: too few for 2 processes"),
    ],
)
def test_too_little_to_go_on_for_ever_is_one_clear_sentence(size, deal, words):
    source = Lengths([(1, 1)] * size)
    with pytest.raises(UserError, match=words):
        next(Loader(Objective(source), Batches(source, "train", rows=4, **deal)).forever())


# Order


def test_seeds_and_epochs_have_orders_of_their_own():
    source = Lengths([(1, 1)] * 50)
    batches = Batches(source, "train", rows=5)
    first, second = taken(batches), taken(batches)
    assert first == plan(source, rows=5)
    assert first != second
    assert first != plan(source, rows=5, seed=1)


def test_buckets_lessen_padding():
    lengths = [(1 + 37 * i % 50, 1 + 37 * i % 50) for i in range(2000)]
    assert padding(Batches(Lengths(lengths), "train", tokens=500)) < 0.05  # rows as they come: about a half
    assert padding(Batches(Lengths([(3, 4)] * 9), "train", rows=4)) == 0


def test_rows_of_two_fields_are_sorted_so_that_neither_pads_the_other():
    """Long sources with short targets, the reverse, and rows of the same sum that are long in neither."""
    lengths = [(40, 2), (2, 40), (21, 21)] * 40
    batches = Batches(Lengths(lengths), "valid", rows=40, shuffle=False)
    assert {row % 3 for row in taken(batches)[0]} == {2}
    by_sum = 1 - 42 / 80
    assert padding(batches) < by_sum


def test_what_is_left_over_of_a_sorted_pool_is_not_always_the_longest():
    """41 rows, one of each length, in batches of 5: a row is left over, now a long one and now a short one."""
    batches = Batches(Lengths([(n, n) for n in range(41)]), "train", rows=5)
    left = [row for _ in range(20) for rows in taken(batches) if len(rows) == 1 for row in rows]
    assert len(left) == 20
    assert min(left) < 10
    assert max(left) > 30


def test_rows_of_like_length_meet_other_rows_in_every_epoch():
    """In one pool, 300 rows that all differ in length would make the same batches in every epoch."""
    batches = Batches(Lengths([(n, n) for n in range(1, 301)]), "train", rows=10)

    def mates():
        return {row: set(rows) - {row} for rows in taken(batches) for row in rows}

    first, second = mates(), mates()
    again = sum(len(first[row] & second[row]) for row in first) / sum(map(len, first.values()))
    assert again < 0.4
    assert padding(batches) < 0.15  # of rows as they come: 0.45


@given(size=st.integers(1, 500), seed=seeds, epoch=st.integers(0, 5))
def test_the_order_is_a_permutation_computed_place_by_place(size, seed, epoch):
    order = permuted(torch.arange(size), size, seed, f"epoch/{epoch}")
    assert sorted(order.tolist()) == list(range(size))
    place = size // 2
    assert permuted(torch.tensor([place]), size, seed, f"epoch/{epoch}").item() == order[place].item()


def test_the_order_looks_random():
    """Spearman's correlation of place and row, and of a row and the next: both about 0 +- 0.01 for 10,000 rows."""
    order = permuted(torch.arange(10000), 10000, 0, "epoch/0").double()
    for pair in (torch.stack([torch.arange(10000.0).double(), order]), torch.stack([order[1:], order[:-1]])):
        assert abs(float(torch.corrcoef(pair)[0, 1])) < 0.05


def test_a_split_of_any_size_is_planned_without_its_order_in_memory():
    source = load_source({"type": "copy", "train_size": 10**11})
    batches = Batches(source, "train", tokens=2000)
    (rows,) = next(iter(batches))
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
    from composer.data.packed import packed_rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_rows, "MEMORY", memory)
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
