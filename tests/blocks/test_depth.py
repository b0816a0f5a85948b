"""24 layers of every mixer train at the default learning rate, from the first step on: no warm-up, no other help."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch

from composer.config.composition import compose
from composer.core import registry
from composer.graph.compiler import compile_graph
from composer.training.optimisation.optimisers import bind_optimiser
from tests.support.templates import TEMPLATES, batch, mean_loss, needs_memory, nodes, written

pytestmark = pytest.mark.slow

DEPTH, STEPS = 24, 50


def deep(mixer: str) -> tuple[str, dict[str, Any]]:
    """A template and its nodes, with a stack of 24 layers of this mixer: one that reads a memory in a decoder."""
    if needs_memory(mixer):
        found, own = nodes("seq2seq", "attention"), {"mixer": written(mixer), "cross": None, "depth": DEPTH}
        return "seq2seq", found | {"decoder": found["decoder"] | own}
    found = nodes("tagger", mixer)
    return "tagger", found | {"encoder": found["encoder"] | {"depth": DEPTH}}


@cache
def default_optimiser() -> dict[str, Any]:
    return compose().values["optimiser"]


@pytest.mark.parametrize("mixer", registry.blocks("mixer"))
def test_the_loss_of_24_layers_falls_within_50_steps(mixer):
    template, found = deep(mixer)
    graph = compile_graph(found, TEMPLATES[template]).materialise(seed=1)
    optimiser = bind_optimiser(default_optimiser())(graph.named_parameters())
    rows, losses = batch(template), []
    while len(losses) < STEPS and not fallen(losses):
        loss = mean_loss(graph, rows)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(graph.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    assert fallen(losses), f"{mixer}: the loss goes from {losses[0]:.3f} to {losses[-5:]}"


def fallen(losses: list[float]) -> bool:
    """Whether five steps one after the other are well below the first: no more need be trained to know."""
    return len(losses) > 5 and max(losses[-5:]) < 0.6 * losses[0]
