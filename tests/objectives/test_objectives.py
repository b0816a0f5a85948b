"""Objectives: what they make of a row is what their papers say, and a function of seed, split, row and epoch alone."""

import inspect
import itertools
import math
from collections import Counter

import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st

from composer.batching import Batches
from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import UserError
from composer.core.signals import Field, Ids, Seq
from composer.data import Source, load_source
from composer.data.packed import padded
from composer.objectives import load_objective
from tests.support.paths import ROOT

CONF = ROOT / "conf" / "objective"
OBJECTIVES = registry.entries("objective")
SOS, EOS, UNK, FIRST = 0, 1, 2, 3  # of the rows below; ordinary tokens come after
VOCABULARY = 60
TOKENS = ("<sos>", "<eos>", "<unk>", ".", *(f"w{i}" for i in range(VOCABULARY - 4)))


class Given(Source):
    """Rows of ids as they are given, the same in every split."""

    def __init__(self, rows, vocabulary=VOCABULARY, tokens=TOKENS):
        self.rows = rows
        idf = tuple(1.0 for _ in range(vocabulary))
        self.field = Field("ids", vocabulary=vocabulary, start=SOS, stop=EOS, special=(UNK,), tokens=tokens, idf=idf)

    @property
    def fields(self):
        return {"target": self.field}

    def size(self, split):
        return len(self.rows)

    def lengths(self, split, rows):
        return {"target": torch.tensor([len(self.rows[int(row)]) for row in rows])}

    def batch(self, split, rows):
        return {"target": Ids(*padded([self.rows[int(row)] for row in rows]))}

    def show(self, field, signal):
        return [" ".join(self.field.tokens[i] for i in row if i not in (SOS, EOS)) for row in listed(signal)]


def listed(signal):
    return [row[:n] for row, n in zip(signal.values.tolist(), signal.counts.tolist(), strict=True)]


def made(objective, rows, split="train", epoch=0, **knobs):
    """The lists of source and target, and the batch."""
    source = rows if isinstance(rows, Source) else Given(rows)
    batch = load_objective({"type": objective, **knobs}, source).batch(split, range(source.size(split)), epoch)
    return listed(batch.signals["source"]), listed(batch.signals["target"]), batch


def long_rows(count, length, vocabulary=VOCABULARY, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(FIRST, vocabulary, (count, length), generator=generator).tolist()


ragged = st.lists(st.lists(st.integers(UNK, VOCABULARY - 1), max_size=12).map(lambda row: [*row, EOS]), min_size=2)
running = st.lists(st.lists(st.integers(UNK, VOCABULARY - 1), min_size=1, max_size=12), min_size=2)


# Every objective


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_has_a_leaf_that_lists_its_knobs_with_their_defaults(name):
    text = (CONF / f"{name}.yaml").read_text()
    assert text.startswith("# "), "the first line says what it is"
    leaf = yaml.safe_load(text)
    assert leaf.pop("type") == name
    knobs = [p for p in inspect.signature(OBJECTIVES[name]).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert leaf == {p.name: p.default for p in knobs}


def test_every_leaf_is_an_objective_and_stands_in_a_file_of_its_name():
    assert {path.stem for path in CONF.glob("*.yaml")} == set(OBJECTIVES)
    for name, cls in OBJECTIVES.items():
        assert cls.__module__.rpartition(".")[2] == name


#: Objectives with all that they can do, and whether they draw.
EVERYTHING = {
    "supervised": ({}, False),
    "next_token": ({}, False),
    "bidirectional_lm": ({}, False),
    "masked_token": ({"share": 0.5}, True),
    "denoising": ({"mask_share": 0.4, "delete_share": 0.2, "permute": True}, True),
}


def test_every_objective_is_put_to_the_laws_below():
    assert set(EVERYTHING) == set(OBJECTIVES)


def parts(batch):
    """Each row alone: its real ids, and its weights."""
    signals = {name: listed(signal) for name, signal in batch.signals.items()}
    weights = {
        name: [row[:n] for row, n in zip(w.tolist(), batch.signals[name].counts.tolist(), strict=True)]
        for name, w in batch.weights.items()
    }
    return [
        {kind: {n: values[i] for n, values in found.items()} for kind, found in (("s", signals), ("w", weights))}
        for i in range(batch.rows)
    ]


@pytest.mark.parametrize("name", EVERYTHING)
@given(
    rows=st.one_of(ragged, running), split=st.sampled_from(["train", "valid"]), epoch=st.integers(0, 3), data=st.data()
)
def test_what_a_row_becomes_does_not_depend_on_the_batch_it_stands_in(name, rows, split, epoch, data):
    objective = load_objective({"type": name, **EVERYTHING[name][0]}, Given(rows))
    whole = parts(objective.batch(split, range(len(rows)), epoch))
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    assert parts(objective.batch(split, torch.tensor(some), epoch)) == [whole[row] for row in some]


@pytest.mark.parametrize("name", EVERYTHING)
def test_epochs_and_seeds_draw_anew_in_training_and_alike_in_validation(name):
    knobs, draws = EVERYTHING[name]
    source = Given(long_rows(20, 30))

    def seen(split, epoch, **more):
        return parts(load_objective({"type": name, **knobs, **more}, source).batch(split, range(20), epoch))

    assert seen("train", 0) == seen("train", 0)
    assert seen("valid", 0) == seen("valid", 3)
    if draws:
        assert seen("train", 0) != seen("train", 1)
        assert seen("train", 0) != seen("train", 0, seed=1)
        assert seen("train", 0) != seen("valid", 0)


@pytest.mark.parametrize("name", EVERYTHING)
@given(rows=ragged)
def test_a_batch_has_the_fields_it_is_said_to_have_and_lengths_that_plan_it(name, rows):
    objective = load_objective({"type": name, **EVERYTHING[name][0]}, Given(rows))
    batch = objective.batch("train", range(len(rows)))
    assert set(batch.signals) == set(objective.fields)
    for field, signal in batch.signals.items():
        described = objective.fields[field]
        assert signal.kind == described.kind
        assert int(signal.values.max()) < described.vocabulary
        assert described.vocabulary == len(described.tokens) == len(described.idf)
        assert not (signal.values * ~signal.mask).any() if signal.mask is not None else True, "padding is zero"
        assert len(objective.show(field, signal)) == len(rows)
    own = {field for field, described in objective.fields.items() if described.axis is None}
    assert set(objective.lengths("train", range(len(rows)))) == own
    assert sum(len(r) for (r,) in Batches(objective, "train", tokens=30)) == len(rows)


# Masked tokens


def test_of_15_per_cent_80_are_masked_10_are_random_and_10_stay():
    rows = long_rows(400, 200)
    source, target, batch = made("masked_token", rows)
    assert target == rows
    hidden = batch.weights["target"].bool()
    assert float(hidden.float().mean()) == pytest.approx(0.15, abs=0.001)
    before, after = torch.tensor(target)[hidden], torch.tensor(source)[hidden]
    count = len(before)
    assert (torch.tensor(source) == torch.tensor(target))[~hidden].all(), "what is not chosen stays"
    plain = VOCABULARY - FIRST
    masked, same = float((after == VOCABULARY).float().mean()), float((after == before).float().mean())
    assert masked == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / count))
    assert same == pytest.approx(0.1 + 0.1 / plain, abs=4 * math.sqrt(0.09 / count))
    others = Counter(after[(after != VOCABULARY) & (after != before)].tolist())
    assert min(others) >= FIRST
    expected = sum(others.values()) / plain
    assert len(others) == plain
    assert all(abs(found - expected) < 5 * math.sqrt(expected) for found in others.values())
    places = hidden.float().mean(0)  # every step is as likely as any other
    assert float((places - 0.15).abs().max()) < 5 * math.sqrt(0.15 * 0.85 / len(rows))


@given(rows=st.one_of(ragged, running), share=st.floats(0.01, 1))
def test_special_tokens_are_never_chosen_and_at_least_one_other_is(rows, share):
    _, target, batch = made("masked_token", rows, share=share)
    assert target == rows
    for row, weights in zip(rows, batch.weights["target"].tolist(), strict=True):
        able = [token >= FIRST for token in row]
        assert all(ok or not weight for ok, weight in zip([*able, *[False] * 99], weights, strict=False))
        assert max(1, math.floor(share * sum(able))) <= sum(weights) + (not any(able))
        assert sum(weights) <= max(1, math.ceil(share * sum(able)))


def test_masks_alone_or_none_at_all():
    rows = long_rows(20, 50)
    for knobs, expected in (({"masked": 1.0, "random": 0.0}, True), ({"masked": 0.0, "random": 0.0}, False)):
        source, _, batch = made("masked_token", rows, **knobs)
        hidden = batch.weights["target"].bool()
        assert ((torch.tensor(source) == VOCABULARY) == (hidden & expected)).all()
        assert expected or source == rows


# Denoising


def spans(source, target, mask=VOCABULARY):
    """Between two tokens that stayed, and before and after all: how many masks, and how many tokens are gone.

    Every token of ``target`` is there once, so its place is known.
    """
    place = {token: i for i, token in enumerate(target)}
    found, masks, last = [], 0, -1
    for token in [*source, None]:
        if token == mask:
            masks += 1
        else:
            at = len(target) if token is None else place[token]
            assert at > last, "the order is kept"
            found.append((masks, at - last - 1))
            masks, last = 0, at
    return found


def counting(count, length):
    vocabulary = FIRST + length
    rows = [list(range(FIRST, vocabulary)) for _ in range(count)]
    return Given(rows, vocabulary, tuple(str(i) for i in range(vocabulary))), vocabulary


def test_spans_are_poisson_and_hide_the_share_that_was_asked_for():
    rows, mask = counting(60, 2000)
    source, target, _ = made("denoising", rows, mask_share=0.2, mean_span=3)
    gaps = [gap for a, b in zip(source, target, strict=True) for gap in spans(a, b, mask)]
    assert sum(gone for _, gone in gaps) == 60 * 400
    assert not [gap for gap in gaps if gap[1] and not gap[0]], "nothing goes without a mask"
    lengths = Counter(gone for masks, gone in gaps if masks == 1)  # two in one place cannot be told apart
    total = sum(lengths.values())
    assert total > 6000
    for k in range(9):
        expected = math.exp(-3) * 3**k / math.factorial(k)
        assert lengths[k] / total == pytest.approx(expected, abs=0.02), k
    early = [row[: len(row) // 2].count(mask) / row.count(mask) for row in source]
    assert sum(early) / len(early) == pytest.approx(0.5, abs=0.02), "spans fall anywhere"


@given(
    length=st.integers(1, 30), share=st.floats(0, 0.99), mean=st.floats(0.1, 9), lost=st.floats(0, 0.99),
    ended=st.booleans(), epoch=st.integers(0, 5),
)  # fmt: skip
def test_what_is_left_of_a_row_stands_in_its_order_and_its_end_at_the_end(length, share, mean, lost, ended, epoch):
    rows, mask = counting(3, length)
    rows.rows = [[*row, EOS] if ended else row for row in rows.rows]
    knobs = {"mask_share": share, "mean_span": mean, "delete_share": lost}
    for a, b in zip(*made("denoising", rows, epoch=epoch, **knobs)[:2], strict=True):
        assert b == rows.rows[0]
        assert (a[-1] == EOS) == ended
        body = a[:-1] if ended else a
        assert body, "something is left"
        gone = sum(gone for _, gone in spans(body, range(FIRST, FIRST + length), mask))
        deleted = [min(length - 1, f(lost * length)) for f in (math.floor, math.ceil)]
        hidden = [[f(share * (length - d)) for f in (math.floor, math.ceil)] for d in deleted]
        assert gone <= deleted[1] + hidden[0][1]
        if mean >= 1 and length > 10:  # spans of length 0 do not use up those that there may be
            assert gone >= deleted[0] + hidden[1][0]


def test_tokens_are_lost_evenly():
    rows, mask = counting(300, 50)
    source, _, _ = made("denoising", rows, mask_share=0.0, delete_share=0.1)
    assert {len(row) for row in source} == {45}
    kept = Counter(token for row in source for token in row)
    assert mask not in kept
    assert all(count == pytest.approx(270, abs=5 * math.sqrt(300 * 0.09)) for count in kept.values())


def test_sentences_change_places_and_every_order_is_as_likely():
    stop = TOKENS.index(".")
    sentences = [[10, 11, stop], [20, stop], [30, 31, 32]]
    row = [*itertools.chain(*sentences), EOS]
    source, target, _ = made("denoising", [row] * 1200, mask_share=0.0, permute=True)
    assert target == [row] * 1200
    orders = {(*itertools.chain(*order), EOS): 0 for order in itertools.permutations(sentences)}
    for found in source:
        orders[tuple(found)] += 1
    assert all(count == pytest.approx(200, abs=5 * math.sqrt(200)) for count in orders.values())


# One sequence, one way and both ways


def test_the_next_token_needs_no_other_field():
    source = load_source({"type": "copy"})
    batch = load_objective({"type": "next_token"}, source).batch("train", range(4))
    assert list(batch.signals) == ["target"]
    assert listed(batch.signals["target"]) == listed(source.batch("train", range(4))["target"])


@given(rows=st.one_of(ragged, running))
def test_backward_is_the_text_turned_round_between_its_ends(rows):
    objective = load_objective({"type": "bidirectional_lm"}, Given(rows))
    assert (objective.fields["backward"].start, objective.fields["backward"].stop) == (EOS, SOS)
    signals = objective.batch("train", range(len(rows))).signals
    for forward, backward, row in zip(listed(signals["target"]), listed(signals["backward"]), rows, strict=True):
        assert forward == row
        ended = row[-1] == EOS
        assert backward == [*reversed(row[:-1] if ended else row), *([SOS] if ended else [])]
    assert objective.show("backward", signals["backward"]) == objective.show("target", signals["target"])


def test_vectors_can_be_read_both_ways():
    source = load_source({"type": "sine"})
    signals = load_objective({"type": "bidirectional_lm"}, source).batch("train", range(3)).signals
    assert isinstance(signals["backward"], Seq)
    assert torch.equal(signals["backward"].values, signals["target"].values.flip(1))


def test_only_what_is_read_forwards_alone_can_be_streamed():
    rows = Given([[5, 6, 7]] * 4)
    rows.running = True
    able = {name for name in OBJECTIVES if load_objective({"type": name, **EVERYTHING[name][0]}, rows).running}
    assert able == {"supervised", "next_token"}


# The token [MASK]


def table(folder, text, **knobs):
    (folder / "a.tsv").write_text(text)
    return load_source({"type": "pairs", "path": f"{folder}/a.tsv", "valid": 0, **knobs})


@pytest.mark.parametrize(
    ("tokeniser", "shown"),
    [
        ({"type": "words"}, "[MASK] [MASK] [MASK]"),
        ({"type": "wordpiece"}, "[MASK]"),
        ({"type": "characters"}, "[MASK][MASK]"),
        ({"type": "bytes"}, "[MASK][MASK]"),
    ],
)
def test_masks_are_shown_as_the_text_would_have_shown_a_token(tmp_path, tokeniser, shown):
    source = table(tmp_path, "x\tthe cat sat\ny\ta dog ran\n", tokeniser=tokeniser)
    objective = load_objective({"type": "masked_token", "share": 1.0, "masked": 1.0, "random": 0.0}, source)
    batch = objective.batch("train", range(2))
    for text in objective.show("source", batch.signals["source"]):
        assert shown in text
        assert not set(text.replace("[MASK]", "")) - {" "}
    assert objective.show("target", batch.signals["target"]) == ["the cat sat", "a dog ran"]


@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_not_hidden_is_shown_in_its_place(tmp_path, reverse):
    source = table(tmp_path, "abcdefgh\tx\nhgfedcba\ty\n", reverse_source=reverse)
    objective = load_objective({"type": "masked_token", "field": "source", "masked": 1.0, "random": 0.0}, source)
    for epoch in range(5):
        signals = objective.batch("train", range(2), epoch).signals
        for text, whole in zip(objective.show("source", signals["source"]), ["abcdefgh", "hgfedcba"], strict=True):
            assert any(text == whole[:i] + "[MASK]" + whole[i + 1 :] for i in range(8)) or text.count("[MASK]") == 2
        assert objective.show("target", signals["target"]) == ["abcdefgh", "hgfedcba"]


@pytest.mark.parametrize(
    ("name", "knobs"), [("masked_token", {"masked": 1.0, "random": 0.0}), ("denoising", {"mask_share": 0.9})]
)
def test_the_mask_is_one_more_token_unless_there_is_one(tmp_path, name, knobs):
    text = "x\tthe cat sat\ny\ta dog ran\n"
    plain = table(tmp_path, text, tokeniser={"type": "words"})
    fields = load_objective({"type": name}, plain).fields
    known = plain.fields["target"]
    for field in fields.values():
        assert field.tokens == (*known.tokens, "[MASK]")
        assert field.vocabulary == known.vocabulary + 1
        assert field.idf == (*known.idf, 0.0)
    knows = table(tmp_path, text, tokeniser={"type": "words", "specials": ["[MASK]", "[CLS]"]})
    objective = load_objective({"type": name, **knobs}, knows)
    known = knows.fields["target"]
    for field in objective.fields.values():
        assert field.tokens == known.tokens
        assert field.idf[known.tokens.index("[MASK]")] == 0.0
    shown = objective.show("source", objective.batch("train", range(2)).signals["source"])
    assert all("[MASK]" in text for text in shown)
    assert "[CLS]" not in "".join(shown)


# Training


TRAINED = {
    "masked_token": ("tagger", ["objective.share=0.5"]),
    "denoising": ("seq2seq", ["objective.permute=true"]),
    "next_token": ("language_model", []),
    "bidirectional_lm": ("bidirectional_lm", []),
}


@pytest.mark.parametrize("name", TRAINED)
def test_every_objective_trains_the_template_that_it_is_for(name):
    model, overrides = TRAINED[name]
    given = ["data=python_docs", "data.length=24", f"model={model}", f"objective={name}", "model.dim=16"]
    meta, objective = compile_config(compose([*given, *overrides]))
    graph = meta.materialise(seed=1)
    batch = objective.batch("train", range(4))
    optimiser = torch.optim.Adam(graph.parameters(), 0.01)

    def loss():
        signals = batch.signals
        reads = {name: signals[name] for name in graph.plan.inputs if name not in graph.plan.generated}
        outputs, _ = graph(reads | graph.shifted(signals))
        losses = graph.losses(outputs, signals)
        weights = {head.name: batch.weight(head.predicts) for head in graph.heads}
        return sum((losses[n] * w).sum() / w.sum() for n, w in weights.items())

    first = loss().item()
    assert first == pytest.approx(len(graph.heads) * math.log(107), rel=0.25), "at first a guess"
    for _ in range(8):
        optimiser.zero_grad()
        loss().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in graph.parameters())
        optimiser.step()
    assert loss().item() < 0.9 * first


def test_both_directions_read_one_embedding():
    meta, _ = compile_config(compose(["data=python_docs", "model=bidirectional_lm", "objective=bidirectional_lm"]))
    graph = meta.materialise(seed=1)
    assert graph.nodes["embedding"].weight is graph.nodes["backward_embedding"].weight
    assert graph.nodes["decoder"] is not graph.nodes["backward_decoder"]


# Errors


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["objective=next_token", "data=induction"],
         ["objective.type", "command line: objective=next_token", "'target' must be one", "a label"]),
        (["objective=next_token", "data=associative_recall"], ["objective.type", "one value a step of 'source'"]),
        (["objective=bidirectional_lm", "data=adding"], ["objective.type", "has a vec"]),
        (["objective=masked_token", "data=adding"],
         ["objective.type", "command line: objective=masked_token", "has none (source: seq, target: vec)"]),
        (["objective=denoising", "data=sine"], ["objective.type", "has none"]),
        (["objective=masked_token", "objective.field=targets"],
         ["objective.field", "command line: objective.field=targets", "no field 'targets'", "Did you mean 'target'?"]),
        (["objective=masked_token", "data=associative_recall", "objective.field=target"],
         ["objective.field", "'target' is no sequence of tokens of its own", "target: ids along source"]),
        (["objective=masked_token", "objective.masked=0.95"], ["objective.random", "0.1 and masked, 0.95"]),
        (["objective=masked_token", "objective.share=0"], ["objective.share", "above 0"]),
        (["objective=denoising", "objective.permute=true", "objective.ends=[x,y]", "data=copy"],
         ["objective.ends", "none of x, y is a token of 'target'"]),
        (["objective=denoising", "objective.mask_share=1.5"], ["objective.mask_share", "below 1"]),
        (["objective=masked_tokn"], ["there is no objective 'masked_tokn'", "Did you mean 'masked_token'?"]),
    ],
)  # fmt: skip
def test_an_objective_that_does_not_fit_is_one_clear_sentence_with_its_place(overrides, words):
    with pytest.raises(UserError) as caught:
        compile_config(compose(overrides))
    said = " ".join(str(caught.value).split())
    for word in words:
        assert word in said, said
