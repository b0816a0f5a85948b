"""The last states of a stack's layers, as the first states of another stack's layers (Sutskever et al., 2014).

A state travels by layer and name: ``{"0": {"mixer.h": ..., "mixer.c": ...}}`` for layer 0, whose mixer is an LSTM.
Every tensor begins the tensor of the same name, so that the other stack may hold blocks of another class with more in
their state, such as a recurrence that also keeps a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from composer.core.problems import Invalid, listed
from composer.core.signals import State

#: A problem of the node and not of its key ``states``, without which the stack that reads the states would have one.
ASKED = "states: true asks for the last states of the layers"


def last_states(before: State, after: State) -> dict[str, dict[str, Any]]:
    """The states that the layers have computed: not a memory, which a state keeps as ``start`` has read it.

    before, after: the states of the layers before the first and after the last step
    """
    found = {}
    for layer, state in after.items():
        first = _named(before[layer])
        found[layer] = {name: value for name, value in _named(state).items() if value is not first.get(name)}
    return found


def check_fixed(before: State, after: State) -> None:
    """Raise an error if no layer has a state, or if a state after some steps has other sizes than the first state."""
    last = last_states(before, after)
    if not any(last.values()):
        raise Invalid("", f"{ASKED}, but no layer has a state. Use recurrent mixers, or states: false.")
    for layer, state in last.items():
        first = _named(before[layer])
        for name, value in state.items():
            old = first.get(name)
            fixed = isinstance(value, Tensor) and isinstance(old, Tensor) and value.shape == old.shape
            if not fixed or not value.is_floating_point():
                slot, _, inner = name.partition(".")
                raise Invalid(
                    "",
                    f"{ASKED}, but the {slot} of layer {int(layer) + 1} has a state without a fixed size "
                    f"('{inner}'), such as a KV cache. Use recurrent mixers, or states: false.",
                )


def begun(layers: dict[str, Any], last: State) -> dict[str, Any]:
    """The first states of the layers, with the last states of another stack's layers in place of their own."""
    if len(layers) != len(last):
        raise Invalid(
            "from", f"the states of {len(last)} layers come in, but {len(layers)} layers begin with them. "
            "Use the same depth in both stacks."
        )  # fmt: skip
    for layer, slots in layers.items():
        own = _named(slots)
        for name, value in last[layer].items():
            if name not in own or own[name].shape != value.shape:
                slot = name.partition(".")[0]
                sizes = [_sized(key, tensor) for key, tensor in own.items() if key.startswith(f"{slot}.")]
                raise Invalid(
                    "from",
                    f"the {slot} of layer {int(layer) + 1} begins with {listed(sizes) or 'no state'}, but the last "
                    f"state that comes in has {_sized(name, value)}. Use blocks with the same states, of the same "
                    "width, in both stacks.",
                )
    return {layer: _replaced(slots, last[layer]) for layer, slots in layers.items()}


def _replaced(own: Mapping[str, Any], given: Mapping[str, Tensor], prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in own.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            result[key] = _replaced(value, given, f"{name}.")
        else:
            result[key] = given[name].to(value.dtype) if name in given else value
    return result


def _named(state: State, prefix: str = "") -> dict[str, Any]:
    """The tensors of a state by name; those of a block inside are 'inputs.1'."""
    found: dict[str, Any] = {}
    for name, value in state.items():
        found |= _named(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


def _sized(name: str, tensor: Tensor) -> str:
    """A tensor of a layer's state with its width; the name is that inside its slot."""
    return f"'{name.partition('.')[2]}' of the width {' x '.join(map(str, tensor.shape[1:])) or '1'}"
