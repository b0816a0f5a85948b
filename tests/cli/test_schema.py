"""The JSON schema of configs, by which editors complete and check YAML files."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Literal, get_args, get_origin

import jsonschema
import pytest

from composer.cli.init import PROJECT
from composer.cli.schema.command import FILE, schema_text
from composer.cli.schema.groups import definition_of
from composer.cli.schema.meanings import MODELINE, heading
from composer.cli.schema.value_types import value_schema
from composer.config.yaml_files import parse
from composer.core import registry
from composer.core.binding import FAILED, bind_value, keyword_knobs
from composer.core.block import Recipe, Section, Signature, alternatives, describe_type, slot_kind
from composer.core.problems import Report
from composer.graph.trained import TrainedGraph
from tests.support.paths import ROOT

SHIPPED = ROOT / "conf" / FILE

#: Every file but those of Hydra's own config, with the folder in which its schema lies.
FILES = [
    (path, path.relative_to(conf), place)
    for conf, place in ((ROOT / "conf", ROOT / "conf"), (PROJECT / "conf", PROJECT))
    for path in sorted(conf.rglob("*.yaml"))
    if path.relative_to(conf).parts[0] != "hydra"
]


@cache
def definitions():
    return json.loads(SHIPPED.read_text(encoding="utf-8"))["definitions"]


@cache
def validator(definition):
    return jsonschema.Draft7Validator({"$ref": f"#/definitions/{definition}", "definitions": definitions()})


def read(text):
    package, content, _ = parse(text, "a file", trusted=True)
    return package, content


@pytest.mark.slow
def test_the_schema_in_conf_is_that_of_the_registry():
    assert SHIPPED.read_text(encoding="utf-8") == schema_text(None), f"run: python -m composer schema -o conf/{FILE}"
    jsonschema.Draft7Validator.check_schema(json.loads(SHIPPED.read_text(encoding="utf-8")))


def test_every_file_names_its_definition_in_its_first_line_after_that_of_hydra():
    for path, inside, place in FILES:
        lines = path.read_text(encoding="utf-8").splitlines()
        package, _ = read("\n".join(lines))
        definition = definition_of(inside.parent.as_posix().strip("."), package)
        target = Path(os.path.relpath(place / FILE, path.parent)).as_posix()
        expected = f"{MODELINE} $schema={target}#/definitions/{definition}"
        assert lines[1 if lines[0].startswith("# @package") else 0] == expected, path
        assert len(heading(lines)) > 10, f"{path}: the next line says what it is"


@pytest.mark.parametrize("path", [path for path, _, place in FILES if place != PROJECT], ids=lambda path: path.stem)
def test_every_shipped_file_is_valid(path):
    package, content = read(path.read_text(encoding="utf-8"))
    definition = definition_of(path.relative_to(ROOT / "conf").parent.as_posix().strip("."), package)
    assert [error.message for error in validator(definition).iter_errors(content)] == []


@pytest.mark.parametrize(
    ("definition", "text", "place"),
    [
        ("mixer", "type: attention\nheds: 4", "$"),  # a key that the block does not have
        ("mixer", "type: atention", "$.type"),  # no registered name
        ("mixer", "type: attention\nheads: 0", "$.heads"),  # out of range
        ("mixer", "type: attention\nheads: four", "$.heads"),  # a text for a number
        ("mixer", "type: attention\nbias: 1", "$.bias"),  # a number for true or false
        ("mixer", "type: attention\nscore: cosine", "$.score"),  # none of the choices
        ("config", "trainig: {steps: 3}", "$"),  # no section
        ("config", "training: {batch: 3.5}", "$.training.batch"),  # no whole number
        ("config", "training: {scheduled_sampling: {rat: 1}}", "$.training.scheduled_sampling"),  # deep inside
        ("config", "optimiser: {type: adamw, momentum: 0.9}", "$.optimiser"),  # the key of another optimiser
        ("config", "defaults:\n  - override /data: dats", "$.defaults[0]['override /data']"),  # no option of the group
        ("config", "defaults:\n  - overide /data: dates", "$.defaults[0]"),  # no word of Hydra's
        ("config", "model: {nodes: {encoder: {kind: mixr}}}", "$.model.nodes.encoder.kind"),
        ("config", "model: {nodes: {encoder: {kind: stack, deph: 3}}}", "$.model.nodes.encoder"),
        ("config", "model: {nodes: {encoder: {deph: 3}}}", "$.model.nodes.encoder"),  # whose kind another file gives
        ("config", "model: {nodes: {e: {kind: stack, mixer: {type: lstm, heads: 3}}}}", "$.model.nodes.e.mixer"),
        ("config", "model: {nodes: {encoder: {mixer: atention}}}", "$.model.nodes.encoder.mixer"),
        ("config", "logger: {wandb: {projet: x}}", "$.logger.wandb"),
        ("config", "callbacks: {night: {type: timr}}", "$.callbacks.night.type"),
        ("config", "study: {arms: {a: []}, budget: {parameters: 3}}", "$.study.budget"),
        ("config", "data: {type: pairs, tokeniser: {type: bpe, vocab: 3}}", "$.data.tokeniser"),
        ("model", "nods: {encoder: {kind: stack}}", "$.nods"),
    ],
)
def test_a_mistake_is_found_at_its_place(definition, text, place):
    _, content = read(text)
    found = {error.json_path for error in leaves(validator(definition).iter_errors(content))}
    assert place in found


def leaves(errors):
    for error in errors:
        yield error
        yield from leaves(error.context or ())


def every_type():
    """The type of every key of every entry, once."""
    found = {}
    for kind in (*registry.kinds(), *registry.SECTION_PACKAGES):
        for entry in registry.entries(kind).values() if kind != "metric" else ():
            knobs = Signature.of(entry).knobs if kind in registry.kinds() else keyword_knobs(entry)
            found |= {str(knob.type): knob.type for knob in knobs.values()}
    return found.values()


def plain(annotation):
    """Whether the values of a type stand for themselves: neither blocks nor entries, which have definitions."""
    parts = [part for member in alternatives(annotation) for part in (member, *get_args(member))]
    named = any(isinstance(part, Section) or part is TrainedGraph or Recipe in alternatives(part) for part in parts)
    return slot_kind("", annotation) is None and not named


def test_the_schema_takes_the_values_that_the_binding_takes():
    values = [None, True, -1, 0, 1, 2, 3, 5, 101, 0.5, 0.999, -0.5, "", "text", [], [1], ["text"], [0.5], {}, [[]]]
    types = [annotation for annotation in every_type() if plain(annotation)]
    assert len(types) > 50
    for annotation in types:
        schema = jsonschema.Draft7Validator(value_schema("key", annotation) | {"definitions": definitions()})
        choices = [c for part in alternatives(annotation) if get_origin(part) is Literal for c in get_args(part)]
        for value in [*values, *choices]:
            bound = bind_value("key", value, annotation, "key", Report()) is not FAILED
            assert schema.is_valid(value) == bound, f"{describe_type(annotation)}: {value!r}"
        assert schema.is_valid("${model.dim}")


@pytest.mark.slow
def test_a_plugin_and_the_options_of_a_users_folder_are_in_the_schema(tmp_path):
    """In a process of its own, as init calls it: the plugin would stay registered."""
    from composer.cli.main import main

    main(["init", str(tmp_path / "mine")])
    made = json.loads((tmp_path / "mine" / FILE).read_text(encoding="utf-8"))["definitions"]
    for path in sorted((tmp_path / "mine" / "conf").rglob("*.yaml")):
        package, content = read(path.read_text(encoding="utf-8"))
        definition = definition_of(path.parent.name, package)
        schema = jsonschema.Draft7Validator({"$ref": f"#/definitions/{definition}", "definitions": made})
        assert [error.message for error in schema.iter_errors(content)] == [], path
    assert "moving_average" in json.dumps(made["mixer"])
    decay = made["mixer.moving_average"]["properties"]["slowest"]
    assert decay["description"].startswith("the largest decay at the beginning")
    assert decay["default"] == 0.99
