"""A block with the defaults of its knobs, and with generated values for its required knobs and ports."""

from __future__ import annotations

from itertools import product
from typing import Any

from torch import nn

from composer.core import registry
from composer.core.binding import bind_block, bind_knobs
from composer.core.block import Recipe, Signature
from composer.core.capabilities import declared
from composer.core.problems import ConfigError, Report, UserError
from composer.graph.combinators.bidirectional import one_way
from composer.testing.subjects import Subject, subject

#: Wide enough for the law ``signals``, whose figures are averages over the width.
DIM = 32


def default_knobs(block: type[nn.Module]) -> dict[str, Any]:
    """Values for the required knobs of a block: a width, and in a slot the first suitable block of the slot's kind."""
    config: dict[str, Any] = {**declared(block, "example")}
    for knob in Signature.of(block).knobs.values():
        if knob.required and knob.name not in config:
            config[knob.name] = plain_block(knob.slot) if knob.slot is not None else DIM
    return config


def plain_block(kind: str) -> dict[str, str]:
    """The config of a block of a kind that requires no knobs and no ports but the first; of a mixer, a causal one."""
    for name, block in registry.blocks(kind).items():
        signature = Signature.of(block)
        needs_knobs = any(knob.required for knob in signature.knobs.values())
        needs_ports = any(not port.optional for port in list(signature.ports.values())[1:])
        if needs_knobs or needs_ports:
            continue
        recipe = bind_block(kind, name, kind, Report())
        if recipe is not None and (kind != "mixer" or one_way(recipe)):
            return {"type": name}
    raise UserError(f"no registered {kind} can fill a slot by itself.")


def class_recipe(block: type[nn.Module], config: dict[str, Any]) -> Recipe:
    """The recipe of a class, registered or not, from values of its knobs as in YAML."""
    report = Report()
    knobs = bind_knobs(block.__name__, Signature.of(block).knobs, config, "block", report)
    if report.problems or knobs is None:
        raise ConfigError(report.problems)
    return Recipe("", block.__name__, block, knobs, "block")


def testable(block: type[nn.Module], config: dict[str, Any]) -> list[tuple[type[nn.Module], dict[str, Any]]]:
    """The block with its config; an inner block, inside every block whose only slot takes blocks of its kind.

    config: values of knobs as in YAML
    """
    if not Signature.of(block).inner:
        return [(block, config)]
    found = [
        (host, {kind: {"type": name, **config}})
        for kind in registry.kinds()
        for name, known in registry.blocks(kind).items()
        if known is block
        for host in registry.classes()
        if Signature.of(host).slots == {kind: kind}
    ]
    if not found:
        raise UserError(f"{block.__name__} has no forward, so it acts inside another block, but no block holds it.")
    return sorted(found, key=lambda one: one[0].__name__)


def default_subject(block: type[nn.Module], **knobs: Any) -> Subject:
    """A block with its defaults and as many optional ports as it accepts with them; ``knobs`` are values as in YAML."""
    block, knobs = testable(block, knobs)[0]
    recipe = class_recipe(block, default_knobs(block) | knobs)
    refused: list[ConfigError] = []
    memory = recipe.signature.ports.get("memory")
    needless = memory is not None and memory.optional and not _reads_memory(recipe)
    for left_out in ports_left_out(recipe):
        if needless and "memory" not in left_out:
            continue
        try:
            return subject(recipe, dim=DIM, ports=left_out)
        except ConfigError as error:
            refused.append(error)
    raise refused[-1]


def ports_left_out(recipe: Recipe) -> list[dict[str, None]]:
    """Every choice of the optional ports that are left out, from none of them to all."""
    optional = [port.name for port in recipe.signature.ports.values() if port.optional]
    choices = product([True, False], repeat=len(optional))
    return [{port: None for port, used in zip(optional, choice, strict=True) if not used} for choice in choices]


def _reads_memory(recipe: Recipe) -> bool:
    """Whether a block reads its memory: if it has slots, whether a block in one of them does."""
    held = [knob for knob in recipe.knobs.values() if isinstance(knob, Recipe)]
    return any(block.takes("memory") for block in held or [recipe])
