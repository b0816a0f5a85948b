"""The weight of a head: of its loss in the sum that is trained, logged and judged."""

import pytest
import torch

from composer.core.problems import ConfigError
from composer.core.signals import Field, Label, Vec
from composer.graph.compiler import compile_graph
from composer.metrics.evaluation import scores_for
from composer.objectives import Batch
from composer.training.losses import LossTotals, loss_sums

FIELDS = {"source": Field("vec", dim=3), "kind": Field("label", vocabulary=4), "size": Field("vec", dim=1)}


def nodes(**weights):
    heads = {"sort": ("categorical", "kind"), "measure": ("gaussian", "size")}
    return {
        name: {"kind": "head", "type": kind, "from": "source", "predicts": field}
        | ({"weight": weights[name]} if name in weights else {})
        for name, (kind, field) in heads.items()
    }


def test_the_loss_is_the_weighted_sum_and_every_head_is_reported_without_its_weight():
    plain = compile_graph(nodes(), FIELDS).materialise(1).double()
    weighted = compile_graph(nodes(sort=0.5, measure=3), FIELDS).materialise(1).double()
    torch.manual_seed(0)
    numbers = [torch.randn(5, n, dtype=torch.float64) for n in (3, 1)]
    batch = Batch({"source": Vec(numbers[0]), "kind": Label(torch.tensor([0, 1, 2, 3, 0])), "size": Vec(numbers[1])})
    sums = loss_sums(plain, plain(batch.signals)[0], batch) / 5
    torch.testing.assert_close(loss_sums(weighted, weighted(batch.signals)[0], batch) / 5, sums)
    totals = LossTotals(weighted)
    totals.add(sums, [], torch.tensor(5.0))
    logged = totals.take(1, lambda value: value)
    first, second = sums.tolist()
    expected = {"loss": 0.5 * first + 3 * second, "sort/loss": first, "measure/loss": second}
    assert logged == pytest.approx(expected)
    torch.testing.assert_close(weighted.head_weights, torch.tensor([0.5, 3.0]))


def test_the_loss_of_a_validation_is_the_weighted_sum():
    graph = compile_graph(nodes(sort=0.5, measure=3), FIELDS)
    sums = torch.tensor([8.0, 4.0, 15.0, 3.0], dtype=torch.float64)  # each head's summed loss and weight
    assert float(scores_for(graph)["loss"].value(sums)) == 0.5 * 2 + 3 * 5


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"sort": -1}, "expected a number at least 0, found -1"),
        ({"sort": "much"}, "expected a number at least 0, found 'much'"),
    ],
)
def test_a_wrong_weight_is_one_clear_sentence(changed, words):
    with pytest.raises(ConfigError, match="weight") as caught:
        compile_graph(nodes(**changed), FIELDS)
    assert words in " ".join(str(caught.value).split())


def test_only_a_head_has_a_weight():
    graph = {"both": {"kind": "merge", "type": "concat", "from": ["source"], "weight": 2}, **nodes()}
    graph["sort"]["from"] = "both"
    with pytest.raises(ConfigError, match="is no head, so it has no loss"):
        compile_graph(graph, FIELDS)
