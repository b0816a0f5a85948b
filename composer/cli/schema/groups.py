"""The definitions of the schema: one for the files of every group of configs, and one for whole configs.

A file names the definition of its group, ``composer.schema.json#/definitions/mixer``; files of the package _global_,
such as experiments, are whole configs. A mapping that chooses an entry by ``type`` has the keys of that entry; without
the type, which another file may give, those of all entries.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from composer.cli.schema.meanings import of_class, of_files
from composer.cli.schema.value_types import (
    INTERPOLATION,
    NULL,
    Schema,
    any_of,
    dataclass_knobs,
    knob_schema,
    ref,
    slot_name,
    value_schema,
)
from composer.config.composition import SECTIONS
from composer.config.yaml_files import PRIMARY, ConfigFolder
from composer.core import registry
from composer.core.binding import keyword_knobs
from composer.core.block import Knob, Signature
from composer.data.tokenisers.tokeniser import Tokenising
from composer.graph.compiler.bind import HEAD_WEIGHT
from composer.studies.planning.study_settings import Study
from composer.studies.sweep.search.search_settings import SearchSettings
from composer.training.optimisation.node_rates import GroupSettings
from composer.training.run.init.settings import Init
from composer.training.settings import Hardware, Training

Meanings = Mapping[str, str]

#: The definition of a whole config, of which an experiment or a study has a part.
CONFIG = "config"

#: Sections that one entry of the registry fills, and those with several entries by name: section -> kind.
CHOSEN = ("data", "objective", "optimiser", "schedule")
NAMED = {"logger": "logger", "callbacks": "callback"}

TEXT: Schema = {"type": ["string", "number", "null"]}
NAMES: Schema = {"type": "array", "items": {"type": "string"}}

#: The keys of a config that belong to no section.
GENERAL: dict[str, Schema] = {
    "seed": value_schema("seed", int), "plugins": any_of([NAMES, NULL]),
    "allow_paths": value_schema("allow_paths", bool),
    "budget": {"type": ["object", "null"]}, **dict.fromkeys(("runs", "name", "group", "arm", "resume"), TEXT),
    "experiment": {}, "hydra": {},
}  # fmt: skip

SOURCES = any_of([{"type": "string"}, NAMES, NULL])

#: The keys of a node beside the type and the knobs of its block.
NODE: dict[str, Schema] = {
    "from": {
        "description": "What the node reads: a node or a field of the data, or the names for each of its ports.",
        **any_of([{"type": "string"}, NAMES, {"type": "object", "additionalProperties": SOURCES}]),
    },
    "predicts": {"description": "Of a head: the field of the data that it predicts.", "type": "string"},
    "causal": knob_schema(Knob("causal", bool, True), "Whether a step reads the steps before it alone"),
    "weight": knob_schema(Knob("weight", HEAD_WEIGHT, 1.0), "Of a head's loss, in the sum of all losses"),
}  # fmt: skip


def schema(folders: Sequence[ConfigFolder]) -> Schema:
    """The schema of configs: of everything that is registered, and the options in these folders."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Sequence Composer",
        "definitions": _Definitions(folders).all(),
    }


def definition_of(group: str, package: str | None) -> str:
    """The definition of the files of a group, such as ``model`` or ``data/tagged_for``."""
    return CONFIG if package == "_global_" or not group else group.partition("/")[0]


class _Definitions:
    def __init__(self, folders: Sequence[ConfigFolder]) -> None:
        self.folders = folders
        self.made: dict[str, Schema] = {"interpolation": INTERPOLATION}
        self.groups: dict[str, list[str]] = {}
        for file in sorted(file for folder in folders for file in folder.path.rglob("*.yaml")):
            folder = next(folder.path for folder in folders if file.is_relative_to(folder.path))
            if (group := file.parent.relative_to(folder).as_posix()) != ".":
                self.groups.setdefault(group, []).append(file.stem)

    def all(self) -> dict[str, Schema]:
        kinds = registry.kinds()
        for kind in kinds:
            self._entries(kind, kind, Signature.of)
            inner = {name for name, block in registry.blocks(kind).items() if Signature.of(block).inner}
            self._node(kind, [name for name in registry.blocks(kind) if name not in inner])
        self._any_node(kinds)
        held = {slot for block in registry.classes() for slot in Signature.of(block).slots.values()}
        for kind in set(kinds) - held:  # in no slot, only nodes: a file may have a node's keys
            self.made[kind] = self.made[f"{kind}_node"]
        for kind in CHOSEN:
            extra = dataclass_knobs(GroupSettings) if kind == "optimiser" else {}
            said = {key.removeprefix("optimiser."): text for key, text in self._said(PRIMARY).items()}
            self._entries(kind, kind, None, self._properties(extra, said))
        self._entries("field", "field", None)
        tokenising = dataclass_knobs(Tokenising)
        said = {key.removeprefix("tokeniser."): text for key, text in self._said("data/pairs").items()}
        own = {key: knob for key, knob in tokenising.items() if key not in ("type", "own")}
        self._entries("tokeniser", "tokeniser", None, self._properties(own, said))
        for section, kind in NAMED.items():
            self._entries(f"{section}_choice", kind, None)
            self._named(section, registry.entries(kind))
        self._sections()
        return self.made

    def _said(self, option: str) -> dict[str, str]:
        return of_files(self.folders, option)

    def _properties(self, knobs: Mapping[str, Knob], said: Meanings) -> dict[str, Schema]:
        return {name: knob_schema(knob, said.get(name)) for name, knob in knobs.items()}

    def _entries(self, name: str, kind: str, signature: Any, extra: Mapping[str, Schema] | None = None) -> None:
        """The definitions of the entries of a kind, of a mapping that chooses one of them, and of a slot for one.

        signature: what reads the signature of a block; None for entries that are no blocks
        extra: keys that stand beside those of every entry
        """
        every: dict[str, str] = {}
        for entry, made in registry.entries(kind).items():
            knobs = keyword_knobs(made) if signature is None else signature(made).knobs
            said = of_class(made) | {key: text for key, text in self._said(f"{kind}/{entry}").items() if text}
            if signature is not None:
                said.setdefault("", _first_paragraph(sys.modules[made.__module__]))
            every[entry] = said.get("", "")
            if name.endswith("_choice"):  # the file of a logger has its keys under its name
                said |= {key.partition(".")[2]: text for key, text in said.items() if key.startswith(f"{entry}.")}
                said |= _under(self._said(f"{name.removesuffix('_choice')}/{entry}"), entry)
            properties = {**self._properties(knobs, said), **(extra or {})}
            self.made[f"{name}.{entry}"] = _mapping({"type": {}, "defaults": {}, **properties}, every[entry])
        self._any(f"{name}.any", (f"{name}.{entry}" for entry in every), {"defaults": ref("defaults")})
        options = [*self.groups.get(kind, ()), *(["none"] if signature is not None else [])]
        self.made[name] = self._choice(name, every, options)
        names = self.made[name]["properties"]["type"]["anyOf"][0]["enum"]
        self.made[slot_name(name)] = any_of([{"enum": names}, ref(name), ref("interpolation")])

    def _choice(self, name: str, every: Mapping[str, str], options: Iterable[str], suffix: str = "") -> Schema:
        """A mapping whose ``type`` says which keys it has."""
        names = [*every, *sorted(set(options) - every.keys())]
        chosen: Schema = {
            "anyOf": [{"enum": names, "enumDescriptions": [every.get(one, "") for one in names]}, ref("interpolation")],
        }
        cases = [
            {"if": {"properties": {"type": {"const": one}}, "required": ["type"]}, "then": ref(f"{name}.{one}{suffix}")}
            for one in every
        ]
        known = {"properties": {"type": {"enum": list(every)}}, "required": ["type"]}
        other = {"if": known, "else": ref(f"{name}.any{suffix}")}
        return {"type": "object", "properties": {"type": chosen}, "allOf": [*cases, other]}

    def _any(self, name: str, definitions: Iterable[str], extra: Mapping[str, Schema]) -> None:
        """The definition of a mapping that has the keys of all of these definitions."""
        found: dict[str, dict[str, Schema]] = {}
        for definition in definitions:
            for key, given in self.made[definition]["properties"].items():
                shape = {word: value for word, value in given.items() if word not in ("description", "default")}
                place = ref(f"{definition}/properties/{key}")
                found.setdefault(key, {}).setdefault(json.dumps(shape, sort_keys=True), place)
        properties = {key: any_of(list(places.values())) for key, places in found.items()}
        self.made[name] = _mapping({**properties, "type": {}, **extra})

    def _node(self, kind: str, names: Sequence[str]) -> None:
        """The definitions of a node whose block is of this kind."""
        extra: dict[str, Schema] = {"type": {}, "kind": {}, **{key: ref(f"node_keys/properties/{key}") for key in NODE}}
        for name in (*names, "any"):
            own = {key: ref(f"{kind}.{name}/properties/{key}") for key in self.made[f"{kind}.{name}"]["properties"]}
            self.made[f"{kind}.{name}.node"] = _mapping({**own, **extra})
        meanings = {name: self.made[f"{kind}.{name}"].get("description", "") for name in names}
        self.made[f"{kind}_node"] = self._choice(kind, meanings, self.groups.get(kind, ()), ".node")

    def _any_node(self, kinds: Sequence[str]) -> None:
        """The definition of a node, whose kind may be that of another file."""
        self.made["node_keys"] = {"properties": NODE}
        self._any("node.any", [f"{kind}.any.node" for kind in kinds], {})
        chosen = {"description": "The kind of the node's block.", "enum": list(kinds)}
        cases = [
            {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": ref(f"{kind}_node")}
            for kind in kinds
        ]
        other = {"if": {"required": ["kind"]}, "else": ref("node.any")}
        self.made["node"] = {"type": "object", "properties": {"kind": chosen}, "allOf": [*cases, other]}

    def _named(self, section: str, entries: Iterable[str]) -> None:
        """The definition of a section that maps names to entries of the registry."""
        properties: dict[str, Schema] = {}
        for name in entries:
            own = self.made[f"{section}_choice.{name}"]
            properties[name] = {
                "description": own.get("description", ""),
                **any_of([ref(f"{section}_choice.{name}"), NULL]),
            }
        if section == "logger":
            properties["none"] = {"type": ["object", "null"], "maxProperties": 0}
        other = {"allOf": [ref(f"{section}_choice"), {"required": ["type"]}]}
        names = {"properties": properties, "additionalProperties": other}
        self.made[section] = {"type": "object", **names}

    def _sections(self) -> None:
        said = self._said(PRIMARY)
        init = {"from" if name == "origin" else name: knob for name, knob in keyword_knobs(Init).items()}
        self.made["training"] = _mapping(self._properties(keyword_knobs(Training), _under(said, "training")))
        self.made["init"] = _mapping(self._properties(init, _under(said, "init")))
        for name, settings, file in (
            ("trainer", Hardware, "trainer/cpu"), ("search", SearchSettings, "search/tpe"), ("study", Study, ""),
        ):  # fmt: skip
            known = of_class(settings) | (self._said(file) if file else {})
            properties = self._properties(dataclass_knobs(settings), known)
            self.made[name] = _mapping({"defaults": ref("defaults"), **properties})
        nodes = any_of([{"type": "object", "additionalProperties": any_of([ref("node"), NULL])}, INTERPOLATION])
        self.made["model"] = {
            "description": "A graph of blocks. Keys beside nodes are values to refer to, as ${model.dim}.",
            "properties": {"nodes": nodes, "defaults": ref("defaults")},
            "additionalProperties": {"type": ["string", "number", "boolean", "array", "null"]},
            "type": "object",
        }
        self.made["defaults"] = self._defaults()
        sections = {name: any_of([ref(name), NULL]) if name in ("search", "study") else ref(name)
                    for name in SECTIONS if name in self.made}  # fmt: skip
        slots = {kind: any_of([ref(slot_name(kind)), NULL]) for kind in registry.kinds()}
        everything: dict[str, Schema] = {"defaults": ref("defaults"), **GENERAL, **sections, **slots}
        for name, found in everything.items():
            if said.get(name):
                everything[name] = {"description": said[name], **({"allOf": [found]} if "$ref" in found else found)}
        self.made[CONFIG] = _mapping(everything)

    def _defaults(self) -> Schema:
        """A list of defaults: every entry names a config, or a group and its option."""
        properties: dict[str, Schema] = {}  # for editors, which complete no patterns
        patterns: dict[str, Schema] = {r"^((override|optional) )*/?hydra/": {}}
        for group, options in self.groups.items():
            name = f"options.{group.replace('/', '.')}"
            many = {"type": "array", "items": {"enum": options}}
            self.made[name] = any_of([{"enum": options}, many, NULL, INTERPOLATION])
            below = group.partition("/")[2] or group  # as the files of the group around it name it
            patterns[rf"^((override|optional) )*(/?{group}|{below})(@[\w.]+)?$"] = ref(name)
            properties |= dict.fromkeys((f"override /{group}", f"/{group}"), ref(name))
        entry = {
            "type": "object",
            "properties": properties,
            "patternProperties": patterns,
            "additionalProperties": False,
        }
        items = any_of([{"type": "string"}, entry])
        return {"description": "The files that this one builds on, in order.", "type": "array", "items": items}


def _mapping(properties: Mapping[str, Schema], meaning: str = "") -> Schema:
    found: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {"description": meaning, **found} if meaning else found


def _under(said: Meanings, section: str) -> dict[str, str]:
    return {key.partition(".")[2]: text for key, text in said.items() if key.startswith(f"{section}.")}


def _first_paragraph(module: Any) -> str:
    return " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())
