"""Layers of named slots, repeated.

    pre-norm:   x <- x + slot(norm(x))
    post-norm:  x <- norm(x + slot(x))
    plain:      x <- slot(x), with the norm before or after it

for the slots mixer, cross and ffn of each layer, in that order; an empty slot is left out. A ``pattern`` of layer names
repeats to the depth, for hybrids (Jamba, Griffin). A vector enters through the ``bridge``, positions through
``position``. Its state is that of its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import cycle, groupby, islice
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from composer.core.block import Probability, Range, Recipe
from composer.core.capabilities import said
from composer.core.problems import Invalid, did_you_mean, listed
from composer.core.recurrence import StateStep
from composer.core.registry import block_name, register
from composer.core.signals import Seq, State, Vec
from composer.core.streaming import Call, Step, pointwise_step
from composer.core.streaming_copy import constant
from composer.core.watch import show_terms
from composer.graph.combinators.bidirectional import directed


@dataclass(frozen=True)
class Layer:
    """The slots of one layer; None takes the stack's."""

    mixer: Recipe | None = None
    cross: Recipe | None = None
    ffn: Recipe | None = None


SLOTS = tuple(field.name for field in fields(Layer))

#: why a branch may be small beside its trunk, for the law of signals
BRANCH = "a branch that starts small or at zero lets a deep stack start as the identity"


class Slot(nn.Module):
    """One block of a layer with its norm, dropout and residual connection."""

    def __init__(self, block: nn.Module, norm: nn.Module | None, order: str, residual: bool, dropout: float) -> None:
        super().__init__()
        self.call = Call(block)
        self.norm = norm
        self.order = order
        self.residual = residual
        self.dropout = nn.Dropout(dropout) if dropout else None

    def forward(self, x: Seq, state: State | None, **ports: Seq | Vec | None) -> tuple[Seq, State | None]:
        before = self.norm(x) if self.norm is not None and self.order == "pre" else x
        y, state = self.call(before, state, **ports)
        if y.dim != x.dim:
            name = type(self.call.block).__name__
            raise Invalid("", f"{name} turns width {x.dim} into {y.dim}, but a stack's layers keep their width.")
        if self.dropout is not None:
            y = y.like(self.dropout(y.values))
        if self.residual:
            show_terms(self, lambda: {"trunk": x, "branch": y}, branch=BRANCH)
            y = y.like(x.values + y.values)
        if self.norm is not None and self.order == "post":
            y = self.norm(y)
        return y, state

    @constant
    def step(self) -> StateStep:
        """One step of every row, in evaluation mode: without dropout."""
        return self._advance if self.residual or self.norm is not None else self.call.step

    def _advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        y, state = self.call.step(x if self._norm_before is None else self._norm_before(x), state)
        if self.residual:
            y = x + y
        return y if self._norm_after is None else self._norm_after(y), state

    @constant
    def _norm_before(self) -> Step | None:
        return pointwise_step(self.norm) if self.norm is not None and self.order == "pre" else None

    @constant
    def _norm_after(self) -> Step | None:
        return pointwise_step(self.norm) if self.norm is not None and self.order == "post" else None


@register("stack", "stack")
class Stack(nn.Module):
    def __init__(
        self,
        dim: int,
        memory_dim: int | None,
        vector_dim: int | None,
        causal: bool,
        *,
        depth: Annotated[int, Range(low=1, high=1000)] = 2,
        mixer: Recipe | None = None,
        cross: Recipe | None = None,
        ffn: Recipe | None = None,
        norm: Recipe | None = None,
        position: Recipe | None = None,
        bridge: Recipe | None = None,
        layers: dict[str, Layer] | None = None,
        pattern: list[str] | None = None,
        order: Literal["pre", "post"] = "pre",
        residual: bool = True,
        dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        plan = _plan(depth, Layer(mixer, cross, ffn), layers or {}, pattern)
        outside = dim  # the width that comes in
        self.position: Call | None = None
        self.bridge: Any = None
        self.enters: str | None = None
        if position is not None and said(position.block, "unless_ordered") and _ordered(plan):
            position = None
        if position is not None:
            place = said(position.block, "enters")
            if place in ("input", "both"):
                self.position = Call(position.build(dim=dim))
                dim = said(self.position.block, "out_dim") or dim  # positions set beside the input make it wider
            if place != "input":
                plan = _hand_down(position, plan, needed=place != "both")
        if bridge is not None and vector_dim is not None:
            self.enters = said(bridge.block, "enters")
            early = self.enters in ("input", "prefix")  # it comes in before the positions do
            self.bridge = bridge.build(dim=outside if early else dim, vector_dim=vector_dim)
        facts = {
            "dim": dim,
            "memory_dim": dim if self.enters == "memory" else memory_dim,
            "initial_dim": dim if self.enters == "initial" else None,
            "causal": causal,
        }
        _check_ports(plan, facts, bridge, memory_dim, vector_dim)
        self.layers: Any = nn.ModuleList()
        for layer in plan:
            slots = nn.ModuleDict()
            for name in SLOTS:
                recipe: Recipe | None = getattr(layer, name)
                if recipe is not None:
                    built = directed(recipe, causal).build(**facts)
                    slots[name] = Slot(built, norm.build(dim=dim) if norm else None, order, residual, dropout)
            self.layers.append(slots)
        self.norm = norm.build(dim=dim) if norm is not None and order == "pre" else None

    @property
    def causal(self) -> bool:
        return all(slot.call.causal for layer in self.layers for slot in layer.values())

    def start(self, batch: int, memory: Seq | None = None, vector: Vec | None = None) -> State:
        entering = self._entering(vector)
        memory, initial = entering.get("memory", memory), entering.get("initial")
        layers = {
            str(index): {name: slot.call.start(batch, memory=memory, initial=initial) for name, slot in layer.items()}
            for index, layer in enumerate(self.layers)
        }
        state: dict[str, Any] = {
            "position": self.position.start(batch) if self.position is not None else {},
            "layers": layers,
        }
        if self.enters == "input" and vector is not None:
            state["vector"] = vector.values  # it joins every step
        if "prefix" in entering:
            _, state = self._through(entering["prefix"], state)
        return state

    def forward(
        self, x: Seq, state: State | None = None, memory: Seq | None = None, vector: Vec | None = None
    ) -> tuple[Seq, State | None]:
        if self.enters == "input":
            x = self.bridge(x, vector)
        if state is not None:
            return self._through(x, state)
        entering = self._entering(vector)
        prefix = entering.get("prefix")
        if prefix is None:
            return self._through(x, None, memory=entering.get("memory", memory), initial=entering.get("initial"))
        lengths = None if x.lengths is None else x.lengths + prefix.time
        y, _ = self._through(Seq(torch.cat([prefix.values, x.filled()], dim=1), lengths), None, memory=memory)
        return x.like(y.values[:, prefix.time :]), None

    def _through(self, x: Seq, state: Any, **ports: Seq | Vec | None) -> tuple[Seq, Any]:
        """Positions, layers and the last norm. With a state, the ports have been read into it."""
        following: dict = {**(state or {}), "position": {}, "layers": {}}
        if self.position is not None:
            x, following["position"] = self.position(x, None if state is None else state["position"])
        for index, layer in enumerate(self.layers):
            before = state["layers"][str(index)] if state is not None else {}
            after = following["layers"][str(index)] = {}
            for name, slot in layer.items():
                x, after[name] = slot(x, before.get(name), **ports)
        if self.norm is not None:
            x = self.norm(x)
        return x, following if state is not None else None

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        if self.enters == "input":
            x = self.bridge(Seq(x[:, None]), Vec(state["vector"])).values[:, 0]
        places, before, after = state["position"], state["layers"], {}
        if self.position is not None:
            x, places = self.position.step(x, places)
        for index, slots in self._steps:
            old, new = before[index], {}
            for name, step in slots:
                x, new[name] = step(x, old[name])
            after[index] = new
        if self.norm is not None:
            x = self._last_norm(x)
        return x, {**state, "position": places, "layers": after}

    @constant
    def _steps(self) -> list[tuple[str, list[tuple[str, StateStep]]]]:
        """The steps of all slots by name, layer by layer."""
        layers = enumerate(self.layers)
        return [(str(index), [(name, slot.step) for name, slot in layer.items()]) for index, layer in layers]

    @constant
    def _last_norm(self) -> Step:
        return pointwise_step(self.norm)

    def _entering(self, vector: Vec | None) -> dict:
        """What the vector becomes where it does not join the input: a memory, a first state, or first steps."""
        return {self.enters: self.bridge(vector)} if self.enters not in (None, "input") and vector is not None else {}

    def sublayers(self) -> Iterator[nn.Module]:
        for layer in self.layers:
            yield from layer.values()

    def contents(self) -> list[str]:
        """What is inside, a line for each run of equal layers."""
        names = [" + ".join(block_name(slot.call.block) for slot in layer.values()) for layer in self.layers]
        return [f"{len(list(run))} x {name}" for name, run in groupby(names)]


def _plan(depth: int, default: Layer, layers: dict[str, Layer], pattern: list[str] | None) -> list[Layer]:
    """One Layer a step of depth, each slot its own or else the stack's."""
    if pattern is None:
        if layers:
            raise Invalid("layers", f"{listed(layers)} stand in no pattern. Add one, e.g. pattern: [{listed(layers)}].")
        if default == Layer():
            raise Invalid("", "has no layer: give it a mixer, a cross or an ffn.")
        return [default] * depth
    if not pattern:
        raise Invalid("pattern", "is empty. List the names of layers, or set it to null.")
    for name in pattern:
        if name not in layers:
            hint = did_you_mean(name, layers)
            raise Invalid("pattern", f"there is no layer '{name}'.{hint}  (layers: {listed(layers) or 'none'})")
    if depth < len(pattern):
        raise Invalid("depth", f"is {depth}, but the pattern has {len(pattern)} layers. Use at least {len(pattern)}.")
    for name, layer in layers.items():
        if name not in pattern:
            raise Invalid(f"layers.{name}", f"is not in the pattern [{listed(pattern)}], so it has no effect.")
        if layer == Layer() == default:
            raise Invalid(f"layers.{name}", "has no slot filled: give it a mixer, a cross or an ffn.")
    for slot in SLOTS:
        if getattr(default, slot) is not None and all(getattr(layers[name], slot) is not None for name in pattern):
            raise Invalid(slot, "has no effect: every layer of the pattern brings its own. Remove it here.")
    filled = {
        name: Layer(**{slot: getattr(layer, slot) or getattr(default, slot) for slot in SLOTS})
        for name, layer in layers.items()
    }
    return [filled[name] for name in islice(cycle(pattern), depth)]


def _ordered(plan: list[Layer]) -> bool:
    """Whether every mixer tells the order of its steps without positions."""
    mixers = [layer.mixer for layer in plan if layer.mixer is not None]
    return bool(mixers) and all(said(mixer.block, "ordered") for mixer in mixers)


def _hand_down(position: Recipe, plan: list[Layer], needed: bool) -> list[Layer]:
    """Give the position to every mixer with a slot for it, to act inside attention; ``needed``: there has to be one."""
    handed, taken = [], False
    for layer in plan:
        mixer = layer.mixer
        if mixer is not None and "position" in mixer.signature.slots:
            taken = True
            if mixer.knobs.get("position") is None:
                layer = replace(layer, mixer=replace(mixer, knobs={**mixer.knobs, "position": position}))
        handed.append(layer)
    if needed and not taken:
        raise Invalid(
            "position", f"'{position.name}' acts inside attention, and no layer has any. Use sinusoidal or none."
        )
    return handed


def _check_ports(
    plan: list[Layer], facts: dict, bridge: Recipe | None, memory_dim: int | None, vector_dim: int | None
) -> None:
    """What comes in has to be read by some layer, and what a layer reads has to come in."""
    recipes = [(slot, getattr(layer, slot)) for layer in plan for slot in SLOTS if getattr(layer, slot) is not None]
    if vector_dim is not None and bridge is None:
        raise Invalid("bridge", "a vector is connected, but nothing brings it in. Choose one, e.g. concat_every_step.")
    if bridge is not None and vector_dim is None:
        raise Invalid(
            "bridge", f"'{bridge.name}' brings a vector in, but none is connected. Add one to 'from': {{vector: ...}}."
        )
    if bridge is not None and memory_dim is not None and facts["memory_dim"] is not memory_dim:
        raise Invalid("bridge", f"'{bridge.name}' makes a memory of the vector, but a memory is connected already.")
    for slot, recipe in recipes:
        port = recipe.signature.ports.get("memory")
        if facts["memory_dim"] is None and port is not None and not port.optional:
            raise Invalid(
                slot, f"'{recipe.name}' needs a memory to read. Add one to 'from': {{memory: ...}}, or leave it out."
            )
    if facts["memory_dim"] is not None and not any(recipe.takes("memory") for _, recipe in recipes):
        raise Invalid("", "a memory comes in, but no layer reads it. Fill the cross slot, or leave the memory out.")
    if facts["initial_dim"] is not None and not any(recipe.takes("initial") for _, recipe in recipes):
        names = listed(dict.fromkeys(recipe.name for slot, recipe in recipes if slot == "mixer"))
        raise Invalid(
            "bridge",
            f"sets the first state of a recurrence, and {names or 'this stack'} has none. "
            "Use a recurrent mixer, or another bridge.",
        )
