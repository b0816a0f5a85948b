"""The values of a composed config. Every interpolation that cannot be resolved is a problem; all are reported."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from composer.config.environment import Kept, kept_texts, leaves, unread_variables
from composer.core.hints.aliases import aliased
from composer.core.problems import UNRESOLVED, Problem, did_you_mean

#: A value that is another value of the config, and nothing else.
REFERENCE = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")

CIRCLE = "refers to itself, directly or through others."
REFERRING = "Write ${key} for another value of the config, or ${oc.env:NAME} for a variable of the environment."

#: Keys of every block and section, so that none of them is the one that was meant.
EVERYWHERE = ("type", "kind", "from")


def resolved(written: dict[str, Any], sections: Collection[str]) -> tuple[dict[str, Any], Kept, list[Problem]]:
    """The values of the sections of a config, the texts that come from the environment, and problems.

    A value that cannot be resolved is ``UNRESOLVED``, so that the rest of the config can be checked. The groups of
    blocks beside the sections are only there to be copied or referred to, and may not resolve.
    """
    config = OmegaConf.create(written)
    chosen = [key for key in written if key in sections]
    problems: list[Problem] = []
    try:
        values = {key: _whole(config[key]) for key in chosen}
    except (OmegaConfBaseException, RecursionError):
        values = _each(config, chosen, written, "", problems)
    kept: Kept = {}
    if any(isinstance(text, str) and "oc.env:" in text for _, text in leaves(written)):
        with unread_variables():
            kept = kept_texts(values, _each(config, chosen, written, "", []))
    return values, kept, problems


def _whole(value: Any) -> Any:
    return OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if OmegaConf.is_config(value) else value


def _each(node: Any, keys: Iterable[Any], root: Mapping[str, Any], path: str, problems: list[Problem]) -> Any:
    """The values of a container, every one resolved by itself."""
    found: dict[Any, Any] = {}
    for key in keys:
        here = f"{path}.{key}" if path else str(key)
        try:
            value = node[key]
        except RecursionError:
            problems.append(Problem(here, CIRCLE))
            value = UNRESOLVED
        except OmegaConfBaseException as error:
            written: Any = OmegaConf.to_container(node, resolve=False)
            problems.append(Problem(here, _sentence(error, written[key], root)))
            value = UNRESOLVED
        if isinstance(value, DictConfig | ListConfig):
            inside = list(value.keys()) if isinstance(value, DictConfig) else range(len(value))
            value = _each(value, inside, root, here, problems)
        found[key] = value
    return found if isinstance(node, DictConfig) else list(found.values())


def _sentence(error: OmegaConfBaseException, written: Any, root: Mapping[str, Any]) -> str:
    """Why a value cannot be resolved, in our words. ``written`` is the value as the config has it."""
    text = str(error).strip().splitlines()[0]
    missing = re.search(r"Interpolation key '([^']*)' not found", text)
    if missing:
        parent = missing[1].rpartition(".")[0]
        near = [path for path in paths(root) if path.rpartition(".")[0] == parent]
        hint = did_you_mean(missing[1], near) if near else ""
        return f"refers to ${{{missing[1]}}}, which the config does not have.{hint}"
    if "Missing mandatory value" in text:
        return "has no value (???). Give one."
    if (variable := re.search(r"Environment variable '([^']*)' not found", text)) is not None:
        return f"the environment has no variable '{variable[1]}'. Set it, or give a default: ${{oc.env:NAME,default}}."
    if re.search(r"Recursive interpolation|Interpolation to parent node|RecursionError", text):
        return CIRCLE
    if (inside := re.search(r"access (\S+): node `([^`]*)` is not a container", text)) is not None:
        return f"refers to ${{{inside[1]}}}, but '{inside[2]}' is a value, and has no keys."
    if (unknown := re.search(r"Unsupported interpolation type (\S+)", text)) is not None:
        return f"calls '{unknown[1]}', which does not exist. {REFERRING}"
    return f"'{written}' does not lead to a value. {REFERRING}"


def paths(tree: Any, prefix: str = "") -> Iterator[str]:
    """The path of every key of a config, without Hydra's own."""
    for key, value in tree.items() if isinstance(tree, Mapping) else ():
        if prefix or key != "hydra":
            yield f"{prefix}{key}"
            yield from paths(value, f"{prefix}{key}.")


def suggestions(key: str, known: Collection[str]) -> list[str]:
    """The paths that somebody may have meant: by the name of other programs, or with the same last word, or with a
    word whose parts begin so.

    Those of the same section come first, then blocks that stand as defaults at the top (``mixer.dropout``): they reach
    every slot.
    """
    section, _, name = key.rpartition(".")
    if name in EVERYWHERE:
        return []
    found = aliased(name, known) or [path for path in known if path.rpartition(".")[2] == name and path != key]
    found = found or [path for path in known if "_" in path and _initials(path.rpartition(".")[2]) == name]
    return sorted(found, key=lambda path: (path.rpartition(".")[0] != section, path.count(".")))[:4]


def _initials(name: str) -> str:
    return "".join(word[0] for word in name.split("_") if word)


def references(written: Mapping[str, Any]) -> dict[str, str]:
    """The path of every value that is another value of the config, with the path of that value."""
    found = ((keys, REFERENCE.fullmatch(text)) for keys, text in leaves(written) if isinstance(text, str))
    return {".".join(map(str, keys)): match[1] for keys, match in found if match is not None}
