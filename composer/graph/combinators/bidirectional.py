"""Both directions of time for any causal mixer: a bidirectional RNN, if the mixer is recurrent.

    y_t = join(f(x_1..x_t), g(x_T..x_t))

f and g are two mixers of the same recipe, each with its own weights; g reads each row backwards within its own length,
so that g never reads padding before real steps. Schuster and Paliwal, 1997. It has no state and cannot stream: g
needs the end of the sequence first. With ``concat`` the output is twice as wide as the input.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import torch
from torch import nn

from composer.core.block import Recipe
from composer.core.capabilities import declared
from composer.core.problems import Invalid
from composer.core.recording import show_terms
from composer.core.registry import block_name, register
from composer.core.signals import Seq, State, Vec
from composer.core.streaming.block_steps import Call, refuse_to_stream

#: How the outputs of the two directions are combined.
Join: TypeAlias = Literal["sum", "mean", "concat"]


@register("mixer", "bidirectional")
class Bidirectional(nn.Module):
    causal = False
    ordered = True

    def __init__(
        self,
        dim: int,
        memory_dim: int | None,
        initial_dim: int | None,
        *,
        mixer: Recipe,
        join: Join = "sum",
    ) -> None:
        super().__init__()
        if not one_way(mixer):
            raise Invalid("mixer", f"'{mixer.name}' reads both directions by itself. Use it directly.")
        facts = {"dim": dim, "memory_dim": memory_dim, "initial_dim": initial_dim, "causal": True}
        self.ahead = Call(mixer.build(**facts))
        self.back = Call(mixer.build(**facts))
        self.join = join
        self.out_dim = 2 * dim if join == "concat" else dim

    def start(self, batch: int) -> State:
        refuse_to_stream(self)

    def contents(self) -> list[str]:
        return [f"bidirectional {block_name(self.ahead.block)}"]

    def forward(
        self, x: Seq, state: State | None = None, memory: Seq | None = None, initial: Vec | None = None
    ) -> tuple[Seq, State | None]:
        if state is not None:
            refuse_to_stream(self)
        ahead, _ = self.ahead(x, memory=memory, initial=initial)
        back, _ = self.back(x.reversed(), memory=memory, initial=initial)
        back = back.reversed()
        if self.join == "concat":
            return x.like(torch.cat([ahead.values, back.values], dim=-1)), None
        show_terms(self, lambda: {"forward direction": ahead, "backward direction": back})
        total = ahead.values + back.values  # (B, T, D)
        return x.like(total / 2 if self.join == "mean" else total), None


def one_way(recipe: Recipe) -> bool:
    """Whether a mixer is always causal, so that reading both directions needs two of it."""
    return recipe.signature.stateful and declared(recipe.block, "causal") is True


def directed(recipe: Recipe, causal: bool, join: Join = "sum") -> Recipe:
    """The recipe itself; if ``causal`` is False and the recipe is an always causal mixer, a bidirectional of it."""
    if causal or recipe.kind != "mixer" or not one_way(recipe):
        return recipe
    knobs = {"mixer": recipe, "join": join}
    return replace(recipe, name=f"bidirectional {recipe.name}", block=Bidirectional, knobs=knobs)
