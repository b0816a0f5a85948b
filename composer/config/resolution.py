"""The values of a composed config. Every interpolation that cannot be resolved is a problem; all are reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from composer.config.environment import Kept, keeping, kept_texts, variables_read
from composer.core.problems import UNRESOLVED, Problem, did_you_mean

#: A value that is another value of the config, and nothing else.
REFERENCE = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")


def resolved(config: DictConfig) -> tuple[dict[str, Any], Kept, list[Problem]]:
    """The values of a config, the texts that come from the environment, and problems.

    A value that cannot be resolved is ``UNRESOLVED``, so that the rest of the config can be checked.
    """
    problems: list[Problem] = []
    with variables_read() as names:
        try:
            values: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        except (OmegaConfBaseException, RecursionError):
            values = _each(config, config, "", problems)
    kept: Kept = {}
    if names:
        with keeping():
            kept = kept_texts(values, _each(config, config, "", []))
    assert isinstance(values, dict)
    return values, kept, problems


def _each(node: Any, root: DictConfig, path: str, problems: list[Problem]) -> Any:
    """A container with every value resolved by itself."""
    if not isinstance(node, DictConfig | ListConfig):
        return node
    keys: Iterable[Any] = list(node.keys()) if isinstance(node, DictConfig) else range(len(node))
    found: dict[Any, Any] = {}
    for key in keys:
        here = f"{path}.{key}" if path else str(key)
        try:
            value = node[key]
        except RecursionError:
            problems.append(Problem(here, "refers to itself, directly or through others."))
            value = UNRESOLVED
        except OmegaConfBaseException as error:
            problems.append(Problem(here, _sentence(error, root)))
            value = UNRESOLVED
        found[key] = value if value is UNRESOLVED else _each(value, root, here, problems)
    return found if isinstance(node, DictConfig) else list(found.values())


def _sentence(error: OmegaConfBaseException, root: DictConfig) -> str:
    text = str(error).strip().splitlines()[0]
    missing = re.search(r"Interpolation key '([^']*)' not found", text)
    if missing:
        known = list(paths(root))
        near = suggestions(missing[1], known)
        hint = f" Did you mean {' or '.join(near)}?" if near else did_you_mean(missing[1], known)
        return f"refers to ${{{missing[1]}}}, which the config does not have.{hint}"
    if "Missing mandatory value" in text:
        return "has no value (???). Give one."
    return text


def paths(node: Any, prefix: str = "") -> Iterator[str]:
    """The path of every key of a config, without Hydra's own."""
    if isinstance(node, DictConfig) and not node._is_none() and not node._is_interpolation():
        for key in node:
            path = f"{prefix}.{key}" if prefix else str(key)
            if path != "hydra":
                yield path
                yield from paths(node._get_node(key), path)


def suggestions(key: str, known: Iterable[str]) -> list[str]:
    """The paths that somebody may have meant: the same last word, or a word whose parts begin so (lr: learning_rate).

    Blocks that stand as defaults at the top (``mixer.dropout``) come first: they reach every slot.
    """
    name = key.rpartition(".")[2]
    same = [path for path in known if path.rpartition(".")[2] == name and path != key]
    short = [path for path in known if "_" in path and _initials(path.rpartition(".")[2]) == name]
    return sorted(same or short, key=lambda path: path.count("."))[:4]


def _initials(name: str) -> str:
    return "".join(word[0] for word in name.split("_") if word)


def references(node: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The path of every value that is another value of the config, with the path of that value."""
    if isinstance(node, DictConfig) and not node._is_none() and not node._is_interpolation():
        for key in node:
            path = f"{prefix}.{key}" if prefix else str(key)
            inner = node._get_node(key)
            raw = inner._value() if inner is not None else None
            if isinstance(raw, str) and (match := REFERENCE.fullmatch(raw)) is not None:
                yield path, match[1]
            else:
                yield from references(inner, path)
