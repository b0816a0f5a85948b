"""x-transformers' layers (github.com/lucidrains/x-transformers, MIT): pre-norm, rotary positions alone, no biases but
those of the feed-forward network."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from benchmarks.learning.peers.torch_nn import HEADS, Reader, Words, encoder_depth, model_width, token_count
from benchmarks.learning.task import PeerModel
from composer.core.signals import Ids, Signal
from composer.training.run.plan import TrainingPlan

NEEDS = "x_transformers"
INSTALL = (
    "pip install --no-deps --target FOLDER x-transformers==2.31.* einops einx loguru frozendict torch-einops-utils, "
    "then --peers FOLDER"
)


def _layers(kind: str, dim: int, depth: int) -> nn.Module:
    """Its Encoder or Decoder, with torch's attention kernel; rotary positions turn the whole of a head."""
    make: Any = getattr(importlib.import_module(NEEDS), kind)
    head = dim // HEADS
    return make(
        dim=dim, depth=depth, heads=HEADS, attn_dim_head=head, rotary_pos_emb=True, rotary_emb_dim=head, attn_flash=True
    )  # fmt: skip


class WordEncoder(nn.Module):
    def __init__(self, vocabulary: int, dim: int, depth: int) -> None:
        super().__init__()
        self.embedding = Words(vocabulary, dim, "unit")
        self.layers = _layers("Encoder", dim, depth)
        self.width = dim

    def forward(self, words: Ids) -> Tensor:
        return self.layers(self.embedding(words.values), mask=words.mask)  # (B, T, D)


class Wrapped(PeerModel):
    """Its own language model: token vectors of deviation sqrt(2/D), not scaled."""

    def __init__(self, vocabulary: int, dim: int, depth: int, context: int) -> None:
        super().__init__()
        make: Any = importlib.import_module(NEEDS).TransformerWrapper
        layers = _layers("Decoder", dim, depth)
        self.model = make(num_tokens=vocabulary, max_seq_len=context, use_abs_pos_emb=False, attn_layers=layers)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        return self.model(inputs["target"].values)  # (B, T, V)


class Scaled(PeerModel):
    """Its decoder behind token vectors N(0, 1/D) times sqrt(D)."""

    def __init__(self, vocabulary: int, dim: int, depth: int) -> None:
        super().__init__()
        self.embedding = Words(vocabulary, dim, "unit")
        self.layers = _layers("Decoder", dim, depth)
        self.output = nn.Linear(dim, vocabulary)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        return self.output(self.layers(self.embedding(inputs["target"].values)))  # (B, T, V)


def language_model(plan: TrainingPlan, depth: int) -> PeerModel:
    context = plan.composed.values["data"]["length"]
    return Wrapped(token_count(plan, "target"), model_width(plan), depth, context)


def scaled_language_model(plan: TrainingPlan, depth: int) -> PeerModel:
    return Scaled(token_count(plan, "target"), model_width(plan), depth)


def over_words(plan: TrainingPlan, model: Reader) -> PeerModel:
    words, classes = token_count(plan, "source"), token_count(plan, "target")
    return model(WordEncoder(words, model_width(plan), encoder_depth(plan)), classes)
