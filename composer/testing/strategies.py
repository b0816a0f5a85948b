"""Random blocks and graphs, drawn from what the registry and the signatures say: nothing here knows a block by name."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, Literal, get_args, get_origin

from hypothesis import assume
from hypothesis import strategies as st

from composer.core import registry
from composer.core.binding import Report, bind_block
from composer.core.block import Knob, Range, Recipe, Signature, alternatives
from composer.core.problems import GraphError
from composer.testing import Subject, subject

FAMILIES = [(kind, name) for kind in registry.kinds() for name in registry.blocks(kind)]

#: The blocks that act only inside another one.
INNER = [(kind, name) for kind, name in FAMILIES if Signature.of(registry.blocks(kind)[name]).inner]


def knob_values(knob: Knob, depth: int) -> st.SearchStrategy[Any]:
    """Values a knob's type allows; for types with inner structure, its default."""
    options = [_option(option, knob.name, depth) for option in alternatives(knob.type)]
    drawn = [option for option in options if option is not None]
    return st.one_of(*drawn) if drawn else st.just(knob.default)


def _option(option: Any, name: str, depth: int) -> st.SearchStrategy[Any] | None:
    if option is bool:
        return st.booleans()
    if option is Recipe:
        return block_configs(name, depth - 1) if depth > 0 else None
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
def block_configs(draw: st.DrawFn, kind: str, depth: int = 2, name: str | None = None) -> dict[str, Any]:
    """A block of a kind with random knobs, as YAML would say it."""
    name = name or draw(st.sampled_from(sorted(registry.blocks(kind))))
    config: dict[str, Any] = {"type": name, **getattr(registry.blocks(kind)[name], "example", {})}
    for knob in Signature.of(registry.blocks(kind)[name]).knobs.values():
        needed = knob.required or (depth > 0 and draw(st.booleans()))
        if needed and knob.name not in config:
            config[knob.name] = draw(knob_values(knob, max(depth, 1)))
    return config


def working(kind: str, dim: int = 4, depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Blocks of a kind with one input and knobs that go together, as the block itself says."""

    def works(config: dict[str, Any]) -> bool:
        bound = recipe(kind, config)
        if sum(not port.optional for port in bound.signature.ports.values()) > 1:
            return False
        try:
            bound.build(dim=dim, causal=True)
        except GraphError:
            return False
        return True

    return block_configs(kind, depth).filter(works)


def recipe(kind: str, config: dict[str, Any]) -> Recipe:
    report = Report()
    bound = bind_block(kind, config["type"], {k: v for k, v in config.items() if k != "type"}, "block", report)
    assert not report.problems, report.problems
    assert bound is not None
    return bound


@st.composite
def subjects(draw: st.DrawFn, kind: str, name: str) -> Subject:
    """A registered block with random knobs, ports, sizes and lengths; an inner one in a block with a slot for it."""
    config = draw(block_configs(kind, name=name))
    if (kind, name) in INNER:
        hosts = [(k, n) for k, n in FAMILIES if Signature.of(registry.blocks(k)[n]).slots == (kind,)]
        host, name = draw(st.sampled_from(hosts))
        config, kind = draw(block_configs(host, name=name)) | {kind: config}, host
    bound = recipe(kind, config)
    time = draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(0, time), min_size=1, max_size=3).map(lambda rest: [time, *rest]))
    memory = draw(st.lists(st.integers(1, 4), min_size=len(lengths), max_size=len(lengths)))
    sizes = {
        "dim": draw(st.sampled_from([4, 6, 8])),
        "causal": draw(st.booleans()),
        "time": time,
        "batch": len(lengths),
        "lengths": lengths,
        "memory_lengths": memory,
        "seed": draw(st.integers(0, 99)),
    }
    ports = bound.signature.ports.values()
    kinds = {port.name: draw(st.sampled_from(port.kinds)) for port in ports}
    optional = [port.name for port in ports if port.optional]
    choices = list(product([True, False], repeat=len(optional)))
    shift = draw(st.integers(0, len(choices) - 1))
    for choice in choices[shift:] + choices[:shift]:  # which optional ports go with these knobs, the block itself says
        connected = kinds | {port: None for port, used in zip(optional, choice, strict=True) if not used}
        try:
            return subject(bound, ports=connected, **sizes)
        except GraphError:
            continue
    return assume(False)
