"""The vocabularies that come along with nodes, so that a token has the same number in both runs.

A node that reads a field directly (an embedding), or predicts one (a head), has weights for that field's tokens. The
data of the new run takes what the other run has learned of such a field (its tokeniser, its vocabulary, its scales)
instead of learning it from its own files.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from composer.config.composition import Composed
from composer.core.problems import ConfigError, Problem, Report, UserError, did_you_mean, listed
from composer.core.signals import Field
from composer.data import load_source
from composer.objectives import Objective, load_objective
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


def first_difference(there: Field, here: Field) -> tuple[int, str, str] | None:
    """The number of the first token that is another one in both fields, and both tokens."""
    both = zip(there.contents.tokens or (), here.contents.tokens or (), strict=False)
    return next(((number, one, other) for number, (one, other) in enumerate(both) if one != other), None)


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
    state = objective.source.state()
    if wanted is None:
        return dict(_by_nodes(found, origin, objective, state, report))
    chosen: dict[str, str] = {}
    for theirs, ours in pairs(wanted):
        for name, known, whose in ((theirs, origin.state, f"'{origin.given}'"), (ours, state, "the data of this run")):
            if name not in (known or {}):
                has = listed(known or {}) or "nothing"
                hint = did_you_mean(name, known or {})
                report.add("init.fields", f"{whose} has no vocabulary or scale of '{name}'.{hint}  (has: {has})")
        chosen[ours] = theirs
    return chosen


def _by_nodes(
    found: Sequence[FieldPair], origin: Pretrained, objective: Objective, state: Mapping[str, Any], report: Report
) -> Iterator[tuple[str, str]]:
    before: dict[str, str] = {}
    for pair in found:
        theirs, ours = origin.source_field(pair.theirs), source_field(objective, state, pair.ours)
        if theirs is None or ours is None or not _same_kind(pair, origin, objective):
            continue  # weights for a field of another kind do not fit, which is reported with their shapes
        assert origin.state is not None
        other = before.setdefault(ours, theirs)
        if origin.state[other] != origin.state[theirs]:
            report.add(
                f"model.nodes.{pair.node}",
                f"'{ours}' would take the vocabulary of '{theirs}' of '{origin.given}' here, and that of '{other}' in "
                "another node. Take one of the nodes, or say whose vocabulary to take: init.fields.",
            )
        yield ours, other


def _same_kind(pair: FieldPair, origin: Pretrained, objective: Objective) -> bool:
    assert origin.objective is not None
    return origin.objective.fields[pair.theirs].kind == objective.fields[pair.ours].kind


def open_with(composed: Composed, objective: Objective, taken: Mapping[str, Any]) -> Objective:
    """The objective of a config, over a source that has these states of fields instead of what it has learned.

    objective: the same objective, over a source that has learned from its files
    """
    if not taken:
        return objective
    learned = objective.source.state()
    state = learned | dict(taken)
    for name in learned.keys() - taken.keys():
        # A vocabulary that a field shares with another field stays shared.
        twin = next((other for other in taken if _same_tokeniser(learned[name], learned[other])), None)
        if twin is not None:
            state[name] = taken[twin]
    values = composed.values
    try:
        source = load_source(values["data"], composed.locate, state)
    except ConfigError:
        raise
    except UserError as error:
        message = f"{listed(taken)} cannot be taken from the other run: {error}"
        raise ConfigError([Problem("init.fields", message, "init.from")], composed.locate) from error
    return load_objective(values["objective"], source, composed.locate)


def _same_tokeniser(one: Any, other: Any) -> bool:
    both = [state.get("tokeniser") if isinstance(state, Mapping) else None for state in (one, other)]
    return both[0] is not None and both[0] == both[1]


def check_settings(composed: Composed, origin: Pretrained, chosen: Mapping[str, str], report: Report) -> None:
    """Report settings of this run's data that differ from those that a vocabulary was learned with."""
    assert origin.config is not None
    assert origin.state is not None
    ours = composed.values["data"]
    for field, theirs in chosen.items():
        known = origin.state.get(theirs)
        options = known.get("tokeniser", {}).get("options", {}) if isinstance(known, Mapping) else {}
        path, settings = _tokeniser(ours, field)
        for key, value in options.items():
            if key in FREE or key not in settings or settings[key] == value:
                continue
            if _asked_for(composed, path, key):
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
    for place, section in _sections(data):
        inside = (section.get("fields") or {}).get(field)
        if isinstance(inside, Mapping) and isinstance(inside.get("tokeniser"), Mapping):
            return f"{place}.fields.{field}.tokeniser", inside["tokeniser"]
        for key in (f"{field}_tokeniser", "tokeniser"):
            if isinstance(section.get(key), Mapping):
                return f"{place}.{key}", section[key]
    return "data", {}


def _sections(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The sections that may hold settings of a field, with their paths: the data, and the sources of a mixture."""
    yield "data", data
    inside = {"data.each": data.get("each")}
    inside |= {f"data.sources.{name}": section for name, section in (data.get("sources") or {}).items()}
    yield from ((path, section) for path, section in inside.items() if isinstance(section, Mapping))
