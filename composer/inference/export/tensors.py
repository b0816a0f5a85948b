"""Signals and states as flat tensors with names, for programs that know nothing of either."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.signals import KINDS, Field, Signal, State, Timed

#: Tensors by name, in the order a program takes or gives them.
Tensors = dict[str, Tensor]

#: The axes whose size a program leaves open, by the name of that size.
Axes = dict[int, str]


def lengths_of(name: str) -> str:
    return f"{name}_lengths"


def to_signals(fields: Mapping[str, Field], tensors: Mapping[str, Tensor]) -> dict[str, Signal]:
    """What the fields are in ``tensors``; without lengths, where they have none, every step is real."""
    signals: dict[str, Signal] = {}
    for name, field in fields.items():
        kind: Any = KINDS[field.kind]
        signals[name] = kind(tensors[name], tensors.get(lengths_of(name))) if field.timed else kind(tensors[name])
    return signals


def from_signals(signals: Mapping[str, Signal], known: Collection[Tensor] = ()) -> Tensors:
    """Values, and lengths where they are not among those already ``known``."""
    tensors: Tensors = {}
    for name, signal in signals.items():
        tensors[name] = signal.values
        lengths = signal.lengths if isinstance(signal, Timed) else None
        if lengths is not None and not any(lengths is other for other in known):
            tensors[lengths_of(name)] = lengths
    return tensors


@dataclass(frozen=True)
class Layout:
    """How the tensors of a state are named, and which of them a step changes.

    names: of every leaf; None for one that no step reads
    blanks: what stands for those, the first row of each
    changing: the names of those that a step gives anew; the others are made once, by the start
    """

    tree: pytree.TreeSpec
    names: tuple[str | None, ...]
    blanks: tuple[Tensor | None, ...]
    changing: frozenset[str]

    @classmethod
    def of(cls, states: Sequence[State], read: Collection[int]) -> Layout:
        """Of several states in a row, each a step after the one before; ``read`` are the tensors of the last, by id."""
        paths, tree = pytree.tree_flatten_with_path(states[0])
        leaves = [pytree.tree_leaves(state) for state in states]
        names: list[str | None] = []
        for (path, first), *history in zip(paths, *leaves, strict=True):
            there = first is not None and id(history[-1]) in read
            there = there and any(leaf.numel() for leaf in history)  # a mask of nothing stays empty
            names.append(_name(path, names) if there else None)
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
