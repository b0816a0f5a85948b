"""The parts of a stack, built from its knobs: positions and bridge at its input, its layers, and the checks of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from composer.core.block import Recipe
from composer.core.capabilities import declared
from composer.core.problems import Invalid
from composer.core.streaming.block_steps import Call
from composer.graph.combinators.bidirectional import Join, directed
from composer.graph.combinators.layers import SLOTS, Layer, all_ordered, hand_down
from composer.graph.combinators.sublayer import Resize, Sublayer


def check_inputs(dim: int, prefix_dim: int | None, states_ends: bool | None, plan: list[Layer]) -> None:
    """Raise an error if what comes in at the ports ``states`` or ``prefix`` cannot be read."""
    if states_ends is False:
        raise Invalid(
            "from", "what comes in at the port 'states' has no states. Connect a stack, and set states: true in it."
        )
    if prefix_dim not in (None, dim):
        raise Invalid("from", f"a prefix of the width {prefix_dim} cannot come before a sequence of the width {dim}.")
    if prefix_dim is not None and all(layer.mixer is None for layer in plan):
        raise Invalid("", "a prefix comes in, but no layer has a mixer to read it. Fill that slot, or leave it out.")


def build_position(position: Recipe | None, plan: list[Layer], dim: int) -> tuple[Call | None, int, list[Layer]]:
    """The positions at the input, if they enter there; the width after them; the layers, with those inside mixers."""
    if position is None or (declared(position.block, "unless_ordered") and all_ordered(plan)):
        return None, dim, plan
    call, place = None, declared(position.block, "enters")
    if place in ("input", "both"):
        call = Call(position.build(dim=dim))
        dim = declared(call.block, "out_dim") or dim  # positions concatenated to the input make it wider
    if place != "input":
        plan = hand_down(position, plan, needed=place != "both")
    return call, dim, plan


def build_bridge(
    bridge: Recipe | None, vector_dim: int | None, memory_dim: int | None, input_dim: int, dim: int
) -> tuple[nn.Module | None, str | None, dict[str, int | None]]:
    """The bridge, where its output enters, and the widths of the layers' inputs beside the sequence.

    input_dim, dim: the width of the stack's input, before and after the positions
    """
    ports = {"memory": memory_dim}
    if bridge is None or vector_dim is None:
        return None, None, ports
    enters = declared(bridge.block, "enters")
    early = enters in ("input", "prefix")  # the bridge is applied before the positions
    built = bridge.build(dim=input_dim if early else dim, vector_dim=vector_dim)
    if not early:
        if ports.get(enters) is not None:
            raise Invalid("bridge", f"'{bridge.name}' makes a {enters} of the vector, but one is connected already.")
        ports[enters] = dim
    return built, enters, ports


@dataclass(frozen=True)
class LayerBuilder:
    """Builds the layers of a stack; its attributes are the stack's knobs of the same names, ``causal`` is a fact."""

    causal: bool
    norm: Recipe | None
    order: str
    residual: bool
    dropout: float
    join: Join

    def check_join(self, plan: list[Layer]) -> None:
        """Raise an error if ``join`` is given, and no layer has two directions to join."""
        mixers = [layer.mixer for layer in plan if layer.mixer is not None]
        if self.join != "sum" and all(directed(mixer, self.causal) is mixer for mixer in mixers):
            raise Invalid(
                "join",
                "has no effect: this stack makes no recurrence bidirectional. Choose a recurrent mixer, such as lstm, "
                "and causal: false; or set join: sum.",
            )

    def build(self, plan: list[Layer], dim: int, ports: Mapping[str, int | None]) -> tuple[nn.ModuleList, list[int]]:
        """The layers, and the widths of the input and of the output of every layer."""
        facts = {"causal": self.causal, **{f"{port}_dim": width for port, width in ports.items()}}
        layers, widths = nn.ModuleList(), [dim]
        for layer in plan:
            slots, width = nn.ModuleDict(), layer.dim or dim
            if width != widths[-1]:
                slots["resize"] = Sublayer(Resize(widths[-1], width), None, self.order, False, 0.0)
            for name in SLOTS:
                recipe: Recipe | None = getattr(layer, name)
                if recipe is not None:
                    slots[name], width = self._sublayer(name, recipe, width, facts)
            layers.append(slots)
            widths.append(width)
        return layers, widths

    def _sublayer(self, slot: str, recipe: Recipe, width: int, facts: dict[str, Any]) -> tuple[Sublayer, int]:
        """The block of a slot with its norm, dropout and residual connection, and the width of its output."""
        block = directed(recipe, self.causal, self.join).build(**facts, dim=width)
        after = declared(block, "out_dim") or width
        if self.residual and after != width:
            raise Invalid(
                "residual",
                f"is true, but the {slot} turns the width {width} into {after}, and a residual connection "
                "adds input and output. Set residual: false, or keep the width, e.g. with join: sum.",
            )
        norm = self.norm.build(dim=width if self.order == "pre" else after) if self.norm is not None else None
        return Sublayer(block, norm, self.order, self.residual, self.dropout), after
