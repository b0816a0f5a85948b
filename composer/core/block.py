"""The block protocol, read from the signatures of a class: there is no base class and no separate config class.

A block is an ``nn.Module`` registered under a kind and a name.

    @register("mixer", "mingru")
    class MinGRU(nn.Module):
        causal = True

        def __init__(self, dim: int, *, bias: bool = True) -> None: ...
        def start(self, batch: int) -> State: ...
        def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]: ...

The constructor's parameters before the star are *facts*, which the compiler fills in from the edges: ``dim`` is the
width of the first port, ``memory_dim`` the width of the port ``memory``, ``target_vocabulary`` the vocabulary size of
the field that a head predicts, ``causal`` whether only the past may be read. The parameters after the star are *knobs*
(hyperparameters), the keys of the YAML. A knob of type ``Recipe`` is a *slot* for another block; the slot's name is the
kind of that block, unless ``Annotated[Recipe, Slot("norm")]`` names another kind (``query_norm``, ``key_norm``). The
parameters of ``forward`` are the block's *ports* (inputs). A block whose ``forward`` has the parameter ``state`` mixes
time steps, and returns its output and the next state: a hidden state, a KV cache. A block without a ``forward`` is
*inner*: it works only inside the block whose slot holds it, and cannot be a node. What else a block may declare is
listed in capabilities.py.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from torch import nn

from composer.core.capabilities import offers
from composer.core.problems import ConfigError, Invalid
from composer.core.signals import Field, Signal


@dataclass(frozen=True)
class Range:
    """The numbers a knob accepts. ``below`` is a bound that is itself not accepted."""

    low: float | None = None
    above: float | None = None
    high: float | None = None
    below: float | None = None

    def __contains__(self, value: float) -> bool:
        return (
            (self.low is None or value >= self.low)
            and (self.above is None or value > self.above)
            and (self.high is None or value <= self.high)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        bounds = (("at least", self.low), ("above", self.above), ("at most", self.high), ("below", self.below))
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


Positive = Annotated[int, Range(low=1)]
Probability = Annotated[float, Range(low=0, below=1)]
Scale = Annotated[float, Range(above=0)]


@dataclass(frozen=True)
class Slot:
    """The kind of the blocks that a slot takes, where the slot's name is not that kind."""

    kind: str


@dataclass(frozen=True)
class Section:
    """Marks a knob that chooses an entry of a section of the registry, by ``type``, as the config itself does.

    The constructor receives the entry bound to the other keys: a function of the entry's positional arguments. On the
    field ``type`` of a dataclass of knobs, it marks the name of an entry, whose own keys the field ``own`` receives.
    """

    name: str


class Reference(str):
    """A knob of this type names another node; the block's constructor receives that node's module, to share weights."""


@dataclass(frozen=True)
class Port:
    """A parameter of ``forward``: where an edge can end."""

    name: str
    kinds: tuple[str, ...]
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True)
class Knob:
    """A keyword of the constructor: a key in the YAML."""

    name: str
    type: Any
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def slot(self) -> str | None:
        """The kind of the block that this knob holds; None if the knob is not a slot."""
        return slot_kind(self.name, self.type)


@dataclass(frozen=True)
class Signature:
    """A block's ports, facts, knobs and outputs, read from the signatures of its class."""

    ports: dict[str, Port]
    facts: dict[str, bool]  # name -> whether the fact may be None
    knobs: dict[str, Knob]
    outputs: tuple[str, ...]
    stateful: bool
    once: tuple[str, ...]  # ports that streaming reads once, in ``start``
    target: Port | None  # what a head predicts: the second parameter of its loss
    inner: bool  # has no ``forward``: works only inside the block that holds it

    @classmethod
    def of(cls, block: type[nn.Module]) -> Signature:
        """The signature of a class, read once and cached."""
        if block not in _signatures:
            _signatures[block] = cls._read(block)
        return _signatures[block]

    @classmethod
    def _read(cls, block: Any) -> Signature:
        inner = block.forward is nn.Module.forward
        forward = {} if inner else dict(inspect.signature(block.forward).parameters)
        hints = {} if inner else get_type_hints(block.forward)
        ports = {p.name: _port(p, hints) for p in list(forward.values())[1:] if p.name != "state"}
        stateful = "state" in forward
        once: tuple[str, ...] = ()
        if stateful:
            once = tuple(name for name in list(inspect.signature(block.start).parameters)[2:])
        constructor = inspect.signature(block.__init__).parameters
        types_ = get_type_hints(block.__init__, include_extras=True)
        facts, knobs = {}, {}
        for p in list(constructor.values())[1:]:
            if p.kind is p.KEYWORD_ONLY:
                knobs[p.name] = Knob(p.name, types_.get(p.name, Any), p.default)
            elif p.kind is p.POSITIONAL_OR_KEYWORD:
                facts[p.name] = type(None) in get_args(types_.get(p.name))
        target = None
        if offers(block, "loss"):
            parameter = list(inspect.signature(block.loss).parameters.values())[2]
            target = _port(parameter, get_type_hints(block.loss))
        result = hints.get("return")
        if get_origin(result) is tuple:
            result = get_args(result)[0]
        return cls(ports, facts, knobs, _kinds(result), stateful, once, target, inner)

    @property
    def slots(self) -> dict[str, str]:
        """The knobs that hold a block, each with the kind of the blocks it takes."""
        return {name: knob.slot for name, knob in self.knobs.items() if knob.slot is not None}

    @property
    def first(self) -> Port:
        return next(iter(self.ports.values()))

    def source(self, fact: str) -> tuple[str, str]:
        """The port and the size of that port that a fact stands for: 'memory_dim' -> ('memory', 'dim')."""
        if fact in Field.FACTS:
            return self.first.name, fact
        port, _, size = fact.rpartition("_")
        return port, size


_signatures: dict[type[nn.Module], Signature] = {}


def _kinds(annotation: Any) -> tuple[str, ...]:
    return tuple(t.kind for t in alternatives(annotation) if isinstance(t, type) and issubclass(t, Signal))


def _port(parameter: inspect.Parameter, hints: dict[str, Any]) -> Port:
    variadic = parameter.kind is parameter.VAR_POSITIONAL
    optional = not variadic and parameter.default is not parameter.empty
    return Port(parameter.name, _kinds(hints.get(parameter.name)), optional, variadic)


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; of any other type, the type itself."""
    if get_origin(annotation) in (Union, types.UnionType):
        return get_args(annotation)
    return (annotation,)


def slot_kind(name: str, annotation: Any) -> str | None:
    """The kind of the blocks that a parameter of this name and type takes; None if the parameter is not a slot."""
    kind = name
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        kind = next((note.kind for note in notes if isinstance(note, Slot)), name)
    return kind if Recipe in alternatives(annotation) else None


class Empty(Enum):
    """The value of a slot that is said to be empty. A slot of which nothing is said may take a block from elsewhere."""

    EMPTY = "none"


@dataclass(frozen=True)
class Recipe:
    """A block chosen and configured but not yet built: only its facts are missing."""

    kind: str
    name: str
    block: type[nn.Module]
    knobs: dict[str, Any]
    path: str

    @property
    def signature(self) -> Signature:
        return Signature.of(self.block)

    def takes(self, port: str) -> bool:
        return port in self.signature.ports

    def build(self, **facts: Any) -> nn.Module:
        """Make the module. Facts that the constructor does not have are left out; facts that are not given are None."""
        known = {name: facts.get(name) for name in self.signature.facts}
        knobs = {name: None if value is Empty.EMPTY else value for name, value in self.knobs.items()}
        try:
            return self.block(**known, **knobs)
        except Invalid as error:
            raise ConfigError([error.problem(self.path)]) from error

    def without(self, paths: Collection[str]) -> Recipe:
        """This recipe with the knobs at these paths of the config reset to their defaults."""
        knobs = {
            name: _without(value, paths)
            for name, value in self.knobs.items()
            if f"{self.path}.{name}" not in paths or self.signature.knobs[name].required
        }
        return replace(self, knobs=knobs)

    def resolve(self, modules: Mapping[str, nn.Module]) -> Recipe:
        """This recipe with the nodes it refers to replaced by their modules."""
        knobs = {name: modules[value] if isinstance(value, Reference) else value for name, value in self.knobs.items()}
        return replace(self, knobs=knobs)


def _without(value: Any, paths: Collection[str]) -> Any:
    if isinstance(value, Recipe):
        return value.without(paths)
    if isinstance(value, dict):
        return {key: _without(item, paths) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _without(getattr(value, field.name), paths) for field in fields(value)})
    return value


def walk(value: Any) -> Iterator[Recipe]:
    """All recipes inside a bound value, each after the recipes that contain it."""
    if isinstance(value, Recipe):
        yield value
        yield from walk(value.knobs)
    elif isinstance(value, dict):
        for item in value.values():
            yield from walk(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from walk(getattr(value, field.name))


def describe_type(annotation: Any) -> str:
    """A knob's type in the user's words."""
    origin = get_origin(annotation)
    if origin is Annotated:
        base, bound = get_args(annotation)
        if isinstance(bound, Slot | Section):
            return f"a {bound.kind if isinstance(bound, Slot) else bound.name}"
        return f"{describe_type(base)} {bound}"
    if origin is Literal:
        return "one of " + ", ".join(repr(choice) for choice in get_args(annotation))
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(t) for t in get_args(annotation))
    if origin is list:
        return f"a list, each item {describe_type(get_args(annotation)[0])}"
    if origin is dict:
        return "a mapping"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    words |= {type(None): "null", Reference: "the name of a node", Recipe: "a block"}
    name = getattr(annotation, "__name__", str(annotation))
    return words.get(annotation, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
