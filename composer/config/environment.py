"""Values of environment variables in a config: ``${oc.env:NAME}``.

Such a value may be a secret, so no file of a run has it: the config that is written keeps the text ``${oc.env:NAME}``,
and the value is read from the environment again where the config is used. Only values that are not texts, such as
``${oc.decode:${oc.env:WIDTH}}``, are written: a model cannot be rebuilt without its numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import deepcopy
from functools import partial
from typing import Any

from omegaconf import OmegaConf
from omegaconf.resolvers import oc

from composer.core.problems import UserError

#: A place in nested mappings and lists.
Keys = tuple[Any, ...]

#: For every text that comes from the environment: the text with the value, and the text that is written instead.
Kept = dict[Keys, tuple[str, str]]

WRITTEN = re.compile(r"\$\{oc\.env:([^,{}]+)(?:,([^{}]*))?\}")

#: Whether ``${oc.env:NAME}`` stands for itself, and not for the variable's value.
_unread: ContextVar[bool] = ContextVar("unread", default=False)


def environment(name: str, *default: Any) -> str | None:
    """The resolver ``oc.env``: OmegaConf's own, except while texts are kept as they are written."""
    if _unread.get():
        return f"${{oc.env:{','.join([name, *('null' if item is None else str(item) for item in default)])}}}"
    return oc.env(name, *default)


OmegaConf.register_new_resolver("oc.env", environment, replace=True)


@contextmanager
def unread_variables() -> Iterator[None]:
    """Inside, ``${oc.env:NAME}`` stands for itself."""
    token = _unread.set(True)
    try:
        yield
    finally:
        _unread.reset(token)


def leaves(value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """The values inside nested mappings and lists, each with its place."""
    if isinstance(value, Mapping | list):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from leaves(item, (*keys, key))
    else:
        yield keys, value


def kept_texts(values: Any, written: Any) -> Kept:
    """The texts that differ between the resolved values and those in which variables stand for themselves."""
    texts = dict(leaves(written))
    return {
        keys: (value, texts[keys])
        for keys, value in leaves(values)
        if isinstance(value, str) and isinstance(texts.get(keys), str) and texts[keys] != value
    }


def as_written(values: Mapping[str, Any], kept: Kept) -> dict[str, Any]:
    """A copy of the values with the names of environment variables in place of their values."""
    copy = deepcopy(dict(values))
    for keys, (value, text) in kept.items():
        _replace(copy, keys, value, text)
    return copy


def _replace(tree: Any, keys: Keys, value: str, text: str) -> None:
    """Put a text in the place of a value, unless the value or what is around it has been changed since."""
    *outer, last = keys
    with suppress(LookupError, TypeError):
        for key in outer:
            tree = tree[key]
        if tree[last] == value:
            tree[last] = text


def with_environment(config: Mapping[str, Any], *, needed: bool = True) -> tuple[dict[str, Any], Kept]:
    """A config that was written to a file, with the values of its environment variables, and what was written.

    needed: whether a variable that is not set is an error; otherwise its text stays as it is
    """
    kept: Kept = {}
    values = deepcopy(dict(config))
    for keys, text in list(leaves(values)):
        if isinstance(text, str) and WRITTEN.search(text):
            found = WRITTEN.sub(partial(_value, ".".join(map(str, keys)), needed), text)
            _replace(values, keys, text, found)
            kept[keys] = (found, text)
    return values, kept


def _value(place: str, needed: bool, match: re.Match[str]) -> str:
    name, default = match[1], match[2]
    if name not in os.environ and default is None:
        if needed:
            raise UserError(f"{place} is {match[0]}, but the environment has no variable '{name}'. Set it.")
        return match[0]
    return os.environ.get(name, str(default))
