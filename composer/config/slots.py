"""What Hydra's merging leaves to do for the slots of a model: blocks that another one has replaced, heads that nobody
has chosen, options that are no block's name, and changes of a default block, which reach every slot that takes the
default.

Hydra merges mappings. A file or an override that changes the ``type`` of a slot therefore keeps the keys of the block
that stood there before; they are dropped here, because they came from a lower layer than the new type.

A template leaves its head to the config's default, which predicts tokens and classes. A field of ``data=table`` is
declared with its type, and the type knows its head: several classes at once, or a number, need another one.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from hydra.core.default_element import ResultDefault
from hydra.core.override_parser.types import Override

from composer.config.layers import COMMAND_LINE, Layers, select
from composer.config.search_path import SearchPath
from composer.config.yaml_files import PRIMARY
from composer.core.problems import Problem

#: The keys of a node that belong to the node, whatever its block is.
NODE_KEYS = ("kind", "type", "from", "predicts", "causal", "weight")

#: The group of heads, and of the default head.
HEAD = "head"


def replace_blocks(layers: Layers, search: SearchPath) -> None:
    """Where a later layer has changed a ``type``, the keys of the old block become those of the new one's option."""
    for path, by in list(layers.set_by.items()):
        parent, _, key = path.rpartition(".")
        if key != "type" or len(by) < 2 or not isinstance(section := select(layers.values, parent), dict):
            continue
        chosen = section.get("type")
        if layers.value(path, by[-2]) == chosen:
            continue
        kept = NODE_KEYS if "kind" in section else ("type",)
        for name in [name for name in section if name not in kept]:
            if by[0] <= layers.last(f"{parent}.{name}") < by[-1]:  # a layer before the first type speaks of any block
                del section[name]
        group = str(section.get("kind") or parent.rpartition(".")[2])
        section |= {name: value for name, value in search.keys(group, chosen).items() if name not in section}


def fit_heads(layers: Layers, search: SearchPath, chosen: Container[str]) -> None:
    """Replace the default head of nodes that predict a declared field whose type names another head.

    chosen: the command line's choices of groups
    """
    wanted = dict(_heads_of_fields(layers.values))
    if not wanted or HEAD in chosen:
        return
    primary = search.find(PRIMARY)
    assert primary is not None
    choices = (entry for entry in primary.content["defaults"] if isinstance(entry, dict))
    default = next(f"{HEAD}/{entry[HEAD]}" for entry in choices if HEAD in entry)
    origins, nodes = layers.origins, select(layers.values, "model.nodes")
    for name, head in wanted.items():
        path, node = f"model.nodes.{name}", nodes[name]
        if f"{HEAD}@{path}" in chosen or origins.get(f"{path}.type") != default:
            continue
        for key in [key for key in node if key not in NODE_KEYS and origins.get(f"{path}.{key}") == default]:
            del node[key]
        node["type"], origins[f"{path}.type"] = head, f"{HEAD}/{head}"
        node |= {key: value for key, value in search.keys(HEAD, head).items() if key not in node}


def _heads_of_fields(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The name of every node that predicts a declared field whose type names a head, and that head."""
    nodes, fields = select(values, "model.nodes"), select(values, "data.fields")
    if not (isinstance(nodes, dict) and isinstance(fields, dict)):
        return
    from composer.core import registry  # imports torch, which most configs do not need so early

    for name, node in nodes.items():
        predicts = node.get("predicts") if isinstance(node, dict) else None
        field = fields.get(predicts) if isinstance(predicts, str) else None
        entry = registry.entries("field").get(str(field.get("type"))) if isinstance(field, dict) else None
        if (head := getattr(entry, "head", None)) is not None:
            yield name, head


def expand_options(section: Any, search: SearchPath) -> None:
    """Replace every name of an option that is no block's, such as a bidirectional LSTM, by the option's own keys.

    Such an option leaves its ``type`` to the options among its defaults.
    """
    for key, value in list(section.items()) if isinstance(section, dict) else ():
        given = value if isinstance(value, dict) else {"type": value}
        group, name = str(given.get("kind") or key), given.get("type")
        file = search.option(group, name)
        if file is not None and "defaults" in file.content and "type" not in file.content:
            rest = {k: v for k, v in given.items() if k != "type"}
            section[key] = _merged(search.keys(group, name), rest)
        expand_options(section[key], search)


def _merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {key: (one[key], other[key]) for key in one.keys() & other.keys()}
    inner = {key: _merged(a, b) for key, (a, b) in both.items() if isinstance(a, dict) and isinstance(b, dict)}
    return {**one, **other, **inner}


def spread_defaults(
    layers: Layers, defaults: Sequence[ResultDefault], chosen: Mapping[str, Override], sections: Collection[str]
) -> list[Problem]:
    """Copy changes of a default block ('mixer.heads=8') into every slot that uses the default.

    A change on the command line that reaches no slot is a problem.

    chosen: the command line's choices of groups
    """
    problems = []
    for item in defaults:
        group = str(item.config_path).rpartition("/")[0]
        if item.package != group or group in sections:
            continue
        slots = [str(s.package) for s in defaults if s.config_path == item.config_path and s.package != group]
        slots = [slot for slot in slots if _holds_choice(layers, slot, group)]
        if not _holds_choice(layers, group, group):  # another block was put in the default's place
            for slot in slots:
                _put(layers.values, slot, layers.values[group])
        if group in chosen and not slots:
            message = f"has no effect: no slot of this model takes its {group} from here."
            problems.append(Problem(group, message, f"{group}.type"))
        for path, origin in list(layers.origins.items()):
            value = select(layers.values, path) if path.startswith(f"{group}.") and origin != item.config_path else {}
            if isinstance(value, dict):
                continue
            if not slots and origin == COMMAND_LINE:  # a file, such as that of a study, may serve several models
                problems.append(Problem(path, f"has no effect: no slot of this model takes the default {group}."))
            for slot in slots:
                target = f"{slot}{path.removeprefix(group)}"
                if layers.origins.get(target) in (None, str(item.config_path)):
                    _put(layers.values, target, value)
                    layers.places[target] = layers.places[path]
    return problems


def _holds_choice(layers: Layers, path: str, group: str) -> bool:
    """Whether the block at a path is that of the group's file: not a name in place of the keys, and no other type."""
    origin = layers.origins.get(f"{path}.type", "")
    return (not origin or origin.startswith(f"{group}/")) and isinstance(select(layers.values, path), dict)


def _put(values: dict[Any, Any], path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        values = values.setdefault(parent, {})
    values[name] = deepcopy(value)
