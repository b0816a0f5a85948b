"""Layers of named slots, repeated: the stack of an encoder, of a decoder or of a decoder-only model.

    pre-norm:   x <- x + slot(norm(x))
    post-norm:  x <- norm(x + slot(x))
    plain:      x <- slot(x), with the norm before or after it

for the slots mixer, cross and ffn of each layer, in that order; an empty slot is left out. A ``pattern`` of layer names
is repeated up to the depth, for hybrids (Jamba, Griffin). A vector enters through the ``bridge``, positions through
``position``. The output of a bridge joins the input, comes as steps before the first step, or goes to every block that
has the port named by the bridge's ``enters``. A sequence at the port ``prefix`` is read before the first step, and its
outputs are left out: a decoder-only model reads its source there. The state of a stack is the states of its blocks.

Layers may have widths of their own (``dim`` of a named layer): a linear layer without a residual connection leads from
one width to the next. ``join`` says how the two directions of a recurrence are combined, where the stack is not causal;
``concat`` doubles the width of a layer's output. With ``share``, every repetition of the pattern, or every layer, has
the same weights (Dehghani et al., 2018; Lan et al., 2019), and a state of its own. With ``states``, the output brings
the last states of the layers along, with which the layers of another stack begin that has this one at its port
``states`` (Sutskever et al., 2014).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, groupby, islice
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from composer.core.block import Probability, Range, Recipe
from composer.core.problems import Invalid
from composer.core.recording import show_layer
from composer.core.registry import block_name, register
from composer.core.signals import Seq, State, Vec
from composer.core.streaming.block_steps import Call, Step, pointwise_step
from composer.core.streaming.recurrence import StateStep
from composer.core.streaming.streaming_copy import cached_for_generation
from composer.graph.combinators.bidirectional import Join
from composer.graph.combinators.last_states import ASKED, begun, check_fixed, last_states
from composer.graph.combinators.layers import Layer, check_ports, check_shared, plan_layers
from composer.graph.combinators.stack_builder import LayerBuilder, build_bridge, build_position, check_inputs


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
        states_ends: bool | None = None,
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
        share: bool = False,
        states: bool = False,
        join: Join = "sum",
    ) -> None:
        super().__init__()
        plan = plan_layers(depth, Layer(mixer, cross, ffn), layers or {}, pattern)
        check_inputs(dim, prefix_dim, states_ends, plan)
        self.bridge: Any
        self.position, width, plan = build_position(position, plan, dim)
        self.bridge, self.enters, ports = build_bridge(bridge, vector_dim, memory_dim, dim, width)
        check_ports(plan, ports, bridge, self.enters, connected=vector_dim is not None)
        builder = LayerBuilder(causal, norm, order, residual, dropout, join)
        builder.check_join(plan)
        if share:
            plan = plan[: len(pattern or [""])]
        self.depth = depth
        self.layers: Any  # with shared weights, those of one repetition
        self.layers, widths = builder.build(plan, width, ports)
        if states_ends and not self.causal:
            raise Invalid(
                "from",
                "states come in with which the layers begin, but a layer that reads both directions begins with none. "
                "Set causal: true with a causal mixer, or leave the port 'states' out.",
            )
        if depth > len(plan):
            check_shared(widths[-1], width)
        last = widths[1 + (depth - 1) % len(plan)]
        self.norm = norm.build(dim=last) if norm is not None and order == "pre" else None
        self.states = states
        if states:
            self.sparse = True  # the weights after the last state, such as the last norm, serve the sequence alone
            self._check_states(dim, memory_dim, vector_dim)

    @property
    def causal(self) -> bool:
        return all(slot.call.causal for layer in self.layers for slot in layer.values())

    def _check_states(self, dim: int, memory_dim: int | None, vector_dim: int | None) -> None:
        """Raise an error if the layers have no last states that could begin other layers."""
        if not self.causal:
            raise Invalid(
                "", f"{ASKED}, but a layer that reads both directions has none. Set causal: true, or states: false."
            )
        like = next(self.parameters(), torch.zeros(()))
        memory = None if memory_dim is None else Seq(like.new_zeros(1, 2, memory_dim))
        vector = None if vector_dim is None else Vec(like.new_zeros(1, vector_dim))
        training, x = self.training, Seq(like.new_zeros(1, 2, dim))
        self.eval()  # dropout would use up random numbers
        with torch.no_grad():
            first = self.start(1, memory, vector)
            _, after = self.forward(x, first, vector=vector)
        self.train(training)
        assert after is not None
        check_fixed(first["layers"], after["layers"])

    def start(
        self,
        batch: int,
        memory: Seq | None = None,
        vector: Vec | None = None,
        prefix: Seq | None = None,
        states: Seq | None = None,
    ) -> State:
        ports, before = self._ports(memory, vector, prefix)
        layers = {
            str(index): {name: slot.call.start(batch, **ports) for name, slot in layer.items()}
            for index, layer in enumerate(self._repeated())
        }
        if states is not None:
            assert states.states is not None, "a sequence with states, as the constructor has checked"
            layers = begun(layers, states.states)
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
        states: Seq | None = None,
    ) -> tuple[Seq, State | None]:
        if self.enters == "input":
            x = self.bridge(x, vector)
        if state is not None:
            return self._through(x, state)
        if self.states or states is not None:
            first = self.start(x.batch, memory, vector, prefix, states)
            y, after = self._through(x, first)
            last = last_states(first["layers"], after["layers"]) if self.states else None
            return Seq(y.values, y.lengths, last), None
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
        for index, layer in enumerate(self._repeated()):
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

    def _repeated(self) -> Iterator[Any]:
        """The layers in the order of their use; shared ones several times."""
        return islice(cycle(self.layers), self.depth)

    @cached_for_generation
    def _steps(self) -> list[tuple[str, list[tuple[str, StateStep]]]]:
        """The step functions of all slots by name, layer by layer."""
        layers = enumerate(self._repeated())
        return [(str(index), [(name, slot.step) for name, slot in layer.items()]) for index, layer in layers]

    @cached_for_generation
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

    def weight_layers(self) -> list[list[nn.Module]]:
        """The last norm belongs to the last layer; the positions and the bridge, to the first."""
        layers = [[layer] for layer in self.layers]
        if self.norm is not None:
            layers[-1].append(self.norm)
        return layers

    def opened(self) -> list[tuple[str, list[tuple[str, nn.Module]]]]:
        """What stands before the layers, each run of equal layers, and what stands after them."""
        every = [[slot.opened() for slot in layer.values()] for layer in self._repeated()]
        found, first = [], 0
        for _names, run in groupby(every, key=lambda layer: [text for text, _ in layer]):
            layers = list(run)
            last = first + len(layers)
            found.append((f"layer {last}" if len(layers) == 1 else f"layers {first + 1} to {last}, each", layers[0]))
            first = last
        start = [part.block if isinstance(part, Call) else part for part in (self.bridge, self.position) if part]
        before = [("before the layers", [(block_name(block), block) for block in start])]
        after = [("after the layers", [(f"{block_name(self.norm)} norm", self.norm)])] if self.norm is not None else []
        return [(title, parts) for title, parts in [*before, *found, *after] if parts]

    def contents(self) -> list[str]:
        """The blocks inside, one line for each run of equal layers."""
        names = [" + ".join(block_name(slot.call.block) for slot in layer.values()) for layer in self._repeated()]
        runs = [f"{len(list(run))} x {name}" for name, run in groupby(names)]
        return [f"{run}, shared weights" for run in runs] if len(self.layers) < self.depth else runs
