"""Sweeps, searches and studies are judged by the metric that chooses the best checkpoints of their runs."""

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.studies.sweep.kinds import _judged, plan_sweep
from composer.studies.sweep.search.search_settings import plan_search
from tests.support import processes
from tests.support.paths import ROOT

SEARCH = ["search=tpe", "data=copy", "model.dim=8"]
SPACE = {"optimiser.learning_rate": "interval(0.001, 0.01)"}


def planned(arguments):
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3", job_name="train"):
        loader = GlobalHydra.instance().config_loader()
        config = loader.load_configuration("train", [], RunMode.MULTIRUN)
        return plan_sweep(config, loader, arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "judged"),
    [
        (["data=copy"], ("valid/loss", "min")),
        (["data=parity", "model=seq2vec"], ("valid/accuracy", "max")),
        (["data=parity", "model=seq2vec", "training.monitor=loss"], ("valid/loss", "min")),
        (["data=copy", "training.monitor=wer"], ("valid/wer", "min")),
        (["experiment=tagger"], ("valid/entity_f1", "max")),
        (
            ["data=associative_recall", "model=tagger", "objective=supervised", "study=rnn_vs_transformer"],
            ("valid/accuracy", "max"),
        ),
        (["data=sine", "model=forecaster", "search=tpe", "optimiser.learning_rate=1e-4,1e-3"], ("valid/mse", "min")),
    ],
)
def test_a_sweep_is_judged_as_its_runs_are(arguments, judged):
    facts = planned([*arguments, "seed=1,2"] if "study" not in arguments[-1] else arguments)
    assert (facts["judged"], facts["direction"]) == judged


def test_a_sweep_by_an_unknown_metric_is_refused():
    with pytest.raises(UserError, match="Did you mean 'exact'"):
        _judged("exat")


def test_a_search_is_for_the_judge_unless_it_names_a_metric():
    found = plan_search(compose([*SEARCH, "training.monitor=exact"]), SPACE)
    assert (found.metric, found.direction) == ("valid/exact", "max")
    assert type(found).from_facts(found.facts()) == found
    found = plan_search(compose([*SEARCH, "training.monitor=exact", "search.metric=valid/wer"]), SPACE)
    assert (found.metric, found.direction) == ("valid/wer", "min")
    found = plan_search(compose(SEARCH), SPACE)
    assert (found.metric, found.direction) == ("valid/loss", "min")


METRIC = """from composer import Metric, register


@register("metric", "of_a_plugin")
class OfAPlugin(Metric):
    direction, meaning = "max", "a metric of the user's own"

    def rows(self, batch):
        raise NotImplementedError
"""


def print_searched(plugin):
    found = plan_search(compose([*SEARCH, f"plugins=[{plugin}]", "search.metric=valid/of_a_plugin"]), SPACE)
    print(found.metric, found.direction)


@pytest.mark.slow
def test_a_search_may_be_for_a_metric_that_a_plugin_registers(tmp_path):
    plugin = tmp_path / "searched_metric.py"
    plugin.write_text(METRIC)
    done = processes.run(print_searched, plugin)
    assert done.out.strip() == "valid/of_a_plugin max", done.err
