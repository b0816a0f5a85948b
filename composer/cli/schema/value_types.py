"""From the type of a key to the JSON schema of its value. Every value may be an interpolation."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from composer.cli.schema.meanings import of_class
from composer.core.block import Knob, Range, Recipe, Reference, Section, alternatives, describe_type, slot_kind
from composer.graph.trained import TrainedGraph

Schema = dict[str, Any]

#: A value that stands somewhere else, or that another file has to give.
INTERPOLATION: Schema = {"type": "string", "pattern": r"\$\{|^\?\?\?$"}

NULL: Schema = {"type": "null"}

SCALARS: dict[Any, str] = {
    int: "integer", float: "number", bool: "boolean", str: "string", Reference: "string", TrainedGraph: "string",
    type(None): "null",
}  # fmt: skip

#: The keywords of JSON schema for the bounds of a range.
BOUNDS = {"low": "minimum", "above": "exclusiveMinimum", "high": "maximum", "below": "exclusiveMaximum"}


def ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def slot_name(kind: str) -> str:
    """The definition of what a slot of this kind holds: a name, a mapping, or nothing."""
    return f"{kind}_slot"


def knob_schema(knob: Knob, meaning: str | None = None) -> Schema:
    """The schema of a key, with its meaning and its default."""
    found = value_schema(knob.name, knob.type)
    if "$ref" in found and len(found) == 1:
        found = {"allOf": [found]}  # beside $ref, other words have no effect
    takes = "" if {"$ref", "allOf"} & found.keys() else describe_type(knob.type)
    text = " ".join(filter(None, (f"{meaning.rstrip('.')}." if meaning else "", f"({takes})" if takes else "")))
    if text:
        found = {"description": text, **found}
    if not knob.required and knob.default is not None and _plain(knob.default):  # editors fail where it is null
        found = {**found, "default": knob.default}
    return found


def value_schema(name: str, annotation: Any) -> Schema:
    """The schema of a value of this type."""
    options = _options(name, annotation)
    found = any_of([*options, INTERPOLATION]) if all(options) else {}
    if "pattern" in found:  # what editors say of another text
        found["patternErrorMessage"] = f"Expected {describe_type(annotation)}, or ${{key}} for the value of a key."
    return found


def _options(name: str, annotation: Any) -> list[Schema]:
    """The schemas of the members of a type; an empty schema takes anything."""
    kind = slot_kind(name, annotation)
    if kind is not None:
        parts = alternatives(get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation)
        return [ref(slot_name(kind)), *([NULL] if type(None) in parts else [])]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        base, note = args[0], args[1]
        if isinstance(note, Section):
            return [ref(slot_name(note.name))]
        bounds = {word: getattr(note, side) for side, word in BOUNDS.items()} if isinstance(note, Range) else {}
        return [{**one, **{word: bound for word, bound in bounds.items() if bound is not None}}
                for one in _options(name, base)]  # fmt: skip
    if origin is Literal:
        return [{"enum": list(args)}]
    if origin is list:
        return [{"type": "array", "items": value_schema(name, args[0])}]
    if origin is dict:
        return [{"type": "object", "additionalProperties": value_schema(name, args[1])}]
    if (members := alternatives(annotation)) != (annotation,):
        return [option for member in members for option in _options(name, member)]
    if annotation in SCALARS:
        return [{"type": SCALARS[annotation]}]
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type) and annotation is not Recipe:
        return [_dataclass(annotation)]
    return [{}]


def _dataclass(group: type) -> Schema:
    """The schema of a mapping of the keys of a dataclass."""
    knobs = dataclass_knobs(group)
    chosen = get_args(knobs["type"].type) if "type" in knobs else ()
    if chosen and isinstance(chosen[-1], Section):  # whose entries have keys of their own beside these
        return ref(chosen[-1].name)
    said = of_class(group)
    properties = {name: knob_schema(knob, said.get(name)) for name, knob in knobs.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def dataclass_knobs(group: type) -> dict[str, Knob]:
    types = get_type_hints(group, include_extras=True)
    return {f.name: Knob(f.name, types[f.name], _default(f)) for f in dataclasses.fields(group) if f.init}


def _default(field: dataclasses.Field[Any]) -> Any:
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def any_of(options: Sequence[Schema]) -> Schema:
    """What takes what any of these takes: one schema where their types differ, so that an editor finds one mistake."""
    unlike = {json.dumps(option, sort_keys=True): option for option in options}
    texts = [option for option in unlike.values() if option == {"type": "string"}]
    options = [option for option in unlike.values() if not texts or option != INTERPOLATION]
    types = [option.get("type") for option in options]
    mixed = None in types or len(set(types)) < len(types) or {"integer", "number"} <= set(types)
    if len(options) == 1:
        return dict(options[0])
    if mixed:
        return {"anyOf": options}
    merged: Schema = {}
    for option in options:
        merged |= option
    return merged | {"type": types}


def _plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_plain, value))
    if isinstance(value, Mapping):
        return all(map(_plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str)
