"""Layers of named slots, repeated: the stack of an encoder, of a decoder or of a decoder-only model.

    pre-norm:   x <- x + slot(norm(x))
    post-norm:  x <- norm(x + slot(x))
    plain:      x <- slot(x), with the norm before or after it

for the slots mixer, cross and ffn of each layer, in that order; an empty slot is left out. A ``pattern`` of layer names
is repeated up to the depth, for hybrids (Jamba, Griffin). A vector enters through the ``bridge``, positions through
``position``. The output of a bridge joins the input, comes as steps before the first step, or goes to every block that
has the port named by the bridge's ``enters``. A sequence at the port ``prefix`` is read before the first step, and its
outputs are left out: a decoder-only model reads its source there. The state of a stack is the states of its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from composer.core.block import Probability, Range, Recipe
from composer.core.capabilities import said
from composer.core.problems import Invalid
from composer.core.recurrence import StateStep
from composer.core.registry import block_name, register
from composer.core.signals import Seq, State, Vec
from composer.core.streaming import Call, Step, pointwise_step
from composer.core.streaming_copy import constant
from composer.core.watch import show_layer
from composer.graph.combinators.bidirectional import directed
from composer.graph.combinators.layers import SLOTS, Layer, all_ordered, check_ports, hand_down, plan_layers
from composer.graph.combinators.sublayer import Sublayer


@register("stack", "stack")
class Stack(nn.Module):
    shows = "layers"

    def __init__(
        self,
        dim: int,
        memory_dim: int | None,
        vector_dim: int | None,
        causal: bool,
        prefix_dim: int | None = None,
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
        if prefix_dim not in (None, dim):
            raise Invalid(
                "from", f"a prefix of the width {prefix_dim} cannot come before a sequence of the width {dim}."
            )
        plan = plan_layers(depth, Layer(mixer, cross, ffn), layers or {}, pattern)
        if prefix_dim is not None and all(layer.mixer is None for layer in plan):
            raise Invalid(
                "", "a prefix comes in, but no layer has a mixer to read it. Fill that slot, or leave it out."
            )
        input_dim = dim
        self.position: Call | None = None
        self.bridge: Any = None
        self.enters: str | None = None
        if position is not None and said(position.block, "unless_ordered") and all_ordered(plan):
            position = None
        if position is not None:
            place = said(position.block, "enters")
            if place in ("input", "both"):
                self.position = Call(position.build(dim=dim))
                dim = said(self.position.block, "out_dim") or dim  # positions concatenated to the input make it wider
            if place != "input":
                plan = hand_down(position, plan, needed=place != "both")
        if bridge is not None and vector_dim is not None:
            self.enters = said(bridge.block, "enters")
            early = self.enters in ("input", "prefix")  # the bridge is applied before the positions
            self.bridge = bridge.build(dim=input_dim if early else dim, vector_dim=vector_dim)
        ports = {"memory": memory_dim}
        if bridge is not None and self.enters not in (None, "input", "prefix"):
            if ports.get(self.enters) is not None:
                raise Invalid(
                    "bridge", f"'{bridge.name}' makes a {self.enters} of the vector, but one is connected already."
                )
            ports[self.enters] = dim
        check_ports(plan, ports, bridge, self.enters, connected=vector_dim is not None)
        facts = {"dim": dim, "causal": causal, **{f"{port}_dim": width for port, width in ports.items()}}
        self.layers: Any = nn.ModuleList()
        for layer in plan:
            slots = nn.ModuleDict()
            for name in SLOTS:
                recipe: Recipe | None = getattr(layer, name)
                if recipe is not None:
                    built = directed(recipe, causal).build(**facts)
                    slots[name] = Sublayer(built, norm.build(dim=dim) if norm else None, order, residual, dropout)
            self.layers.append(slots)
        self.norm = norm.build(dim=dim) if norm is not None and order == "pre" else None

    @property
    def causal(self) -> bool:
        return all(slot.call.causal for layer in self.layers for slot in layer.values())

    def start(
        self, batch: int, memory: Seq | None = None, vector: Vec | None = None, prefix: Seq | None = None
    ) -> State:  # fmt: skip
        ports, before = self._ports(memory, vector, prefix)
        layers = {
            str(index): {name: slot.call.start(batch, **ports) for name, slot in layer.items()}
            for index, layer in enumerate(self.layers)
        }
        state: dict[str, Any] = {
            "position": self.position.start(batch) if self.position is not None else {},
            "layers": layers,
        }
        if self.enters == "input" and vector is not None:
            state["vector"] = vector.values  # the bridge joins it to every step
        if before is not None:
            _, state = self._through(before, state)
        return state

    def forward(
        self,
        x: Seq,
        state: State | None = None,
        memory: Seq | None = None,
        vector: Vec | None = None,
        prefix: Seq | None = None,
    ) -> tuple[Seq, State | None]:
        if self.enters == "input":
            x = self.bridge(x, vector)
        if state is not None:
            return self._through(x, state)
        ports, before = self._ports(memory, vector, prefix)
        if before is None:
            return self._through(x, None, **ports)
        y, _ = self._through(before.followed_by(x), None, **ports)
        if before.lengths is None:
            return x.like(y.values[:, before.time :]), None
        places = before.lengths[:, None] + torch.arange(x.time, device=y.values.device)  # (B, T)
        return x.like(y.values.gather(1, places[..., None].expand(-1, -1, y.dim))), None

    def _through(self, x: Seq, state: Any, **ports: Seq | Vec | None) -> tuple[Seq, Any]:
        """Positions, layers and the last norm. With a state, ``start`` has read the ports into the state."""
        following: dict = {**(state or {}), "position": {}, "layers": {}}
        if self.position is not None:
            x, following["position"] = self.position(x, None if state is None else state["position"])
        for index, layer in enumerate(self.layers):
            show_layer(self, x)
            before = state["layers"][str(index)] if state is not None else {}
            after = following["layers"][str(index)] = {}
            for name, slot in layer.items():
                x, after[name] = slot(x, before.get(name), **ports)
        if self.norm is not None:
            x = self.norm(x)
        show_layer(self, x)
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
        following = {"position": places, "layers": after}
        return x, following if self.enters != "input" else {**following, "vector": state["vector"]}

    @constant
    def _steps(self) -> list[tuple[str, list[tuple[str, StateStep]]]]:
        """The step functions of all slots by name, layer by layer."""
        layers = enumerate(self.layers)
        return [(str(index), [(name, slot.step) for name, slot in layer.items()]) for index, layer in layers]

    @constant
    def _last_norm(self) -> Step:
        return pointwise_step(self.norm)

    def _ports(
        self, memory: Seq | None, vector: Vec | None, prefix: Seq | None
    ) -> tuple[dict[str, Any], Seq | None]:  # fmt: skip
        """The layers' inputs beside the sequence (the memory, the output of the bridge), and the steps before it."""
        ports: dict[str, Any] = {"memory": memory}
        if self.enters == "input" and prefix is not None:
            prefix = self.bridge(prefix, vector)
        if self.enters not in (None, "input") and vector is not None:
            ports[self.enters] = self.bridge(vector)
        bridged = ports.pop("prefix", None)
        if bridged is None or prefix is None:
            return ports, bridged or prefix
        return ports, bridged.followed_by(prefix)

    def sublayers(self) -> Iterator[nn.Module]:
        for layer in self.layers:
            yield from layer.values()

    def contents(self) -> list[str]:
        """The blocks inside, one line for each run of equal layers."""
        names = [" + ".join(block_name(slot.call.block) for slot in layer.values()) for layer in self.layers]
        return [f"{len(list(run))} x {name}" for name, run in groupby(names)]
