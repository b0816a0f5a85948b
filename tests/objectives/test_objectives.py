"""Objectives: what they make of a row is what their papers say, and a function of seed, split, row and epoch alone."""

import inspect
import math

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
from composer.core.signals import Seq
from composer.data import load_source
from composer.objectives import load_objective
from tests.support.objectives import (
    EOS,
    SOS,
    Given,
    listed,
    long_rows,
    ragged,
    running,
)
from tests.support.paths import ROOT

CONF = ROOT / "conf" / "objective"
OBJECTIVES = registry.entries("objective")


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
    "skip_gram": ({"subsample": 0.02}, True),
    "cbow": ({"subsample": 0.02}, True),
}


def test_every_objective_is_put_to_the_laws_below():
    assert set(EVERYTHING) == set(OBJECTIVES)


def parts(batch):
    """Each row alone: its real ids, and its weights."""
    signals = {name: listed(s) if s.timed else s.values.tolist() for name, s in batch.signals.items()}
    weights = {
        name: [row[:n] for row, n in zip(w.tolist(), batch.signals[name].counts.tolist(), strict=True)]
        if batch.signals[name].timed
        else w.tolist()
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
        assert described.vocabulary == len(described.contents.tokens) == len(described.contents.idf)
        mask = signal.mask if signal.timed else None
        assert not (signal.values * ~mask).any() if mask is not None else True, "padding is zero"
        assert len(objective.show(field, signal)) == len(rows)
    own = {field for field, described in objective.fields.items() if described.timed and described.axis is None}
    assert set(objective.lengths("train", range(len(rows)))) == own
    assert sum(len(r) for (r,) in Batches(objective, "train", tokens=30)) == objective.size("train")


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


# Training


TRAINED = {
    "masked_token": ("tagger", ["objective.share=0.5"]),
    "denoising": ("seq2seq", ["objective.permute=true"]),
    "next_token": ("language_model", []),
    "bidirectional_lm": ("bidirectional_lm", []),
    "skip_gram": ("skip_gram", []),
    "cbow": ("cbow", []),
}


@pytest.mark.slow
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


@pytest.mark.slow
def test_both_directions_read_one_embedding():
    meta, _ = compile_config(compose(["data=python_docs", "model=bidirectional_lm", "objective=bidirectional_lm"]))
    graph = meta.materialise(seed=1)
    assert graph.nodes["embedding"].weight is graph.nodes["backward_embedding"].weight
    assert graph.nodes["decoder"] is not graph.nodes["backward_decoder"]


# Errors


@pytest.mark.slow
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
