"""The last states of a stack's layers, as the first states of another stack's layers (Sutskever et al., 2014).

A state travels by its names: ``{"0": {"mixer": {"h": ..., "c": ...}}}`` for layer 0, whose mixer is an LSTM. Layer by
layer and slot by slot, every tensor begins the tensor of the same name, so that the other stack may hold blocks of
another class with more in their state, such as a recurrence that also keeps a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import Invalid, listed
from composer.core.signals import State

#: A problem of the node and not of its key ``states``, without which the stack that reads the states would have one.
ASKED = "states: true asks for the last states of the layers"


def last_states(before: State, after: State) -> dict[str, Any]:
    """The states that the layers have computed: not a memory, which a state keeps as ``start`` has read it.

    before, after: the states of the layers before the first and after the last step
    """
    return {layer: _computed(before[layer], after[layer]) for layer in after}


def _computed(before: Any, after: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in after.items():
        if isinstance(value, Mapping):
            if inside := _computed(before.get(name, {}), value):
                found[name] = inside
        elif value is not before.get(name):
            found[name] = value
    return found


def check_fixed(before: State, after: State) -> None:
    """Raise an error if no layer has a state, or if a state after some steps has other sizes than the first state."""
    last = last_states(before, after)
    if not any(last.values()):
        raise Invalid("", f"{ASKED}, but no layer has a state. Use recurrent mixers, or states: false.")
    for layer, slots in last.items():
        for slot, state in slots.items():
            first = dict(_named(before[layer][slot]))
            for name, value in _named(state):
                old = first.get(name)
                fixed = isinstance(value, Tensor) and isinstance(old, Tensor) and value.shape == old.shape
                if not fixed or not value.is_floating_point():
                    raise Invalid(
                        "",
                        f"{ASKED}, but the {slot} of layer {int(layer) + 1} has a state without a fixed size "
                        f"('{name}'), such as a KV cache. Use recurrent mixers, or states: false.",
                    )


def begun(layers: dict[str, Any], last: State) -> dict[str, Any]:
    """The first states of the layers, with the last states of another stack's layers in place of their own."""
    if len(layers) != len(last):
        raise Invalid(
            "from", f"the states of {len(last)} layers come in, but {len(layers)} layers begin with them. "
            "Use the same depth in both stacks."
        )  # fmt: skip
    return {index: _begin(layers[index], last[index], int(index) + 1) for index in layers}


def _begin(slots: Mapping[str, Any], last: State, layer: int) -> dict[str, Any]:
    result = dict(slots)
    for slot, given in last.items():
        own = dict(_named(slots.get(slot, {})))
        for name, value in _named(given):
            if name not in own or own[name].shape != value.shape:
                found = f"'{name}' of the width {_width(value)}"
                sizes = [f"'{key}' of the width {_width(tensor)}" for key, tensor in own.items()]
                raise Invalid(
                    "from",
                    f"the {slot} of layer {layer} begins with {listed(sizes) or 'no state'}, but the last state that "
                    f"comes in has {found}. Use blocks with the same states, of the same width, in both stacks.",
                )
        result[slot] = _replaced(slots[slot], given)
    return result


def _replaced(own: Mapping[str, Any], given: State) -> dict[str, Any]:
    return {
        name: value
        if name not in given
        else _replaced(value, given[name])
        if isinstance(value, Mapping)
        else given[name].to(value.dtype)
        for name, value in own.items()
    }


def _named(state: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """The tensors of a state with their names; those of a block inside are 'inputs.1'."""
    pairs: list[tuple[str, Any]] = []
    for name, value in state.items():
        pairs += _named(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(f"{prefix}{name}", value)]
    return pairs


def _width(tensor: Tensor) -> str:
    return " x ".join(str(size) for size in tensor.shape[1:]) or "1"


def example_steps(like: Tensor, dim: int) -> Tensor:
    """Two steps of one row, to see what the states of a stack become."""
    return torch.zeros(1, 2, dim, dtype=like.dtype, device=like.device)
