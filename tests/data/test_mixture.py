"""Mixtures: one vocabulary for all sources, rows by weights in training, every row once elsewhere, errors at home."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.batching import Batches
from composer.core.problems import UserError
from composer.core.signals import Ids, Seq, Vec
from composer.data import load_source
from composer.data.own.mixed_rows import Shares, joined
from composer.inference.run_data import changed
from composer.objectives import load_objective
from tests.support.data_files import rows, tone

NEWS = [f"news {word} today" for word in "abcdefghijkl"]
BOOKS = [f"once upon {word}" for word in "mnopq"]


def write(path, texts, label="{}"):
    path.write_text("".join(f"{text}\t{label.format(len(text) % 2)}\n" for text in texts))
    return str(path)


@pytest.fixture
def files(tmp_path):
    return {"news": write(tmp_path / "news.tsv", NEWS), "books": write(tmp_path / "books.tsv", BOOKS)}


def mixture(files, weights=None, **each):
    each = {"type": "pairs", "valid": 0.2, "tokeniser": {"type": "words"}} | each
    return {"type": "mixture", "sources": files, "weights": weights, "each": each}


def refused(config):
    with pytest.raises(UserError) as caught:
        load_source(config).size("train")
    return " ".join(str(caught.value).split())


# Shares: which row of which source


sizes = st.lists(st.integers(1, 40), min_size=1, max_size=5)


@pytest.mark.slow
@given(sizes=sizes, data=st.data())
def test_an_epoch_follows_the_weights_to_the_row(sizes, data):
    weights = [data.draw(st.floats(0.01, 10)) for _ in sizes]
    shares = Shares.of(sizes, weights)
    source, _ = shares.find(torch.arange(shares.total))
    for i, weight in enumerate(weights):
        exact = sum(sizes) * weight / sum(weights)
        count = int((source == i).sum())
        assert count == shares.counts[i] >= 1
        assert abs(count - exact) < 1 or (exact < 1 and count == 1)
    assert shares.total >= sum(sizes)
    assert shares.total == sum(sizes) or any(count == 1 for count in shares.counts)


@given(sizes=sizes, epochs=st.integers(1, 6), data=st.data())
def test_all_rows_of_a_source_come_equally_often_or_once_more(sizes, epochs, data):
    shares = Shares.of(sizes, [data.draw(st.floats(0.05, 10)) for _ in sizes])
    source, row = shares.find(torch.arange(epochs * shares.total))
    for i, size in enumerate(sizes):
        seen = torch.bincount(row[source == i], minlength=size)
        assert len(seen) == size
        assert int(seen.max() - seen.min()) <= 1


def test_without_weights_an_epoch_has_every_row_once():
    source, row = Shares.of([3, 2], None).find(torch.arange(5))
    assert (source.tolist(), row.tolist()) == ([0, 0, 0, 1, 1], [0, 1, 2, 0, 1])


# Rows of a mixture are those of its sources


def test_one_vocabulary_and_every_row_of_every_source(files):
    source = load_source(mixture(files))
    alone = {name: load_source({**mixture(files)["each"], "path": path}) for name, path in files.items()}
    for split in ("train", "valid"):
        expected = [text for one in alone.values() for text in rows(one, split, "target")]
        assert source.size(split) == len(expected)
        labels = [row.values["target"] for row in source.written(split)]
        assert labels == expected
        texts = [row.values["source"] for row in source.written(split)]
        shown = source.show("source", source.batch(split, range(source.size(split)))["source"])
        seen = set(source.fields["source"].contents.tokens)
        assert shown == [" ".join(w if w in seen else "<unk>" for w in text.split()) for text in texts]
    tokens = set(source.fields["source"].contents.tokens)
    assert {"news", "once"} < tokens, "the vocabulary is that of all"


@pytest.mark.parametrize("objective", ["supervised", "masked_token"])
def test_batches_follow_the_weights_in_every_epoch_and_from_any_point_on(files, objective):
    source = load_source(mixture(files, {"news": 0.25, "books": 0.75}, valid=0))
    made = load_objective({"type": objective} | ({"field": "source"} if objective != "supervised" else {}), source)
    batches = Batches(made, "train", rows=3, seed=5)
    whole = [[rows.tolist() for (rows,) in batches] for _ in range(3)]
    seen: Counter[str] = Counter()
    for epoch in whole:
        every = [row for batch in epoch for row in batch]
        texts = source.show("source", source.batch("train", every)["source"])
        assert sum(text.startswith("news") for text in texts) == round(0.25 * 17)
        seen.update(texts)
    assert {seen[text] for text in BOOKS} <= {7, 8}  # 13 of 5 rows in each of 3 epochs
    assert {seen[text] for text in NEWS} <= {1, 2}  # 4 of 12
    again = Batches(made, "train", rows=3, seed=5)
    again.load_state_dict({"epoch": 1, "position": 2})
    assert [rows.tolist() for (rows,) in again] == whole[1][2:]
    ranks = [Batches(made, "train", rows=3, seed=5, rank=rank, world=2) for rank in range(2)]
    dealt = [sorted(a.tolist() + b.tolist()) for (a,), (b,) in zip(*ranks, strict=True)]
    assert [sorted(batch) for batch in whole[0]] == dealt or len(dealt) < len(whole[0])  # a last row joins its batch
    assert made.training_batch("train", whole[2][0], 2).rows == 3


def test_another_row_order_gives_the_same_rows(files):
    source = load_source(mixture(files, {"news": 1, "books": 2}, valid=0))
    mixed = torch.tensor([16, 0, 40, 3, 11, 29])
    together = source.show("target", source.batch("train", mixed)["target"])
    assert together == [source.show("target", source.batch("train", [i])["target"])[0] for i in mixed.tolist()]
    lengths = source.lengths("train", mixed)["source"]
    assert torch.equal(lengths, source.batch("train", mixed)["source"].counts)


def test_joined_signals_are_padded_and_in_order():
    a, b = Ids(torch.tensor([[1, 2]])), Ids(torch.tensor([[3, 4, 5], [6, 0, 0]]), torch.tensor([3, 1]))
    found = joined([a, b], torch.tensor([2, 0, 1]))
    assert found.values.tolist() == [[6, 0, 0], [1, 2, 0], [3, 4, 5]]
    assert found.counts.tolist() == [1, 2, 3]
    whole = joined([Seq(torch.ones(1, 2, 3)), Seq(torch.zeros(1, 2, 3))], torch.tensor([1, 0]))
    assert whole.lengths is None
    assert whole.values[:, 0, 0].tolist() == [0, 1]
    assert joined([Vec(torch.ones(1, 2)), Vec(torch.zeros(1, 2))], torch.tensor([1, 0])).values[0].tolist() == [0, 0]


# What is learned, and what a checkpoint takes along


def test_the_state_of_a_mixture_is_that_of_a_single_source(files, tmp_path):
    source = load_source(mixture(files, {"news": 1, "books": 1}))
    one = load_source({"type": "pairs", "path": files["books"]}, state=source.state(), fields={"source"})
    assert one.fields["source"].contents.tokens == source.fields["source"].contents.tokens
    whole = load_source(mixture(files), state=source.state(), fields={"source"})
    assert whole.size(whole.every_row) == len(NEWS) + len(BOOKS)
    assert [row.values["source"] for row in whole.written("test")] == NEWS + BOOKS
    assert (whole.size("train"), whole.size("valid")) == (0, 0)
    books = load_source({**mixture(files), "only": "books"}, state=source.state(), fields={"source"})
    assert [row.values["source"] for row in books.written("test")] == BOOKS
    assert books.state() == source.state()


def test_a_mixture_of_one_file_in_two_halves_learns_what_the_file_teaches(tmp_path):
    texts = NEWS + BOOKS
    whole, first, second = (
        write(tmp_path / f"{name}.tsv", part) for name, part in (("all", texts), ("one", texts[:9]), ("two", texts[9:]))
    )
    each = {"type": "labelled", "valid": 0, "tokeniser": {"type": "words"}, "weight": "balanced"}
    source = load_source({"type": "mixture", "sources": {"a": first, "b": second}, "each": each})
    assert source.state() == load_source({**each, "path": whole}).state()
    weights = source.loss_weights("train", [0, 16])["target"]
    assert torch.equal(weights, load_source({**each, "path": whole}).loss_weights("train", [0, 16])["target"])
    assert set(source.word_dropout) == {"source"}


def test_running_text_series_and_sounds_mix(tmp_path):
    (tmp_path / "a.txt").write_text("abc " * 30)
    (tmp_path / "b.txt").write_text("xyz " * 20)
    paths = {name: f"{tmp_path}/{name}.txt" for name in "ab"}
    each = {"type": "text", "length": 8, "valid": 0}
    text = load_source({"type": "mixture", "sources": paths, "each": each, "weights": {"a": 0.2, "b": 0.8}})
    shown = rows(text, "train", "target")
    assert Counter(row[0] for row in shown) == {"a": 5, "x": 20}
    assert not text.running
    for name, start in (("a", 0), ("b", 100)):
        (tmp_path / f"{name}.csv").write_text("v\n" + "".join(f"{start + i}\n" for i in range(30)))
    config = {"type": "series", "length": 4, "horizon": 2, "valid": 0}
    paths = {name: f"{tmp_path}/{name}.csv" for name in "ab"}
    series = load_source({"type": "mixture", "sources": paths, "each": config})
    assert series.state()["mean"] == [pytest.approx(64.5)]
    assert series.show("target", series.batch("train", [0, 25])["target"]) == ["4; 5", "104; 105"]
    for name in "ab":
        for label in (0, 1):
            tone(tmp_path / name / f"{label}_x.wav", seconds=0.05 + 0.05 * label)
    paths = {name: f"{tmp_path}/{name}" for name in "ab"}
    paths["b"] = {"path": paths["b"], "pattern": "{digit}_{take}.wav", "label": "digit"}
    sounds = load_source({"type": "mixture", "sources": paths, "each": {"type": "audio", "valid": 0}})
    assert sounds.batch("train", range(4))["source"].counts.tolist() == [3, 8, 3, 8]
    assert rows(sounds, "train", "target") == ["0", "1", "0", "1"]
    tone(tmp_path / "b" / "1_y.wav", rate=4000)
    with pytest.raises(UserError, match=r"1_y\.wav: has 4000 samples a second, others 8000"):
        load_source({"type": "mixture", "sources": paths, "each": {"type": "audio", "valid": 0}}).size("train")


def test_an_empty_split_is_empty(files):
    source = load_source(mixture(files, valid=0))
    assert source.size("valid") == 0
    assert list(Batches(source, "valid", tokens=50, shuffle=False)) == []
    assert source.batch("valid", [])["target"].batch == 0


# Errors at home


def test_errors_name_the_place_of_their_source(files, tmp_path):
    assert "data.sources.books.path there is no file" in refused(mixture(files | {"books": "none.tsv"}))
    assert "data.each.lenght 'pairs' has no parameter" in refused(mixture(files, lenght=3))
    wrong = mixture({"news": {"path": files["news"], "target": 3}, "books": {"path": files["books"], "test": 7}})
    assert "data.sources.books.test" in refused(wrong)
    wrong["sources"]["books"] = files["books"]
    assert "data.sources.news.target there is no column 3" in refused(wrong)
    assert "data.weights has no weight of books" in refused(mixture(files, {"news": 1}))
    assert "data.weights.book there is no source 'book'. Did you mean 'books'?" in refused(mixture(files, {"book": 1}))
    assert "data.only" in refused({**mixture(files), "only": "x"})
    assert "names no source" in refused({"type": "mixture"})
    assert "is a mixture itself" in refused(mixture(files | {"books": {"type": "mixture"}}))
    (tmp_path / "empty.tsv").write_text("")
    assert "data.sources.books: " in refused(mixture(files | {"books": f"{tmp_path}/empty.tsv"}))
    state = load_source(mixture(files)).state()
    with pytest.raises(UserError, match=r"data\.sources\.books\.path: there is no file"):
        load_source(mixture(files | {"books": "gone.tsv"}), state=state).size("valid")


def test_the_file_of_a_source_can_be_changed_for_a_trained_model(files):
    section, places = changed(mixture(files), ["data.sources.books.path=new.tsv", "data.only=books"])
    assert section["sources"] == {"news": files["news"], "books": {"path": "new.tsv"}}
    assert section["only"] == "books"
    assert places["data.sources.books.path"] == "command line: data.sources.books.path=new.tsv"


def test_sources_that_do_not_go_together_are_refused(files, tmp_path):
    other = {"path": files["books"], "tokeniser": {"type": "bytes"}}
    message = refused(mixture(files | {"books": other}))
    assert "data.sources.books differs from 'news' in tokeniser" in message
    label = {"type": "labelled", "path": files["books"], "tokeniser": {"type": "words"}}
    message = refused({"type": "mixture", "sources": {"a": label, "b": {**label, "type": "pairs"}}})
    assert "data.sources.b has other fields than 'a'" in message
    (tmp_path / "a.txt").write_text("abc " * 30)
    text = {"type": "text", "path": f"{tmp_path}/a.txt"}
    assert "has other fields" in refused({"type": "mixture", "sources": {"a": label, "b": text}})


def test_a_state_cannot_be_carried_through_a_mixture(tmp_path):
    (tmp_path / "a.txt").write_text("abc " * 30)
    config = {"type": "mixture", "sources": {"a": f"{tmp_path}/a.txt"}, "each": {"type": "text", "length": 8}}
    with pytest.raises(ValueError, match="do not follow each other"):
        Batches(load_source(config), "train", rows=2, streams=True)
