"""The layers of another run's graph, mixed by learned weights: ELMo.

    y_t = gamma * sum_l softmax(s)_l h_{t,l}

h_{t,0} is the input of the stack at step t (the token's vector, with its position where the stack adds one) and h_{t,l}
the output of its layer l; the last one includes the stack's last norm. Of a forward and a backward language model, the
vectors of the same token are concatenated. s and gamma are learned; the other graph is frozen, unless ``frozen`` is
false. Peters et al., 2018. The state is that of the other graph, which streams if it is causal.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from composer import (
    Ids,
    Invalid,
    Positive,
    Probability,
    Seq,
    State,
    TrainedGraph,
    TrainedLayers,
    refuse_to_stream,
    register,
)
from composer.core.registry import block_name

from ..linear import unit_linear


def _example() -> TrainedGraph:
    """A forward and a backward language model of one layer each."""
    sizes = {"kind": "ids", "vocabulary": 1000, "start": 1, "stop": 2, "copies": "target"}
    layer = {"kind": "stack", "depth": 1, "mixer": "gru", "norm": "layer"}
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "from": "target", "dim": 4},
        "decoder": {"from": "embedding", **layer},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
        "backward_embedding": {"kind": "embedding", "type": "token", "from": "backward", "dim": 4},
        "backward_decoder": {"from": "backward_embedding", **layer},
        "backward_output": {"kind": "head", "type": "categorical", "from": "backward_decoder", "predicts": "backward"},
    }
    backward = {**sizes, "start": 2, "stop": 1, "reversed": True}
    return TrainedGraph(None, nodes, {"target": sizes, "backward": backward})


@register("pretrained", "graph")
class PretrainedGraph(nn.Module):
    example = {"run": _example(), "read": None}

    def __init__(
        self,
        vocabulary: int,
        *,
        run: TrainedGraph,
        read: list[str] | None = None,
        dim: Positive | None = None,
        frozen: bool = True,
        normalise: bool = False,
        dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.inner = TrainedLayers(run, read, frozen=frozen)
        if vocabulary > self.inner.vocabulary:
            raise Invalid(
                "from", f"has {vocabulary} tokens, but the graph of '{run.path}' knows {self.inner.vocabulary} of them."
            )
        self.limit, self.normalise = self.inner.limit, normalise
        self.mix = nn.Parameter(torch.zeros(self.inner.count))
        self.gamma = nn.Parameter(torch.ones(1))
        width = sum(self.inner.widths)
        self.project = unit_linear(width, dim, bias=False) if dim not in (None, width) else None
        self.dropout = nn.Dropout(dropout)

    @property
    def causal(self) -> bool:
        return self.inner.causal

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        return self.inner.start(batch)

    def forward(self, x: Ids, state: State | None = None) -> tuple[Seq, State | None]:
        if state is not None and not self.causal:
            refuse_to_stream(self)
        read, state = self.inner(x, state)
        shares = torch.softmax(self.mix, dim=0)  # (L + 1,)
        layers = [self._joined([stack[place] for stack in read]) for place in range(self.inner.count)]
        y = self.gamma * (torch.stack(layers, dim=-1) @ shares)  # (B, T, D)
        return Seq(self.dropout(y if self.project is None else self.project(y)), x.lengths), state

    def _joined(self, layers: list[Seq]) -> Tensor:
        values = [layer_norm(one.values, (one.dim,)) if self.normalise else one.values for one in layers]
        return torch.cat(values, dim=-1)

    def contents(self) -> list[str]:
        return [f"layers of {block_name(self.inner.graph.nodes[stack.name])}" for stack in self.inner.stacks]
