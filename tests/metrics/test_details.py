"""Beside the metrics: figures by class against torchmetrics, entities against spans, confusions and worst examples."""

import random
from collections import Counter

import pytest
import torch
import torchmetrics.functional.classification as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.core.signals import Contents, Field, Ids, Label, Vec
from composer.core.target import Target
from composer.metrics import evaluate
from composer.metrics.outcomes import ByName, by_name, outcomes_of
from tests.support.metrics import family, seen

TAGS = ("O", "B-A", "I-A", "B-B", "I-B")


def drawn(seed, *shape, high):
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def shares(found, name):
    """Precision, recall and F1 of a class; those that are nan are 0, as torchmetrics has it."""
    row = next(row for row in found.rows() if row[found.kind] == name)
    return [row[key] if row[key] == row[key] else 0.0 for key in ("precision", "recall", "f1")]


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_the_figures_by_class_are_those_of_torchmetrics(seed):
    field = Field("label", vocabulary=4, contents=Contents(tokens=tuple("abcd")))
    wanted, predicted = drawn(seed, 30, high=4), drawn(seed + 1, 30, high=4)
    found = by_name(seen(Label(wanted), Label(predicted), field=field), Target("x", field, {}))
    measures = (reference.multiclass_precision, reference.multiclass_recall, reference.multiclass_f1_score)
    theirs = [measure(predicted, wanted, 4, average=None) for measure in measures]
    for i, name in enumerate("abcd"):
        if (wanted == i).any() or (predicted == i).any():
            assert shares(found, name) == pytest.approx([float(each[i]) for each in theirs])
    supports = [row["support"] for row in found.rows()]
    assert supports == sorted(supports, reverse=True)
    assert sum(supports) == 30


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_the_figures_by_label_are_those_of_torchmetrics(seed):
    field = Field("vec", dim=3, contents=Contents(names=("x", "y", "z")))
    wanted, predicted = drawn(seed, 20, 3, high=2), drawn(seed + 1, 20, 3, high=2)
    view = seen(Vec(wanted.float()), Vec(predicted.float()), field=field)
    found = by_name(view, Target("x", field, {}, binary=True))
    measures = (reference.multilabel_precision, reference.multilabel_recall, reference.multilabel_f1_score)
    theirs = [measure(predicted, wanted, 3, average=None) for measure in measures]
    for i, name in enumerate("xyz"):
        assert shares(found, name) == pytest.approx([float(each[i]) for each in theirs])


def spans(tags):
    """The entities of BIO tags as (first step, step after the last, type), by the definition: one tag at a time."""
    found, begun = set(), None
    for step, tag in enumerate([*tags, "O"]):
        if begun is not None and (tag[0] != "I" or tag[2:] != begun[1]):
            found.add((begun[0], step, begun[1]))
            begun = None
        if tag != "O" and begun is None:
            begun = (step, tag[2:])
    return found


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_the_figures_by_type_of_entity_are_those_of_sets_of_spans(seed):
    rng = random.Random(seed)
    rows = [[[rng.choice(TAGS) for _ in range(rng.randint(1, 9))] for _ in range(2)] for _ in range(6)]
    rows = [(wanted, [rng.choice([tag, *TAGS[:1]]) for tag in wanted]) for wanted, _ in rows]
    lengths = torch.tensor([len(wanted) for wanted, _ in rows])
    wanted, predicted = (
        torch.tensor([[TAGS.index(tag) for tag in row[side]] + [1] * (9 - len(row[side])) for row in rows])
        for side in (0, 1)
    )
    field = Field("ids", vocabulary=5, contents=Contents(tokens=TAGS))
    found = by_name(seen(Ids(wanted, lengths), Ids(predicted, lengths), field=field), Target("x", field, {}))
    counts = {kind: [0, 0, 0] for kind in "AB"}
    for row in rows:
        true, guessed = (spans(tags) for tags in row)
        for i, some in enumerate((true & guessed, true, guessed)):
            for _, _, kind in some:
                counts[kind][i] += 1
    assert (found.kind, found.names) == ("entity", ("A", "B"))
    assert found.counts.tolist() == [counts["A"], counts["B"]]


def test_confusions_are_counted_and_what_does_not_occur_is_left_out():
    field = Field("label", vocabulary=5, contents=Contents(tokens=tuple("abcde")))
    wanted, predicted = drawn(1, 40, high=3), drawn(2, 40, high=3)
    view, target = seen(Label(wanted), Label(predicted), field=field), Target("x", field, {})
    counted = Counter(("abcde"[w], "abcde"[p]) for w, p in zip(wanted.tolist(), predicted.tolist(), strict=True))
    cells = outcomes_of(view, target).cells()
    assert {(w, p): count for w, p, count in cells} == counted
    assert [count for *_, count in cells] == sorted(counted.values(), reverse=True)
    assert {row["class"] for row in by_name(view, target).rows()} <= set("abc")
    assert ByName("class", ("a", "b"), torch.zeros(2, 3)).rows() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tags", "tags together", "label", "generated text", "numbers", "there or not"])
def test_the_worst_examples_are_those_of_the_largest_loss_however_the_rows_are_cut(name):
    graph, objective = family(name)
    whole = evaluate(graph, objective, [objective.batch("valid", range(20))], keep=True, worst=4)
    parts = [objective.batch("valid", rows) for rows in (range(13, 20), range(6, 13), range(6))]
    cut = evaluate(graph, objective, parts, worst=4)
    losses = sorted(whole.statistics["loss"][:, 0].tolist(), reverse=True)[:4]
    for found in (whole, cut):
        worst = found.details["output"].worst
        assert [row["loss"] for row in worst] == pytest.approx(losses, rel=1e-5)
        assert all({"wanted", "predicted", "right"} <= set(row) for row in worst)
    assert evaluate(graph, objective, parts, worst=0).details["output"].worst == []
    assert evaluate(graph, objective, parts).details == {}


@pytest.mark.slow
def test_a_language_model_has_no_details():
    graph, objective = family("language model")
    found = evaluate(graph, objective, [objective.batch("valid", range(3))], worst=4)
    assert found.details["output"].record() == {"worst": []}
