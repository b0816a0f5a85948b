"""Plain data, as of a checkpoint or a JSON file, compared with the types that a dataclass or a TypedDict declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

#: How a sentence names the types.
NAMES: Mapping[str, str] = {
    "Tensor": "a tensor", "int": "a whole number", "float": "a number", "str": "a text", "list": "a list",
    "NoneType": "nothing",
}  # fmt: skip


def misfit(value: object, form: Any, path: str = "") -> str | None:
    """What is wrong with a value of this type, in a sentence without its full stop; None if nothing is.

    A dataclass stands for the mapping of its fields and has no others; a TypedDict may have others. Of a union, the
    sentence names the last type that is not None. ``Annotated[dict, form]`` stands for the form.
    """
    origin, parts = get_origin(form), get_args(form)
    if form is Any:
        return None
    if origin in (Annotated, NotRequired):
        return misfit(value, parts[-1], path)
    if origin in (Union, UnionType):
        problems = [misfit(value, part, path) for part in sorted(parts, key=lambda part: part is not NoneType)]
        return None if None in problems else problems[-1]
    if origin is list:
        if not isinstance(value, list):
            return _wrong(value, path, "a list")
        inner = [(str(number), each, parts[0]) for number, each in enumerate(value)]
    elif origin is dict or is_dataclass(form) or is_typeddict(form):
        if not isinstance(value, Mapping):
            return _wrong(value, path, "a mapping")
        if foreign := [key for key in value if not isinstance(key, str)]:
            return _wrong(foreign[0], path, "names")
        if origin is not dict and (problem := _other_fields(value, form, path)) is not None:
            return problem
        inner = [(key, each, parts[1] if origin is dict else _types(form).get(key, Any)) for key, each in value.items()]
    else:
        fits = isinstance(value, (int, float) if form is float else form)
        name = getattr(form, "__name__", str(form))
        return None if fits else _wrong(value, path, NAMES.get(name, name))
    within = (misfit(each, wanted, f"{path}.{name}") for name, each, wanted in inner)
    return next((problem for problem in within if problem is not None), None)


@cache
def _types(form: type) -> Mapping[str, Any]:
    return get_type_hints(form, include_extras=True)


def _other_fields(value: Mapping[str, Any], form: Any, path: str) -> str | None:
    """The first field that a dataclass does not have, or cannot do without."""
    if not is_dataclass(form):
        return None
    known = _types(form)  # type: ignore[arg-type]
    name = path.removeprefix(".")
    if unknown := [key for key in value if key not in known]:
        return f"'{name}' has an unknown '{unknown[0]}'"
    needed = [each.name for each in fields(form) if each.default is MISSING and each.default_factory is MISSING]
    missing = [key for key in needed if key not in value]
    return f"'{name}' has no '{missing[0]}'" if missing else None


def _wrong(value: object, path: str, wanted: str) -> str:
    return f"'{path.removeprefix('.')}' should be {wanted}, and is a {type(value).__name__}"
