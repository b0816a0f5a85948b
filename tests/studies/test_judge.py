"""Sweeps, searches and studies are judged by the metric that chooses the best checkpoints of their runs."""

import pytest
from omegaconf import OmegaConf

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.studies.sweep.kinds import _judged
from composer.studies.sweep.settings import plan_search

SEARCH = ["search=tpe", "data=copy", "model.dim=8"]
SPACE = {"optimiser.learning_rate": "interval(0.001, 0.01)"}


@pytest.mark.parametrize(
    ("judge", "direction"), [("loss", "min"), ("exact", "max"), ("wer", "min"), ("tags/f1", "max")]
)
def test_a_sweep_is_judged_as_its_runs_are(judge, direction):
    config = OmegaConf.create({"training": {"judge": judge}, "plugins": []})
    assert _judged(config) == (f"valid/{judge}", direction)


def test_a_sweep_by_an_unknown_metric_is_refused():
    with pytest.raises(UserError, match="Did you mean 'exact'"):
        _judged(OmegaConf.create({"training": {"judge": "exat"}, "plugins": []}))


def test_a_search_is_for_the_judge_unless_it_names_a_metric():
    found = plan_search(compose([*SEARCH, "training.judge=exact"]), SPACE)
    assert (found.metric, found.direction) == ("valid/exact", "max")
    assert type(found).from_facts(found.facts()) == found
    found = plan_search(compose([*SEARCH, "training.judge=exact", "search.metric=valid/wer"]), SPACE)
    assert (found.metric, found.direction) == ("valid/wer", "min")
    found = plan_search(compose(SEARCH), SPACE)
    assert (found.metric, found.direction) == ("valid/loss", "min")
