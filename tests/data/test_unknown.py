"""Words never seen: training drops rare words to <unk> by the formula, and nothing else is ever dropped."""

from itertools import islice

import pytest
import torch

from composer.batching import Batches, Loader
from composer.data import load_source
from composer.data.tokenisers.word_shapes import LEAST, case_of, shapes_of
from composer.objectives import load_objective
from composer.objectives.supervised import Supervised

#: A text of every length in which "often" stands n times and "once" once, in 30 rows.
ROWS = [f"{'often ' * (i % 4)}once{i} end" for i in range(30)]
WORDS = {"type": "words"}


def labelled(folder, rows=ROWS, **tokeniser):
    (folder / "a.tsv").write_text("".join(f"{row}\tx\n" for row in rows))
    return load_source({"type": "labelled", "path": f"{folder}/a.tsv", "valid": 0.2, "tokeniser": WORDS | tokeniser})


def tagged(folder, **knobs):
    """Words with the tag that their ending says: many that end in -ing or -ed stand there once, 'the' often."""
    letters = "abcdefghijklmnopqrstuvwxyz"[: LEAST + 5]
    sentences = [f"the D\n{a}ooming V\n{a}ooked W\n{a.upper()}okyo N\nx{a} X\n" for a in letters]
    (folder / "a.conll").write_text("\n".join(sentences))
    return load_source({"type": "tagged", "path": f"{folder}/a.conll", "valid": 0, **knobs})


def trained(source, rows, epoch=0, seed=0):
    return load_objective({"type": "supervised", "seed": seed}, source).training_batch("train", rows, epoch)


def test_a_word_is_dropped_as_often_as_the_formula_says(tmp_path):
    source, epochs = labelled(tmp_path), 400
    rows = range(source.size("train"))
    plain = source.batch("train", rows)["source"]
    tokens = plain.values[plain.mask]
    objective = Supervised(source)
    dropped = torch.stack([
        objective.training_batch("train", rows, epoch).signals["source"].values[plain.mask] for epoch in range(epochs)
    ])  # fmt: skip
    known = source.fields["source"].contents.tokens
    unknown, stop = (known.index(name) for name in ("<unk>", "<eos>"))
    assert ((dropped == tokens) | (dropped == unknown)).all()
    assert (dropped[:, tokens == stop] == stop).all()
    for token in set(tokens.tolist()) - {stop}:
        count = int((tokens == token).sum())
        wanted, draws = 0.25 / (0.25 + count), epochs * count
        rate = (dropped[:, tokens == token] == unknown).double().mean().item()
        assert abs(rate - wanted) < 5 * (wanted * (1 - wanted) / draws) ** 0.5, known[token]


def sources_with_dropout(folder):
    return {"labelled": labelled(folder, unknown=2.0), "tagged": tagged(folder, unknown=2.0)}


@pytest.mark.parametrize("name", ["labelled", "tagged"])
def test_what_is_dropped_depends_on_seed_row_and_epoch_alone(name, tmp_path):
    source = sources_with_dropout(tmp_path)[name]
    count = source.size("train")

    def read(rows, epoch=0, seed=0):
        signal = trained(source, rows, epoch, seed).signals["source"]
        return {row: values[:n] for row, values, n in zip(rows, signal.values.tolist(), signal.counts, strict=True)}

    whole = read(range(count))
    for rows in ([3], [5, 2, 3], list(range(count))[::-1]):
        assert read(rows) == {row: whole[row] for row in rows}
    assert read(range(count), epoch=1) != whole
    assert read(range(count), seed=1) != whole
    assert torch.equal(trained(source, [2]).signals["target"].values, source.batch("train", [2])["target"].values)


@pytest.mark.parametrize("name", ["labelled", "tagged"])
def test_only_training_drops_words_and_goes_on_alike_after_a_stop(name, tmp_path):
    source = sources_with_dropout(tmp_path)[name]
    objective = Supervised(source)

    def loader():
        return Loader(objective, Batches(objective, "train", rows=4))

    judged = torch.cat([part.signals["source"].filled(0).flatten() for parts in loader() for part in parts])
    plain = [source.batch("train", rows)["source"] for parts in loader().batches for rows in parts]
    assert torch.equal(judged, torch.cat([signal.filled(0).flatten() for signal in plain]))

    def taken(batches, number):
        return [parts[0].signals["source"].values for parts in islice(batches, number)]

    first, second = loader(), loader()
    whole = taken(loader().forever(), 20)
    assert any(not torch.equal(a, b.values) for a, b in zip(whole, plain, strict=False))
    begun = first.forever()
    before = taken(begun, 9)
    second.batches.load_state_dict(first.batches.state_dict())
    for found, wanted in zip(before + taken(second.forever(), 11), whole, strict=True):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("tokeniser", [{"type": "characters"}, {"type": "bpe"}, {"type": "words", "unknown": 0}])
def test_nothing_is_dropped_where_nothing_can_be_unknown_or_nobody_wants_it(tokeniser, tmp_path):
    source = labelled(tmp_path, **tokeniser)
    assert source.word_dropout == {}
    assert tagged(tmp_path, unknown=0).word_dropout == {}


def test_what_is_predicted_is_never_dropped(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{row}\t{row}\n" for row in ROWS))
    source = load_source({"type": "pairs", "path": f"{tmp_path}/a.tsv", "tokeniser": WORDS})
    assert set(source.word_dropout) == {"source"}


@pytest.mark.parametrize("name", ["labelled", "tagged"])
def test_counts_come_back_from_plain_data_and_older_states_do_without(name, tmp_path):
    source = sources_with_dropout(tmp_path)[name]
    config = {"type": name, "path": "gone"} | ({"tokeniser": WORDS} if name == "labelled" else {"unknown": 2.0})
    state = source.state()
    again = load_source(config, state=state)
    wanted, found = source.word_dropout["source"], again.word_dropout["source"]
    assert torch.equal(found.chance, wanted.chance)
    assert torch.equal(found.stand_in, wanted.stand_in)
    older = {field: {k: v for k, v in part.items() if k not in ("counts", "shapes")} for field, part in state.items()}
    assert load_source(config, state=older).word_dropout == {}


def test_a_word_never_seen_is_read_by_its_shape(tmp_path):
    source = tagged(tmp_path)
    tokens = source.fields["source"].contents.tokens
    read = source.encode("source", ["the Aokyo zzoping Wolokyo QQQ 1987 qoking"])
    assert [tokens[i] for i in read.values[0]] == [
        "the", "Aokyo", "<unk:aa-ing>", "<unk:Aa-kyo>", "<unk>", "<unk>", "<unk:aa-ing>"
    ]  # fmt: skip
    assert source.unknown("source", "the zzoping QQQ") == ["zzoping", "QQQ"]
    special = source.fields["source"].contents.special
    assert {tokens[i] for i in special} == {token for token in tokens if token.startswith("<unk")}


def test_a_dropped_word_is_read_by_its_shape(tmp_path):
    source = tagged(tmp_path, unknown=1e9)  # so strong that no word stays
    tokens = source.fields["source"].contents.tokens
    read = trained(source, [0]).signals["source"].values[0]
    assert [tokens[i] for i in read] == ["<unk:aa>", "<unk:aa-ing>", "<unk:aa-ked>", "<unk:Aa-kyo>", "<unk:aa>"]


@pytest.mark.parametrize("vocabulary", [4, 10, 40])
def test_shapes_count_as_part_of_the_vocabulary(vocabulary, tmp_path):
    tokens = tagged(tmp_path, vocabulary=vocabulary).fields["source"].contents.tokens
    assert len(tokens) == vocabulary
    assert sum(token.startswith("<unk:") for token in tokens) <= vocabulary / 2


def test_shapes_can_be_left_out(tmp_path):
    plain = tagged(tmp_path, shapes=False).fields["source"].contents.tokens
    assert [token for token in plain if token.startswith("<")] == ["<unk>"]


@pytest.mark.parametrize(
    ("word", "case"),
    [("1987", "0"), ("...", "."), ("so-called", "a-a"), ("NATO", "AA"), ("I", "Aa"), ("Paris", "Aa"), ("walk", "aa")],
)
def test_the_case_of_a_word(word, case):
    assert case_of(word) == case
    assert list(shapes_of(word))[-1] == f"<unk:{case}>"
