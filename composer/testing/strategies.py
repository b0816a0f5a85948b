"""Random configurations of blocks for the laws, drawn by hypothesis from the registry and the signatures.

    from composer.testing import hold
    from composer.testing.strategies import subjects_of
    from hypothesis import given

    @given(subjects_of(MyMixer))
    def test_my_mixer_obeys_the_laws_however_it_is_configured(subject):
        hold(subject, ["chunks", "padding", "causality"])

No block is named here. This module needs hypothesis: ``pip install 'sequence-composer[testing]'``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

from hypothesis import assume
from hypothesis import strategies as st
from torch import nn

from composer.core import registry
from composer.core.block import Knob, Range, Recipe, Signature, alternatives, walk
from composer.core.capabilities import declared
from composer.core.problems import ConfigError, UserError
from composer.testing.defaults import class_recipe, ports_left_out, testable
from composer.testing.subjects import Subject, subject

#: The size of extreme inputs, at which many gates of a block are closed so far that their sigmoids are zero in float64.
EXTREME = 1000.0


def knob_values(knob: Knob, depth: int) -> st.SearchStrategy[Any]:
    """Random values that a knob's type allows; for types such as lists and mappings, the knob's default."""
    if knob.slot is not None:
        options = [block_configs(knob.slot, depth - 1) if depth > 0 else None]
    else:
        options = [_option(option) for option in alternatives(knob.type)]
    drawn = [option for option in options if option is not None]
    if not drawn and knob.required:
        raise UserError(
            f"the type of the required parameter '{knob.name}' does not say which values are right. "
            f"Name one on the class: example = {{'{knob.name}': ...}}"
        )
    return st.one_of(*drawn) if drawn else st.just(knob.default)


def _option(option: Any) -> st.SearchStrategy[Any] | None:
    if option is bool:
        return st.booleans()
    if get_origin(option) is Literal:
        return st.sampled_from(get_args(option))
    if get_origin(option) is Annotated:
        base, bound = get_args(option)
        return _numbers(base, bound)
    return None


def _numbers(base: type, bound: Range) -> st.SearchStrategy[Any]:
    if base is int:
        return st.integers(int(bound.low or 1), int(bound.low or 1) + 3)
    low = bound.low if bound.low is not None else 0.5
    return st.sampled_from([low, low + 0.25, 2.0]).filter(lambda value: value in bound)


@st.composite
def knob_configs(draw: st.DrawFn, block: type[nn.Module], depth: int = 2) -> dict[str, Any]:
    """Random values, as in YAML, for the required knobs of a block and for some of its other knobs."""
    config: dict[str, Any] = {**declared(block, "example")}
    for knob in Signature.of(block).knobs.values():
        needed = knob.required or (depth > 0 and draw(st.booleans()))
        if needed and knob.name not in config:
            config[knob.name] = draw(knob_values(knob, max(depth, 1)))
    return config


@st.composite
def block_configs(draw: st.DrawFn, kind: str, depth: int = 2) -> dict[str, Any]:
    """A registered block of a kind with random knobs, as in YAML."""
    name = draw(st.sampled_from(sorted(registry.blocks(kind))))
    return {"type": name, **draw(knob_configs(registry.blocks(kind)[name], depth))}


def subjects_of(block: type[nn.Module]) -> st.SearchStrategy[Subject]:
    """A block, registered or not, with random knobs, ports, sizes and lengths; an inner block inside another one."""
    return _recipes(block).flatmap(_recipe_subjects)


@st.composite
def _recipes(draw: st.DrawFn, block: type[nn.Module]) -> Recipe:
    config = draw(knob_configs(block))
    host, held = draw(st.sampled_from(testable(block, config)))
    return class_recipe(host, held if host is block else draw(knob_configs(host)) | held)


@st.composite
def _recipe_subjects(draw: st.DrawFn, bound: Recipe) -> Subject:
    """A built block with random ports, sizes and lengths."""
    time = draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(0, time), min_size=1, max_size=3).map(lambda rest: [time, *rest]))
    memory = draw(st.lists(st.integers(1, 4), min_size=len(lengths), max_size=len(lengths)))
    sizes: dict[str, Any] = {
        "dim": draw(st.sampled_from([4, 6, 8])),
        "causal": draw(st.booleans()),
        "time": time,
        "batch": len(lengths),
        "lengths": lengths,
        "memory_lengths": memory,
        "seed": draw(st.integers(0, 99)),
    }
    made_of_blocks = len(list(walk(bound))) > 1  # they multiply large inputs until rounding errors are large, too
    if sizes["seed"] % 2 and not made_of_blocks:  # no further draw, which would dilute the others
        sizes["scale"] = EXTREME
    ports = bound.signature.ports.values()
    kinds = {port.name: draw(st.sampled_from(port.kinds)) for port in ports}
    choices = ports_left_out(bound)
    shift = draw(st.integers(0, len(choices) - 1))
    for left_out in choices[shift:] + choices[:shift]:  # the block itself refuses ports that do not fit its knobs
        try:
            return subject(bound, ports={**kinds, **left_out}, **sizes)
        except ConfigError:
            continue
    return assume(False)
