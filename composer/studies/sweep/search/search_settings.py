"""The config's section ``search``: what a search tries, how often, and when it ends a trial early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser

from composer.config.assembly import load_plugins
from composer.config.composition import Composed
from composer.core.binding import bind_section
from composer.core.block import Positive
from composer.core.problems import ConfigError, Report
from composer.metrics import direction
from composer.runs.record import with_present_keys
from composer.studies.tuning.search_space import Space, parse_space
from composer.training.run.plan import check_config
from composer.training.settings import Count

#: The direction of a search in the terms of Optuna and of W&B.
GOALS = {"min": "minimize", "max": "maximize"}


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """``conf/search/tpe.yaml`` explains every key."""

    sampler: Literal["tpe", "random", "cmaes"] = "tpe"
    trials: Positive = 20
    pruner: Literal["median", "hyperband", "none"] = "median"
    startup: Count = 5
    warmup: Count = 0
    metric: str | None = None
    seed: int = 1
    batch: Positive = 4
    storage: Literal["sqlite", "journal"] = "sqlite"
    space: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SearchPlan:
    """A search, as sweep.json keeps it.

    settings: with the space of the command line added to that of the YAML, and the metric that is searched for
    fixed: the overrides that all trials share
    direction: whether a lower (min) or a higher (max) value of the metric is better
    resources: the training steps at which a trial is judged for the first time, and at its end; None if unknown
    """

    settings: SearchSettings
    fixed: tuple[str, ...]
    direction: str
    resources: tuple[int | None, int | None]

    @property
    def metric(self) -> str:
        assert self.settings.metric is not None
        return self.settings.metric

    def space(self) -> Space:
        return parse_space(self.settings.space, "search.space", Report())

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> SearchPlan:
        first, last = facts["resources"]
        return cls(SearchSettings(**facts["settings"]), tuple(facts["fixed"]), facts["direction"], (first, last))


def split_arguments(arguments: Sequence[str], loader: ConfigLoader | None) -> tuple[list[str], dict[str, str]]:
    """The overrides that are the same for all trials, and the ranges to search in, by the keys of their overrides."""
    fixed, ranges = [], {}
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(list(arguments))
    for text, override in zip(arguments, parsed, strict=True):
        key = override.get_key_element()
        if override.is_discrete_sweep():
            ranges[key] = f"choice({','.join(override.sweep_string_iterator())})"
        elif override.is_sweep_override():
            ranges[key] = text.partition("=")[2]
        else:
            fixed.append(text)
    return fixed, ranges


def plan_search(composed: Composed, ranges: Mapping[str, str]) -> SearchPlan:
    """Check the section ``search`` of a config, and the ranges of the command line.

    composed: the config of the overrides that all trials share
    """
    load_plugins(composed)  # which may register the metric
    values = dict(composed.values["search"])
    values["space"] = {**(values.get("space") or {}), **ranges}
    settings = bind_section("search", SearchSettings, values, "search", composed.locate)()
    report = Report()
    parse_space(settings.space, "search.space", report)
    if not settings.space:
        example = "optimiser.learning_rate='tag(log,interval(1e-4,1e-2))'"
        report.add("search.space", f"is empty: there is nothing to search. Add e.g. {example}")
    if report.problems:
        raise ConfigError(report.problems, composed.locate)
    training = composed.values["training"]
    resources = (training["validate_every"], training["steps"])
    fixed = tuple(text for text in composed.overrides if not text.lstrip("+~").startswith(("search=", "search.")))
    monitor = with_present_keys(training).get("monitor")
    metric = settings.metric or f"valid/{monitor or check_config(composed).training.monitor}"
    return SearchPlan(replace(settings, metric=metric), fixed, direction(metric), resources)
