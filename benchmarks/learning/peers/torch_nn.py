"""Models such as people write with torch.nn: an embedding, nn.LSTM or nn.TransformerEncoder, a linear layer.

They keep torch.nn's initialisation. A plain nn.LSTM has as many layers as ours, and a width at which it has as many
parameters; the others have our width, heads and feed-forward width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.learning.peers.matching import matched_width
from benchmarks.learning.task import PeerModel
from composer.core.signals import Ids, Signal
from composer.training.run.plan import TrainingPlan

HEADS = 4

#: nn.Embedding as it is, N(0, 1); that times sqrt(D); or N(0, 1/D) times sqrt(D), as ours.
Scale = Literal["plain", "times", "unit"]


class Words(nn.Embedding):
    """A vector a token."""

    def __init__(self, vocabulary: int, dim: int, scale: Scale = "plain") -> None:
        super().__init__(vocabulary, dim)
        self.factor = 1.0 if scale == "plain" else math.sqrt(dim)
        if scale == "unit":
            nn.init.normal_(self.weight, std=1 / math.sqrt(dim))

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) * self.factor  # (B, T, D)


class LanguageModel(PeerModel):
    """An LSTM that predicts the next token."""

    def __init__(self, vocabulary: int, dim: int, width: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.lstm = nn.LSTM(dim, width, depth, batch_first=True)
        self.output = nn.Linear(width, vocabulary)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        hidden, _ = self.lstm(self.embedding(inputs["target"].values))
        return self.output(hidden)  # (B, T, V)


class LSTMEncoder(nn.Module):
    """Words, read in both directions."""

    def __init__(self, vocabulary: int, dim: int, width: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.lstm = nn.LSTM(dim, width, depth, batch_first=True, bidirectional=True)
        self.width = 2 * width

    def forward(self, words: Ids) -> Tensor:
        return _over_words(self.lstm, self.embedding(words.values), words)  # (B, T, 2 W)


def _over_words(lstm: nn.LSTM, values: Tensor, words: Ids) -> Tensor:
    """The outputs at every step; the direction that reads backwards begins with a row's last real step."""
    packed = pack_padded_sequence(values, words.counts.clamp(min=1), batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=words.time)[0]


class ResidualLSTM(nn.Module):
    """Layers of x + LSTM(norm(x)) and x + MLP(norm(x)), then a norm. The outputs of two directions are added."""

    def __init__(self, vocabulary: int, dim: int, depth: int, *, both_ways: bool) -> None:
        super().__init__()
        self.embedding = Words(vocabulary, dim, "unit")
        self.both_ways, self.width = both_ways, dim
        lstms = [nn.LSTM(dim, dim, batch_first=True, bidirectional=both_ways) for _ in range(depth)]
        self.lstms = nn.ModuleList(lstms)
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(depth)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * depth + 1))

    def forward(self, words: Ids) -> Tensor:
        x = self.embedding(words.values)
        for i, (lstm, mlp) in enumerate(zip(self.lstms, self.mlps, strict=True)):
            x = x + self._recur(lstm, self.norms[2 * i](x), words)
            x = x + mlp(self.norms[2 * i + 1](x))
        return self.norms[-1](x)  # (B, T, D)

    def _recur(self, lstm: nn.Module, x: Tensor, words: Ids) -> Tensor:
        assert isinstance(lstm, nn.LSTM)
        if not self.both_ways:  # causal: padding on the right is read by no real step
            return lstm(x)[0]
        ahead, back = _over_words(lstm, x, words).chunk(2, dim=-1)
        return ahead + back


class ResidualLanguageModel(PeerModel):
    """A residual LSTM that predicts the next token."""

    def __init__(self, vocabulary: int, dim: int, depth: int) -> None:
        super().__init__()
        self.decoder = ResidualLSTM(vocabulary, dim, depth, both_ways=False)
        self.output = nn.Linear(dim, vocabulary)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        words = inputs["target"]
        assert isinstance(words, Ids)
        return self.output(self.decoder(words))  # (B, T, V)


class TransformerEncoder(nn.Module):
    """Words with sinusoidal positions through nn.TransformerEncoder, whose default is a norm after each sublayer."""

    def __init__(
        self, vocabulary: int, dim: int, depth: int, *, scale: Scale = "plain", pre_norm: bool = False
    ) -> None:
        super().__init__()
        self.embedding = Words(vocabulary, dim, scale)
        layer = nn.TransformerEncoderLayer(dim, HEADS, 4 * dim, dropout=0.0, batch_first=True, norm_first=pre_norm)
        norm = nn.LayerNorm(dim) if pre_norm else None
        self.layers = nn.TransformerEncoder(layer, depth, norm, enable_nested_tensor=False)
        self.width = dim

    def forward(self, words: Ids) -> Tensor:
        padding = None if words.mask is None else ~words.mask
        x = self.embedding(words.values) + sinusoids(words.time, self.width)
        return self.layers(x, src_key_padding_mask=padding)  # (B, T, D)


class Encoder(Protocol):
    """Words to vectors of a width."""

    width: int

    def __call__(self, words: Ids) -> Tensor: ...


class Tagger(PeerModel):
    """A tag for every word."""

    def __init__(self, encoder: Encoder, tags: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = nn.Linear(encoder.width, tags)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        words = inputs["source"]
        assert isinstance(words, Ids)
        return self.output(self.encoder(words))  # (B, T, V)


class Classifier(PeerModel):
    """A class for a sentence, from the mean over its words."""

    def __init__(self, encoder: Encoder, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = nn.Linear(encoder.width, classes)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        words = inputs["source"]
        assert isinstance(words, Ids)
        hidden = self.encoder(words)
        if words.mask is not None:
            hidden = hidden * words.mask[..., None]
        return self.output(hidden.sum(1) / words.counts.clamp(min=1)[:, None])  # (B, V)


#: What turns the vectors of the words into tags or a class.
Reader: TypeAlias = type[Tagger] | type[Classifier]


def sinusoids(time: int, dim: int) -> Tensor:
    """(T, D), as in "Attention is all you need"."""
    rates = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    angles = torch.arange(time)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def model_width(plan: TrainingPlan) -> int:
    return int(plan.composed.values["model"]["dim"])


def token_count(plan: TrainingPlan, field: str) -> int:
    """The entries of a vocabulary, or the number of classes or tags."""
    return plan.objective.fields[field].vocabulary or 0


def encoder_depth(plan: TrainingPlan) -> int:
    return int(plan.composed.values["model"]["nodes"]["encoder"]["depth"])


def lstm_language_model(plan: TrainingPlan, depth: int) -> PeerModel:
    vocabulary, dim = token_count(plan, "target"), model_width(plan)
    width = matched_width(plan, lambda width: LanguageModel(vocabulary, dim, width, depth))
    return LanguageModel(vocabulary, dim, width, depth)


def residual_lstm_language_model(plan: TrainingPlan, depth: int) -> PeerModel:
    return ResidualLanguageModel(token_count(plan, "target"), model_width(plan), depth)


def lstm_over_words(plan: TrainingPlan, model: Reader) -> PeerModel:
    words, classes = token_count(plan, "source"), token_count(plan, "target")
    dim, depth = model_width(plan), encoder_depth(plan)
    width = matched_width(plan, lambda width: model(LSTMEncoder(words, dim, width, depth), classes))
    return model(LSTMEncoder(words, dim, width, depth), classes)


def residual_lstm_over_words(plan: TrainingPlan, model: Reader) -> PeerModel:
    words, classes = token_count(plan, "source"), token_count(plan, "target")
    return model(ResidualLSTM(words, model_width(plan), encoder_depth(plan), both_ways=True), classes)


def transformer_over_words(
    plan: TrainingPlan, model: Reader, scale: Scale = "plain", pre_norm: bool = False
) -> PeerModel:
    words, classes = token_count(plan, "source"), token_count(plan, "target")
    encoder = TransformerEncoder(words, model_width(plan), encoder_depth(plan), scale=scale, pre_norm=pre_norm)
    return model(encoder, classes)
