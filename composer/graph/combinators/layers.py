"""The blocks of each layer of a stack: the repeated pattern, positions inside attention, and checks of ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import cycle, islice

from composer.core.block import Empty, Positive, Recipe
from composer.core.capabilities import declared
from composer.core.problems import Invalid, did_you_mean, listed


@dataclass(frozen=True)
class Layer:
    """The slots of one layer. A slot that is None takes the block of the stack's slot of the same name.

    A slot that is written as none or null is Empty.EMPTY, and takes no block.
    dim: the width of the layer; None for the width of the stack
    """

    mixer: Recipe | None = None
    cross: Recipe | None = None
    ffn: Recipe | None = None
    dim: Positive | None = None

    @property
    def empty(self) -> bool:
        return all(getattr(self, slot) is None for slot in SLOTS)

    def filled(self, default: Layer) -> Layer:
        """This layer with the blocks of another one in the slots of which nothing is said."""
        own = {slot: getattr(self, slot) for slot in SLOTS}
        blocks = {slot: getattr(default, slot) if block is None else block for slot, block in own.items()}
        return replace(self, **{slot: None if block is Empty.EMPTY else block for slot, block in blocks.items()})


SLOTS = ("mixer", "cross", "ffn")


def plan_layers(depth: int, default: Layer, layers: dict[str, Layer], pattern: list[str] | None) -> list[Layer]:
    """One Layer for each of the ``depth`` layers, with empty slots filled from the stack's own slots (``default``)."""
    if pattern is None:
        if layers:
            raise Invalid("layers", f"{listed(layers)} stand in no pattern. Add one, e.g. pattern: [{listed(layers)}].")
        if default.empty:
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
        if layer.filled(default).empty:
            raise Invalid(f"layers.{name}", "has no slot filled: give it a mixer, a cross or an ffn.")
    for slot in SLOTS:
        if getattr(default, slot) is not None and all(getattr(layers[name], slot) is not None for name in pattern):
            raise Invalid(slot, "has no effect: every layer of the pattern brings its own. Remove it here.")
    return [layers[name].filled(default) for name in islice(cycle(pattern), depth)]


def check_shared(width: int, dim: int) -> None:
    """Raise an error if a layer would read the width ``dim`` in the first repetition of the pattern and another later.

    width: of the output of the pattern's last layer
    """
    if width != dim:
        raise Invalid(
            "share",
            f"the first layer would read a sequence of the width {dim} at first, and of the width "
            f"{width} after the last layer. Let the last layer have the width {dim}, or use share: false.",
        )


def all_ordered(plan: list[Layer]) -> bool:
    """Whether every mixer depends on the order of its steps without positions, as a recurrence does."""
    mixers = [layer.mixer for layer in plan if layer.mixer is not None]
    return bool(mixers) and all(declared(mixer.block, "ordered") for mixer in mixers)


def hand_down(position: Recipe, plan: list[Layer], needed: bool) -> list[Layer]:
    """Put the position into every mixer with a slot ``position`` of which nothing is said, to act inside attention.

    needed: whether it is an error if no mixer has such a slot, or all of them are said to be empty
    """
    handed, taken = [], False
    for layer in plan:
        mixer = layer.mixer
        if mixer is not None and "position" in mixer.signature.slots:
            own = mixer.knobs.get("position")
            taken = taken or own is not Empty.EMPTY
            if own is None:
                layer = replace(layer, mixer=replace(mixer, knobs={**mixer.knobs, "position": position}))
        handed.append(layer)
    if needed and not taken:
        raise Invalid(
            "position", f"'{position.name}' acts inside attention, and no layer has any. Use sinusoidal or none."
        )
    return handed


def check_ports(
    plan: list[Layer], ports: Mapping[str, int | None], bridge: Recipe | None, enters: str | None, connected: bool
) -> None:
    """Every connected port has to be read by some layer, and every port that a layer needs has to be connected.

    ports: the widths of the layers' inputs beside the sequence, None for a memory that is not connected
    enters: the port through which the bridge's output enters the layers
    connected: whether a vector is connected to the stack
    """
    recipes = [(slot, getattr(layer, slot)) for layer in plan for slot in SLOTS if getattr(layer, slot) is not None]
    if connected and bridge is None:
        raise Invalid("bridge", "a vector is connected, but nothing brings it in. Choose one, e.g. concat_every_step.")
    if bridge is not None and not connected:
        raise Invalid(
            "bridge", f"'{bridge.name}' brings a vector in, but none is connected. Add one to 'from': {{vector: ...}}."
        )
    for slot, recipe in recipes:
        port = recipe.signature.ports.get("memory")
        if ports.get("memory") is None and port is not None and not port.optional:
            raise Invalid(
                slot, f"'{recipe.name}' needs a memory to read. Add one to 'from': {{memory: ...}}, or leave it out."
            )
    for name, width in ports.items():
        if width is not None and not any(recipe.takes(name) for _, recipe in recipes):
            raise _unread(name, bridge if name == enters else None, recipes)


def _unread(port: str, bridge: Recipe | None, recipes: list[tuple[str, Recipe]]) -> Invalid:
    if port == "memory":
        return Invalid("", "a memory comes in, but no layer reads it. Fill the cross slot, or leave the memory out.")
    assert bridge is not None
    mixers = listed(dict.fromkeys(recipe.name for slot, recipe in recipes if slot == "mixer")) or "this stack"
    if port == "initial":
        what = f"sets the first state of a recurrence, and {mixers} has none. Use a recurrent mixer, or another bridge."
        return Invalid("bridge", what)
    return Invalid(
        "bridge", f"'{bridge.name}' gives the layers a '{port}', and no block in them has a port of that name."
    )
