"""The confusion matrix and the calibration of classifiers and taggers, against torchmetrics and a count by hand."""

from dataclasses import replace

import pytest
import torch
import torchmetrics.functional as reference

from composer.core import registry
from composer.core.signals import Contents, Field, Ids, Seq
from composer.core.target import Target
from composer.metrics.outcomes import BINS, ClassOutcomes, class_outcomes, outcomes_of
from composer.views.figures.class_figures import _folded, class_figures
from tests.support.metrics import family, seen

TARGET = Target("tags", Field("ids", vocabulary=5, contents=Contents(tokens=tuple("abcde"))), {}, likelihoods=True)


def drawn(seed=0, rows=8, time=6):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, time + 1, (rows,), generator=generator)
    logits = 2 * torch.randn(rows, time, 5, generator=generator, dtype=torch.float64)
    wanted = torch.randint(5, (rows, time), generator=generator)
    view = seen(Ids(wanted, lengths), Ids(logits.argmax(-1), lengths))
    head = registry.blocks("head")["categorical"](4, 5)
    return replace(view, head=head, output=Seq(logits, lengths)), logits, wanted


def test_the_confusion_and_the_calibration_error_are_those_of_torchmetrics():
    view, logits, wanted = drawn()
    found = outcomes_of(view, TARGET)
    kept = view.counted
    theirs = reference.confusion_matrix(logits.argmax(-1)[kept], wanted[kept], task="multiclass", num_classes=5)
    assert torch.equal(found.confusion, theirs.double())
    error = reference.calibration_error(
        logits.softmax(-1)[kept], wanted[kept], task="multiclass", num_classes=5, n_bins=BINS, norm="l1"
    )
    assert found.calibration_error == pytest.approx(float(error), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tags", "tags together", "label"])
def test_batches_add_up_and_every_classifier_has_both_figures(name):
    graph, objective = family(name)
    whole = class_outcomes(graph, objective, [objective.batch("valid", range(9))])["output"]
    parts = [objective.batch("valid", range(4)), objective.batch("valid", range(4, 9))]
    cut = class_outcomes(graph, objective, parts)
    torch.testing.assert_close(cut["output"].confusion, whole.confusion)
    torch.testing.assert_close(cut["output"].bins, whole.bins)
    assert set(class_figures(cut)) == {"confusion_output", "calibration_output"}


@pytest.mark.slow
def test_a_model_without_classes_has_no_such_figure():
    graph, objective = family("generated tokens")
    assert class_outcomes(graph, objective, [objective.batch("valid", range(3))]) == {}


def test_the_rarest_of_many_classes_are_one():
    matrix = torch.diag(torch.arange(40, dtype=torch.float64))
    names, folded = _folded(ClassOutcomes(tuple(map(str, range(40))), matrix, None))
    assert (len(names), names[0], names[-1]) == (24, "17", "(others)")
    assert folded.sum() == matrix.sum()
    assert folded[-1, -1] == sum(range(17))
