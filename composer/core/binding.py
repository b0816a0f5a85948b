"""Binding: the values of the YAML, checked against the signatures of constructors. An unknown key is an error."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from composer.core import registry
from composer.core.block import (
    Empty,
    Knob,
    Recipe,
    Reference,
    Section,
    Signature,
    alternatives,
    describe_type,
    slot_kind,
)
from composer.core.hints.aliases import aliased_key
from composer.core.problems import UNRESOLVED, ConfigError, Invalid, Locate, Report, did_you_mean, listed, show_value

T = TypeVar("T")

#: Stands for a value that could not be bound; the problem is already reported.
FAILED = object()


def bind_block(kind: str, value: object, path: str, report: Report) -> Recipe | None:
    """The recipe of a block, from its name alone or a mapping of its type and its knobs; None after an error.

    A kind that has a block of its own name needs no type.
    """
    known = registry.blocks(kind)
    if isinstance(value, Mapping) and value.get("type") is None and kind in known:
        value = {**value, "type": kind}
    chosen = _choose(kind, known, value, path, report)
    if chosen is None:
        return None
    name, values = chosen
    knobs = bind_knobs(name, Signature.of(known[name]).knobs, values, path, report)
    return Recipe(kind, name, known[name], knobs, path) if knobs is not None else None


def _choose(
    kind: str, known: Mapping[str, Any], value: object, path: str, report: Report
) -> tuple[str, dict[Any, Any]] | None:
    """The name of a registered entry and the values of its knobs, from the YAML; None after an error."""
    if isinstance(value, str):
        value = {"type": value}
    if not isinstance(value, Mapping):
        report.add(path, f"expected the name of a {kind} or a mapping with its type, found {show_value(value)}.")
        return None
    name = _bind_type(kind, value.get("type"), known, path, report)
    return None if name is None else (name, {key: item for key, item in value.items() if key != "type"})


def _bind_type(kind: str, name: object, known: Mapping[str, Any], path: str, report: Report) -> str | None:
    """The name of a registered entry, as the key ``type`` has it; None after an error."""
    if isinstance(name, str) and name in known:
        return name
    if name is None:
        found = "has no type."
    elif isinstance(name, str):
        found = f"there is no {kind} '{name}'.{did_you_mean(name, known)}"
    else:
        found = f"expected the name of a registered {kind}, found {show_value(name)}."
    report.add(f"{path}.type", f"{found}  ({kind}: {listed(known, 40)})")
    return None


def bind_knobs(
    owner: str, knobs: Mapping[str, Knob], values: Mapping[Any, Any], path: str, report: Report
) -> dict[str, Any] | None:
    """Values checked against the knobs' types; None if a required knob is missing or has a wrong value."""
    for key in values:
        if key not in knobs:
            takes = f"  (takes: {listed(knobs)})" if knobs else "  (it takes none)"
            hint = aliased_key(key, knobs) or did_you_mean(key, knobs)
            report.add(f"{path}.{key}", f"'{owner}' has no parameter '{key}'.{hint}{takes}")
    bound: dict[str, Any] = {}
    sound = True
    for name, knob in knobs.items():
        if name in values:
            value = bind_value(name, values[name], knob.type, f"{path}.{name}", report)
            if value is FAILED:
                sound = sound and not knob.required
            else:
                bound[name] = value
        elif knob.required:
            report.add(path, f"'{owner}' needs '{name}': {describe_type(knob.type)}.")
            sound = False
    return bound if sound else None


def bind_section(owner: str, build: Callable[..., T], values: Any, path: str, locate: Locate) -> Callable[..., T]:
    """``build`` with its keyword parameters bound to a section of the config: a function of the positional arguments.

    A value of a wrong type raises a ConfigError here. A value that ``build`` itself refuses raises a ConfigError when
    the returned function is called.
    """
    report = Report()
    if not isinstance(values, Mapping):
        report.add(path, f"expected a mapping, found {show_value(values)}.")
        raise ConfigError(report.problems, locate)
    bound = bind_knobs(owner, keyword_knobs(build), values, path, report)
    if report.problems or bound is None:
        raise ConfigError(report.problems, locate)

    def make(*facts: Any) -> T:
        try:
            return build(*facts, **bound)
        except Invalid as error:
            raise ConfigError([error.problem(path)], locate) from error
        except ConfigError as error:  # of sections inside this one, which do not know their places
            raise ConfigError(error.problems, locate) from error

    return make


def keyword_knobs(build: Callable[..., Any]) -> dict[str, Knob]:
    """The keyword parameters of a class or a function, which are the keys of its YAML."""
    typed: Any = build  # the types of a dataclass stand in its class, and in those that it inherits from
    if isinstance(build, type) and not dataclasses.is_dataclass(build):
        typed = build.__init__  # type: ignore[misc]
    types = get_type_hints(typed, include_extras=True)
    parameters = [p for p in inspect.signature(build).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return {p.name: Knob(p.name, types[p.name], p.default) for p in parameters}


def bind_entry(section: str, config: object, locate: Locate, path: str | None = None) -> Callable[..., Any]:
    """The registered entry that a section of the config chooses by ``type``, bound to the section's other keys.

    path: of the section in the config; None: its name
    """
    report, known, chosen, path = Report(), registry.entries(section), None, path or section
    if isinstance(config, Mapping):
        chosen = _choose(section, known, config, path, report)
    else:
        report.add(path, f"expected a mapping with the key type, found {show_value(config)}.")
    if chosen is None:
        raise ConfigError(report.problems, locate)
    name, values = chosen
    return bind_section(name, known[name], values, path, locate)


def bind_named(kind: str, section: object, path: str, locate: Locate) -> dict[str, Any]:
    """The entries of a section that maps names to entries of the registry, each bound to its other keys and built.

    An entry without the key ``type`` is of the type of its name: ``csv: {}`` or ``mine: {type: csv}``.
    """
    report, built = Report(), {}
    if section is not None and not isinstance(section, Mapping):
        report.add(path, f"expected a mapping of {kind}s, found {show_value(section)}.")
    entries = section if isinstance(section, Mapping) else {}
    known = registry.entries(kind) if entries else {}
    for name, values in entries.items():
        place, keys = f"{path}.{name}", {} if values is None else values
        if not isinstance(keys, Mapping):
            report.add(place, f"expected a mapping, found {show_value(keys)}.")
        elif "type" not in keys and name not in known:
            message = f"there is no {kind} '{name}'.{did_you_mean(name, known)}  ({kind}: {listed(known, 40)})"
            report.add(place, message, origin=".".join([place, *list(keys)[:1]]))
        else:
            with report.collecting():
                built[str(name)] = bind_entry(kind, {"type": name, **keys}, locate, place)()
    if report.problems:
        raise ConfigError(report.problems, locate)
    return built


def bind_value(name: str, value: Any, annotation: Any, path: str, report: Report) -> Any:
    """One value, checked and converted; FAILED after an error, which is added to the report."""
    if value is UNRESOLVED:
        return FAILED
    if annotation is Any:
        return value
    if (kind := slot_kind(name, annotation)) is not None:
        return _bind_slot(kind, value, type(None) in alternatives(_base(annotation)), path, report)
    if (section := _section(annotation)) is not None:
        known = registry.entries(section)
        chosen = _choose(section, known, value, path, report)
        bound = bind_knobs(chosen[0], keyword_knobs(known[chosen[0]]), chosen[1], path, report) if chosen else None
        return FAILED if chosen is None or bound is None else partial(known[chosen[0]], **bound)
    options = alternatives(annotation)
    for option in options:
        nested = _bind_nested(name, value, option, path, report)
        if nested is not None:
            return nested
        if _fits(value, option):
            return float(value) if _base(option) is float else Reference(value) if option is Reference else value
    choices = [str(choice) for option in options if get_origin(option) is Literal for choice in get_args(option)]
    hint = did_you_mean(value, choices)
    report.add(path, f"expected {describe_type(annotation)}, found {show_value(value)}.{hint}")
    return FAILED


def _bind_slot(kind: str, value: Any, optional: bool, path: str, report: Report) -> Any:
    """A block in a slot. 'none' leaves the slot empty.

    So does null, unless the slot takes the block of another slot where nothing is said.
    """
    keys = {"type": value} if isinstance(value, str) else value
    if keys is None or (isinstance(keys, Mapping) and keys.get("type") == "none"):
        if not optional:
            report.add(path, f"must hold a {kind}.  ({kind}: {listed(registry.blocks(kind), 30)})")
            return FAILED
        extra = [key for key in keys or () if key != "type"]
        if extra:
            report.add(f"{path}.{extra[0]}", "has no effect: this slot is empty (type: none).")
        return None if keys is None else Empty.EMPTY
    recipe = bind_block(kind, value, path, report)
    return FAILED if recipe is None else recipe


def _bind_nested(name: str, value: Any, option: Any, path: str, report: Report) -> Any:
    """A mapping bound to a ``dict`` or a dataclass of knobs; None if the type is neither or the value no mapping."""
    if get_origin(option) is dict and isinstance(value, Mapping):
        item = get_args(option)[1]
        bound = {str(key): bind_value(str(key), entry, item, f"{path}.{key}", report) for key, entry in value.items()}
        return FAILED if FAILED in bound.values() else bound
    if dataclasses.is_dataclass(option) and isinstance(option, type) and isinstance(value, Mapping):
        types = get_type_hints(option, include_extras=True)
        knobs = {f.name: Knob(f.name, types[f.name], f.default) for f in dataclasses.fields(option)}
        own = _own_knobs(knobs, value, path, report)
        if own is None or (group := bind_knobs(name, knobs | own, value, path, report)) is None:
            return FAILED
        if own:
            group["own"] = {key: group.pop(key) for key in own.keys() & group.keys()}
        empty = {key: Empty.EMPTY for key, item in group.items() if item is None and slot_kind(key, knobs[key].type)}
        return option(**group | empty)  # a slot that is written is meant, be it null
    return None


def _own_knobs(knobs: dict[str, Knob], values: Mapping[Any, Any], path: str, report: Report) -> dict[str, Knob] | None:
    """The further keys of a group of knobs whose ``type`` names an entry of the registry; None after an error.

    Their values become the knob ``own`` of the group.
    """
    kind = knobs.get("type")
    section = None if kind is None else _section(kind.type)
    if kind is None or section is None:
        return {}
    knobs |= {"type": Knob("type", str, kind.default)}
    del knobs["own"]
    known = registry.entries(section)
    name = _bind_type(section, values.get("type", kind.default), known, path, report)
    return None if name is None else keyword_knobs(known[name])


def _section(annotation: Any) -> str | None:
    """The section of the registry whose entries a knob of this type chooses from; None for another type."""
    notes = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((note.name for note in notes if isinstance(note, Section)), None)


def _fits(value: Any, annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        base, bound = get_args(annotation)
        return _fits(value, base) and value in bound
    if get_origin(annotation) is Literal:
        return any(value == choice and type(value) is type(choice) for choice in get_args(annotation))
    if get_origin(annotation) is list:
        options = alternatives(get_args(annotation)[0])
        return isinstance(value, list) and all(any(_fits(item, option) for option in options) for item in value)
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation is Reference:
        return isinstance(value, str)
    return isinstance(annotation, type) and isinstance(value, annotation)


def _base(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
