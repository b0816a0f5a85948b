"""Signals and states as flat dicts of named tensors, which is all that an exported program takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.signals import KINDS, Field, Signal, State, Timed

#: Tensors by name, in the order of a program's inputs or outputs.
Tensors = dict[str, Tensor]

#: The dynamic axes of a tensor: the index of each axis, and the name of its size.
Axes = dict[int, str]


def lengths_of(name: str) -> str:
    return f"{name}_lengths"


def to_signals(fields: Mapping[str, Field], tensors: Mapping[str, Tensor]) -> dict[str, Signal]:
    """The signals of some fields. A sequence without a tensor of lengths has no padding."""
    signals: dict[str, Signal] = {}
    for name, field in fields.items():
        kind: Any = KINDS[field.kind]
        signals[name] = kind(tensors[name], tensors.get(lengths_of(name))) if field.timed else kind(tensors[name])
    return signals


def from_signals(signals: Mapping[str, Signal], known: Collection[Tensor] = ()) -> Tensors:
    """The values of signals, and their lengths unless these are among the ``known`` tensors."""
    tensors: Tensors = {}
    for name, signal in signals.items():
        tensors[name] = signal.values
        lengths = signal.lengths if isinstance(signal, Timed) else None
        if lengths is not None and not any(lengths is other for other in known):
            tensors[lengths_of(name)] = lengths
    return tensors


@dataclass(frozen=True)
class StateLayout:
    """The names of a state's tensors, and which of them a step changes.

    tree: the nested structure of the state
    names: the name of every leaf; None for a leaf that no step reads
    blanks: for every leaf, one row of zeros, which replaces a leaf without a name
    changing: the names of the leaves that every step computes anew; ``start`` computes the others once
    """

    tree: pytree.TreeSpec
    names: tuple[str | None, ...]
    blanks: tuple[Tensor | None, ...]
    changing: frozenset[str]

    @classmethod
    def of(cls, states: Sequence[State], read: Collection[int]) -> StateLayout:
        """The layout of consecutive states. ``read`` holds the ids of the last state's tensors that a step reads."""
        paths, tree = pytree.tree_flatten_with_path(states[0])
        leaves = [pytree.tree_leaves(state) for state in states]
        names: list[str | None] = []
        for (path, first), *history in zip(paths, *leaves, strict=True):
            used = first is not None and id(history[-1]) in read
            used = used and any(leaf.numel() for leaf in history)  # a tensor that stays empty is not an input
            names.append(_name(path, names) if used else None)
        changing = frozenset(
            name for name, *history in zip(names, *leaves, strict=True) if name and history[-1] is not history[-2]
        )
        blanks = tuple(None if leaf is None else torch.zeros_like(leaf[:1]) for leaf in leaves[0])
        return cls(tree, tuple(names), blanks, changing)

    @property
    def tensors(self) -> list[str]:
        return [name for name in self.names if name is not None]

    def flat(self, state: State) -> Tensors:
        leaves = zip(self.names, pytree.tree_leaves(state), strict=True)
        return {name: leaf for name, leaf in leaves if name is not None}

    def tree_of(self, tensors: Mapping[str, Tensor], batch: int) -> State:
        leaves: list[Tensor | None] = []
        for name, blank in zip(self.names, self.blanks, strict=True):
            if name is not None:
                leaves.append(tensors[name])
            else:
                leaves.append(None if blank is None else blank.expand(batch, *blank.shape[1:]))
        return pytree.tree_unflatten(leaves, self.tree)


def _name(path: pytree.KeyPath, taken: Collection[str | None]) -> str:
    """state_decoder_layers_0_mixer_h for the leaf at ["nodes"]["decoder"]["layers"]["0"]["mixer"]["h"]."""
    words = [str(getattr(key, "key", getattr(key, "name", ""))) for key in path[1:]]
    name = "_".join(["state", *(words[:-1] if words[-1] == "values" else words)])
    while name in taken:
        name += "_"
    return name
