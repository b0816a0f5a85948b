"""The config's section ``init``: whose weights a run begins with, and which nodes do not learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from composer.config.composition import Composed
from composer.core.binding import bind_knobs, keyword_knobs
from composer.core.block import Range
from composer.core.problems import Locate, Report, show_value

#: Names of the other run, each with its name or names in this run; a list stands for equal names.
Renamed = list[str] | dict[str, str | list[str]]

Steps = Annotated[int, Range(low=0)]


@dataclass(frozen=True, kw_only=True)
class Init:
    """
    origin: the other run's folder, its checkpoint or a safetensors file (the key ``from``); None for no transfer
    nodes: the nodes to take; None takes all of the same name and kind
    fields: the fields of the data whose vocabularies to take; None takes those that the nodes read
    partial: whether a node may take some of its weights only, where the other node lacks the rest
    freeze: the nodes of this run that do not learn
    unfreeze_after: the step after which frozen nodes learn, or one step for each node
    """

    origin: str | None = None
    nodes: Renamed | None = None
    fields: Renamed | None = None
    partial: bool = False
    freeze: list[str] | None = None
    unfreeze_after: Steps | dict[str, Steps] | None = None


def bind_init(section: Mapping[str, Any] | None, locate: Locate) -> Init:
    """Check the section. Runs that were made before it existed have none."""
    settings = {} if section is None else section
    knobs = {"from" if name == "origin" else name: knob for name, knob in keyword_knobs(Init).items()}
    with Report.raised(locate) as report:
        if not isinstance(settings, Mapping):
            report.add("init", f"expected a mapping, found {show_value(settings)}.")
            settings = {}
        origin = settings.get("from")
        if origin is not None and (not isinstance(origin, str) or not origin):
            what = f"expected the folder of a run, a checkpoint or a safetensors file, found {show_value(origin)}."
            report.add("init.from", what)
            settings = {key: value for key, value in settings.items() if key != "from"}
        bound = bind_knobs("init", knobs, settings, "init", report) or {}
    with Report.raised(locate) as report:
        for name in ("nodes", "fields", "partial"):
            if origin is None and bound.get(name) not in (None, False):
                report.add(f"init.{name}", "has no effect: init.from does not say whose weights to take.")
    return Init(origin=bound.pop("from", None), **bound)


def node_configs(composed: Composed) -> dict[str, dict[str, Any]]:
    """The configs of a model's nodes by their names. What has another form is left out: the compiler reports it."""
    model = composed.values.get("model")
    nodes = model.get("nodes") if isinstance(model, Mapping) else None
    return {str(k): v for k, v in nodes.items() if isinstance(v, dict)} if isinstance(nodes, Mapping) else {}


def pairs(renamed: Renamed) -> list[tuple[str, str]]:
    """Pairs of a name in the other run and a name in this one."""
    if isinstance(renamed, list):
        return [(name, name) for name in renamed]
    several = {theirs: ours if isinstance(ours, list) else [ours] for theirs, ours in renamed.items()}
    return [(theirs, name) for theirs, ours in several.items() for name in ours]
