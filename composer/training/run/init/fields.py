"""The vocabularies that come along with nodes, so that a token has the same number in both runs.

A node that reads a field directly (an embedding), or predicts one (a head), has weights for that field's tokens. The
data of the new run takes what the other run has learned of such a field (its tokeniser, its vocabulary, its scales)
instead of learning it from its own files.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from composer.config.assembly import open_objective
from composer.config.composition import Composed
from composer.core.problems import ConfigError, Problem, Report, UserError, did_you_mean, listed
from composer.core.signals import Field
from composer.objectives import Objective
from composer.training.run.init.pretrained import Pretrained, source_field
from composer.training.run.init.settings import Renamed, pairs

#: The settings of a tokeniser that can differ although its vocabulary was learned with others.
FREE = ("max_length",)

#: Settings of a data section that change how its words are looked up in a vocabulary, where no tokeniser keeps them.
SPELLING = ("lowercase",)

#: The packaged options of a data set: values that are written there are defaults, which nobody has asked for.
DEFAULTS = "conf/data/"


@dataclass(frozen=True)
class FieldPair:
    """A field of the other run's graph, and the field of this run's graph that a node reads or predicts in its place.

    node: the node of this run
    reads: whether the node reads the field; otherwise it predicts the field
    """

    theirs: str
    ours: str
    node: str
    reads: bool


def field_pairs(
    nodes: Sequence[tuple[str, str]], theirs: Mapping[str, Any], ours: Mapping[str, Any]
) -> list[FieldPair]:
    """The fields that the nodes read or predict in both graphs, from the nodes' configs before any is compiled."""
    found = []
    for their_node, our_node in nodes:
        one, other = theirs[their_node], ours[our_node]
        there, here = sources_of(one, theirs), sources_of(other, ours)
        for port, names in there.items():
            both = zip(names, here.get(port, ()), strict=False)
            found += [FieldPair(a, b, our_node, True) for a, b in both if a is not None and b is not None]
        if one.get("predicts") is not None and other.get("predicts") is not None:
            found.append(FieldPair(one["predicts"], other["predicts"], our_node, False))
    return found


def other_token(there: Field, here: Field, given: str) -> str | None:
    """The first token that is another one in a run's field than in that of a given other run, in words."""
    both = enumerate(zip(there.contents.tokens or (), here.contents.tokens or (), strict=False))
    found = (f"token {number} is {b!r}, but in '{given}' it is {a!r}" for number, (a, b) in both if a != b)
    return next(found, None)


def sources_of(node: Mapping[str, Any], nodes: Container[str]) -> dict[str, list[str | None]]:
    """The fields that each port of a node reads, with None in the place of a node."""
    raw = node.get("from")
    ports = raw if isinstance(raw, Mapping) else {"": raw}
    found: dict[str, list[str | None]] = {}
    for port, value in ports.items():
        names = value if isinstance(value, list) else [value]
        found[str(port)] = [None if name is None or name in nodes else str(name) for name in names]
    return found


def chosen_fields(
    wanted: Renamed | None, found: Sequence[FieldPair], origin: Pretrained, objective: Objective, report: Report
) -> dict[str, str]:
    """The fields of this run's data whose state comes from the other run, each with its name there.

    wanted: the config's ``init.fields``
    found: what the nodes that are taken read and predict, which is the choice where the config has none
    """
    state, chosen = objective.source.state(), dict[str, str]()
    if wanted is not None:
        there, here = (f"'{origin.given}'", origin.state or {}), ("the data of this run", state)
        for names in pairs(wanted):
            for name, (whose, known) in zip(names, (there, here), strict=True):
                if name not in known:
                    hint = f"{did_you_mean(name, known)}  (has: {listed(known) or 'nothing'})"
                    report.add("init.fields", f"{whose} has no vocabulary or scale of '{name}'.{hint}")
        return {ours: theirs for theirs, ours in pairs(wanted)}
    for pair in found:
        theirs, ours = origin.source_field(pair.theirs), source_field(objective, state, pair.ours)
        if theirs is None or ours is None or origin.fields[pair.theirs].kind != objective.fields[pair.ours].kind:
            continue  # weights for a field of another kind do not fit, which is reported with their shapes
        other = chosen.setdefault(ours, theirs)
        if origin.learned(other) != origin.learned(theirs):
            report.add(
                f"model.nodes.{pair.node}",
                f"'{ours}' would take the vocabulary of '{theirs}' of '{origin.given}' here, and that of '{other}' in "
                "another node. Take one of the nodes, or say whose vocabulary to take: init.fields.",
            )
    return chosen


def open_with(composed: Composed, objective: Objective, taken: Mapping[str, Any]) -> Objective:
    """The objective of a config, over a source that has these states of fields instead of what it has learned.

    objective: the same objective, over a source that has learned from its files
    """
    if not taken:
        return objective
    state = objective.source.state()
    tokenisers = {name: of["tokeniser"] for name, of in state.items() if isinstance(of, Mapping) and "tokeniser" in of}
    shared = {
        name: taken[other]
        for other in sorted(taken)  # in the same order when the run is resumed
        for name, tokeniser in tokenisers.items()
        if tokeniser == tokenisers.get(other)  # a vocabulary that two fields share stays shared
    }
    try:
        return open_objective(composed, state | shared | dict(taken))
    except ConfigError:
        raise
    except UserError as error:
        message = f"{listed(taken)} cannot be taken from the other run: {error}"
        raise ConfigError([Problem("init.fields", message, "init.from")], composed.locate) from error


def check_settings(composed: Composed, origin: Pretrained, chosen: Mapping[str, str], report: Report) -> None:
    """Report settings of this run's data that differ from those that a vocabulary was learned with."""
    ours = composed.values["data"]
    for field, theirs in chosen.items():
        known = origin.learned(theirs)
        options = known.get("tokeniser", {}).get("options", {}) if isinstance(known, Mapping) else {}
        path, settings = _tokeniser(ours, field)
        for key, value in options.items():
            differs = key not in FREE and settings.get(key, value) != value
            if differs and _asked_for(composed, path, key):
                report.add(
                    f"{path}.{key}",
                    f"is {settings[key]!r}, but '{field}' takes the vocabulary of '{origin.given}', which has "
                    f"{value!r}. Leave it out, or take nodes that do not read '{field}'.",
                )
        for key in SPELLING if not settings else ():
            path, now = _spelling(ours, field, key)
            before = options.get(key, _spelling(origin.config["data"], theirs, key)[1])
            if before is not None and now is not None and before != now:
                report.add(
                    path,
                    f"is {now!r}, but '{field}' takes the vocabulary of '{origin.given}', which has {before!r}. "
                    f"Set {path}={str(before).lower()}.",
                )


def _spelling(data: Mapping[str, Any], field: str, key: str) -> tuple[str, Any]:
    """The path and the value of a setting of a field without a tokeniser; False is the default of a declared field."""
    inside = (data.get("fields") or {}).get(field)
    if isinstance(inside, Mapping):
        return f"data.fields.{field}.{key}", inside.get(key, False)
    return f"data.{key}", data.get(key)


def _asked_for(composed: Composed, path: str, key: str) -> bool:
    """Whether the user has written a value, in an override or a file; defaults of a packaged option are not meant."""
    place = composed.locate(f"{path}.{key}")
    written = f"{path}.{key}" in composed.places or f"{key}:" in place  # the latter in data.tokeniser={type: words}
    return written and not place.startswith(DEFAULTS)


def _tokeniser(data: Mapping[str, Any], field: str) -> tuple[str, Mapping[str, Any]]:
    """The path and the settings of a field's tokeniser; no settings where the data has none for the field."""
    sections = {"data": data, "data.each": data.get("each")}  # the latter and the sources are those of a mixture
    sections |= {f"data.sources.{name}": section for name, section in (data.get("sources") or {}).items()}
    for place, section in sections.items():
        if not isinstance(section, Mapping):
            continue
        inside = (section.get("fields") or {}).get(field)
        if isinstance(inside, Mapping) and isinstance(inside.get("tokeniser"), Mapping):
            return f"{place}.fields.{field}.tokeniser", inside["tokeniser"]
        for key in (f"{field}_tokeniser", "tokeniser"):
            if isinstance(section.get(key), Mapping):
                return f"{place}.{key}", section[key]
    return "data", {}
