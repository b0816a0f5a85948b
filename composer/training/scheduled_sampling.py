"""Scheduled sampling (``training.scheduled_sampling``): a model reads some of its own tokens in training.

With teacher forcing, a decoder reads the true earlier steps of its target; in generation, it reads its own. Scheduled
sampling (Bengio et al., 2015) lets it read its own in training, too: each step of the input is, with a probability that
rises over the run, what the model predicts from the steps before. The mixed inputs are generated first, step by step,
in evaluation mode and without gradients, as decoding generates; then the model is trained on them in parallel. The
targets are the true ones.

The random numbers are a function of the seed, the step and the row's place in the batch: they are the same for any
number of processes and micro-batches, and after a run is resumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from composer.core.capabilities import offers
from composer.core.problems import Invalid, UserError, listed
from composer.core.signals import Ids, Signal, Timed
from composer.data.counter_random import uniform
from composer.decoding import Stream
from composer.decoding.rollout import most_likely, rollout
from composer.decoding.token_choice import drawn
from composer.graph.graph import Graph, evaluating
from composer.graph.nodes import Node
from composer.training.settings import ScheduledSampling

#: The share of the final rate at a share of the way (0 to 1), from 0 to 1.
SHAPES: dict[str, Callable[[float], float]] = {
    "constant": lambda way: 1.0,
    "linear": lambda way: way,
    "exponential": lambda way: (1 - 0.01**way) / 0.99,
    "inverse_sigmoid": lambda way: (_sigmoid(12 * way - 6) - _sigmoid(-6)) / (_sigmoid(6) - _sigmoid(-6)),
}


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


class SampledInputs:
    """Mixes the inputs of a graph with its own predictions.

    steps: the optimiser steps of the whole run
    heads: by generated field, the head that generates it
    """

    def __init__(self, graph: Graph, settings: ScheduledSampling, steps: int, seed: int) -> None:
        self.settings, self.steps, self.seed = settings, steps, seed
        self.heads = sampled_heads(graph, settings)

    def rate(self, step: int) -> float:
        """The probability of a generated input at an optimiser step, counted from 1."""
        settings = self.settings
        way = (step / self.steps - settings.start) / (1 - settings.start)
        return settings.rate * SHAPES[settings.shape](min(way, 1.0)) if way > 0 else 0.0

    def mixed(self, graph: Graph, inputs: dict[str, Signal], step: int, places: Tensor) -> dict[str, Signal]:
        """The inputs with generated ones among them.

        inputs: those of teacher forcing, shifted by one step
        places: (B,), the places of the rows in the batch of all processes
        """
        rate = self.rate(step)
        if rate == 0:
            return inputs
        with evaluating(graph):
            own = {name: self._mix(graph, inputs, head, rate, step, places) for name, head in self.heads.items()}
        return inputs | own

    def _mix(
        self, graph: Graph, inputs: dict[str, Signal], head: Node, rate: float, step: int, places: Tensor
    ) -> Signal:
        true = cast(Timed, inputs[str(head.predicts)])
        device, time = true.values.device, true.time
        draws = f"scheduled sampling/{step}/{head.name}"
        own = uniform(self.seed, draws, places, time).to(device) < rate  # (B, T)
        own[:, 0] = False  # <sos>
        if true.mask is not None:
            own &= true.mask
        needed = own.any(0).nonzero()  # the steps at which some row reads its own prediction
        if not len(needed):
            return true
        numbers = uniform(self.seed, f"{draws}/tokens", places, time).to(device)  # however long the longest row is

        def choose(before: int, stream: Stream) -> Tensor:
            """What the model reads at the step after ``before``: its own value in some rows."""
            t, sampled = before + 1, self.settings.choice == "sample" and isinstance(true, Ids)
            if sampled:
                value = drawn(stream.head.log_probabilities(stream.output), numbers[:, t])
            else:
                value = most_likely(before, stream)
            here = own[:, t].view(-1, *(1,) * (value.dim() - 1))
            return torch.where(here, value.to(true.values.dtype), true.values[:, t])

        last = int(needed[-1])
        with torch.inference_mode():
            _, mixed = rollout(Stream(graph, inputs, head, true.batch), last, choose)
        values = torch.cat([true.values[:, :1], mixed.clone(), true.values[:, last + 1 :]], dim=1)
        return type(true)(values, true.lengths)


def sampled_heads(graph: Graph, settings: ScheduledSampling) -> dict[str, Node]:
    """By generated field, the head whose predictions are its inputs. Raises an Invalid where there is no such head."""
    if not graph.plan.generated:
        raise Invalid(
            "rate",
            "lets the model read what it generates, but this model generates nothing. Set it to 0 (no sampling).",
        )
    found: dict[str, Node] = {}
    for name in sorted(graph.plan.generated):
        heads = [head for head in graph.heads if head.predicts == name and graph.target(head).generates]
        if len(heads) != 1:
            names = listed(head.name for head in heads) or "none"
            raise Invalid("rate", f"'{name}' has to be generated by one head, not by several or none: {names}.")
        try:
            found[name] = graph.generating_head(graph.plan.inputs[name].kind, heads[0].name)
        except UserError as error:
            raise Invalid("rate", str(error)) from error
        head = graph.nodes[heads[0].name]
        if (
            settings.choice == "sample"
            and graph.plan.inputs[name].kind == "ids"
            and not offers(head, "log_probabilities")
        ):
            raise Invalid("choice", f"the head '{heads[0].name}' gives no probabilities to sample by. Use greedy.")
        if settings.choice == "sample" and graph.plan.inputs[name].kind == "seq":
            raise Invalid("choice", f"'{name}' is of real values, of which the mean is read. Use greedy.")
    return found
