"""Metrics of entities, against results of seqeval and against another way to find entities."""

import json
from itertools import groupby

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.core.problems import UserError
from composer.core.signals import Contents, Field, Ids
from composer.core.target import Target
from composer.metrics import headline
from composer.metrics.entities import marks_entities
from composer.metrics.fitting import default_metrics
from tests.support.metrics import metric, seen, value
from tests.support.paths import ROOT

#: Random tag sequences with the scores that seqeval 1.2.2 gives them: f1_score(wanted, found), and so on.
CASES = json.loads((ROOT / "tests" / "fixtures" / "seqeval.json").read_text(encoding="utf-8"))

BIO = ("O", "B-a", "I-a", "B-b", "I-b")


def viewed(tags, wanted, found, weight=None):
    """Rows of tags, as a head's targets and predictions, with nonsense in the padding."""
    lengths = torch.tensor([len(row) for row in wanted])
    time = int(lengths.max())
    both = []
    for rows in (wanted, found):
        ids = [[tags.index(tag) for tag in row] + [0] * (time - len(row)) for row in rows]
        both.append(Ids(torch.tensor(ids), lengths))
    return seen(*both, weight)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_entities_are_counted_as_seqeval_counts_them(case):
    field = Field("ids", vocabulary=len(case["tags"]), axis="source", contents=Contents(tokens=tuple(case["tags"])))
    wanted, found = ([row.split() for row in case[which]] for which in ("wanted", "found"))
    view = viewed(case["tags"], wanted, found)
    for name in ("f1", "precision", "recall"):
        assert value(metric(f"entity_{name}", field), view) == pytest.approx(case[name], abs=1e-12)
    halves = [viewed(case["tags"], wanted[part], found[part]) for part in (slice(0, 5), slice(5, None))]
    assert value(metric("entity_f1", field), *halves) == pytest.approx(case["f1"], abs=1e-12)


def entities(tags):
    """The entities of legal BIO tags: runs that begin with B."""
    number, runs = 0, []
    for place, tag in enumerate(tags):
        number += tag[0] == "B"
        runs.append((tag != "O" and (number, tag[2:]), place))
    groups = [(key, [place for _, place in run]) for key, run in groupby(runs, key=lambda item: item[0])]
    return {(key[1], places[0], places[-1]) for key, places in groups if key}


def legal(row):
    """BIO tags in which I-x follows B-x or I-x alone."""
    for place, tag in enumerate(row):
        if tag[0] == "I" and (place == 0 or row[place - 1][2:] != tag[2:]):
            row[place] = "B" + tag[1:]
    return row


pairs = st.lists(st.tuples(*[st.sampled_from(BIO)] * 2), min_size=1, max_size=8)


@given(st.lists(pairs, min_size=1, max_size=4))
def test_entities_of_bio_are_runs_from_b(rows):
    wanted, found = ([legal([pair[side] for pair in row]) for row in rows] for side in (0, 1))
    field = Field("ids", vocabulary=5, contents=Contents(tokens=BIO))
    counts = metric("entity_f1", field).rows(viewed(BIO, wanted, found)).tolist()
    for row, (one, other) in zip(counts, zip(wanted, found, strict=True), strict=True):
        assert row == [len(entities(one) & entities(other)), len(entities(one)), len(entities(other))]


def test_a_step_that_does_not_count_is_outside():
    field = Field("ids", vocabulary=5, contents=Contents(tokens=BIO))
    row = ["B-a", "I-a", "I-a"]
    view = viewed(BIO, [row], [["B-a", "I-a", "O"]], weight=torch.tensor([[1.0, 1.0, 0.0]]))
    assert value(metric("entity_f1", field), view) == 1


def test_tags_that_mark_entities_have_these_metrics_and_others_not():
    for tags in (BIO, ("I-a", "O"), ("O", "B-x", "E-x", "S-x")):
        assert marks_entities(tags)
    for tags in (None, ("B-a", "I-a"), ("O",), ("O", "NOUN"), ("O", "B-a", "X-a"), ("O", "S-a"), ("O", "B-", "B-a")):
        assert not marks_entities(tags)
    target = Target("tags", Field("ids", vocabulary=5, axis="words", contents=Contents(tokens=BIO)), {})
    names = default_metrics(target)
    assert names == (
        "accuracy", "accuracy_over_commonest", "macro_f1", "entity_f1", "entity_precision", "entity_recall", "exact",
    )  # fmt: skip
    assert headline(names) == "entity_f1"
    with pytest.raises(UserError, match="mark no entities"):
        metric("entity_f1", Field("ids", vocabulary=2, contents=Contents(tokens=("NOUN", "O"))))
