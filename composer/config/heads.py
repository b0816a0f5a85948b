"""The head that fits a declared field, where nobody has chosen a head.

A template leaves its head to the config's default, which predicts tokens and classes. A field of ``data=table`` is
declared with its type, and the type knows its head: several classes at once, or a number, need another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from composer.config.slots import NODE_KEYS, Options

GROUP = "head"


def fit_heads(
    config: DictConfig, origins: dict[str, str], primary: Path, chosen: Mapping[str, Any], options: Options
) -> None:
    """Replace the default head of nodes that predict a declared field whose type names another head.

    origins: for every path, the config or override that set it
    primary: the file with the defaults
    chosen: the command line's choices of groups
    """
    wanted = dict(_wanted(config))
    if not wanted or GROUP in chosen:
        return
    default = _default(primary)
    for path, head in wanted.items():
        if f"{GROUP}@{path}" in chosen or origins.get(f"{path}.type") != default:
            continue
        node = OmegaConf.select(config, path)
        for key in [str(key) for key in node if key not in NODE_KEYS and origins.get(f"{path}.{key}") == default]:
            del node[key]
        node["type"], origins[f"{path}.type"] = head, f"{GROUP}/{head}"
        for key, value in (options.keys(GROUP, head) or {}).items():
            if key not in node:
                node[key] = value


def _wanted(config: DictConfig) -> Iterator[tuple[str, str]]:
    """The path of every node that predicts a declared field whose type names a head, and that head."""
    nodes, fields = OmegaConf.select(config, "model.nodes"), OmegaConf.select(config, "data.fields")
    if not (isinstance(nodes, DictConfig) and isinstance(fields, DictConfig)):
        return
    from composer.core import registry  # imports torch, which most configs do not need so early

    for name, node in nodes.items_ex(resolve=False):
        predicts = node.get("predicts") if isinstance(node, DictConfig) else None
        field = fields.get(predicts) if isinstance(predicts, str) else None
        entry = registry.entries("field").get(str(field.get("type"))) if isinstance(field, DictConfig) else None
        if (head := getattr(entry, "head", None)) is not None:
            yield f"model.nodes.{name!s}", head


def _default(primary: Path) -> str:
    """The option of the group that the primary config chooses."""
    listed: Any = OmegaConf.to_container(OmegaConf.load(primary), resolve=False)
    return next(f"{GROUP}/{entry[GROUP]}" for entry in listed["defaults"] if isinstance(entry, dict) and GROUP in entry)
