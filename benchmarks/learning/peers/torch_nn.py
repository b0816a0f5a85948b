"""Models such as people write with torch.nn: an embedding, nn.LSTM or nn.TransformerEncoder, a linear layer.

They keep torch.nn's initialisation. A recurrent peer has as many layers as ours, and a width at which it has as many
parameters; a transformer has our width, heads and feed-forward width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.learning.peers.matching import matched_width
from benchmarks.learning.task import PeerModel
from composer.core.signals import Ids, Signal
from composer.training.run.plan import TrainingPlan

DIM, HEADS, DEPTH = 128, 4, 2


class LanguageModel(PeerModel):
    """An LSTM that predicts the next token."""

    def __init__(self, vocabulary: int, width: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, DIM)
        self.lstm = nn.LSTM(DIM, width, depth, batch_first=True)
        self.output = nn.Linear(width, vocabulary)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        hidden, _ = self.lstm(self.embedding(inputs["target"].values))
        return self.output(hidden)  # (B, T, V)


class LSTMEncoder(nn.Module):
    """Words, read in both directions."""

    def __init__(self, vocabulary: int, width: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, DIM)
        self.lstm = nn.LSTM(DIM, width, depth, batch_first=True, bidirectional=True)
        self.width = 2 * width

    def forward(self, words: Ids) -> Tensor:
        packed = pack_padded_sequence(
            self.embedding(words.values), words.counts.clamp(min=1), batch_first=True, enforce_sorted=False
        )
        hidden, _ = self.lstm(packed)
        return pad_packed_sequence(hidden, batch_first=True, total_length=words.time)[0]  # (B, T, 2 W)


class TransformerEncoder(nn.Module):
    """Words with sinusoidal positions through nn.TransformerEncoder."""

    def __init__(self, vocabulary: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, DIM)
        layer = nn.TransformerEncoderLayer(DIM, HEADS, 4 * DIM, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.width = DIM

    def forward(self, words: Ids) -> Tensor:
        padding = None if words.mask is None else ~words.mask
        x = self.embedding(words.values) + sinusoids(words.time)
        return self.layers(x, src_key_padding_mask=padding)  # (B, T, D)


class Tagger(PeerModel):
    """A tag for every word."""

    def __init__(self, encoder: LSTMEncoder | TransformerEncoder, tags: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = nn.Linear(encoder.width, tags)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        words = inputs["source"]
        assert isinstance(words, Ids)
        return self.output(self.encoder(words))  # (B, T, V)


class Classifier(PeerModel):
    """A class for a sentence, from the mean over its words."""

    def __init__(self, encoder: LSTMEncoder | TransformerEncoder, classes: int) -> None:
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


def sinusoids(time: int) -> Tensor:
    """(T, D), as in "Attention is all you need"."""
    rates = torch.exp(torch.arange(0, DIM, 2) * (-math.log(10000.0) / DIM))
    angles = torch.arange(time)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def _sizes(plan: TrainingPlan) -> tuple[int, int]:
    """The entries of the vocabulary, and the classes or tags."""
    fields = plan.objective.fields
    return fields["source"].vocabulary or 0, fields["target"].vocabulary or 0


def lstm_language_model(plan: TrainingPlan, depth: int) -> PeerModel:
    vocabulary = plan.objective.fields["target"].vocabulary or 0
    width = matched_width(plan, lambda width: LanguageModel(vocabulary, width, depth))
    return LanguageModel(vocabulary, width, depth)


def lstm_over_words(plan: TrainingPlan, model: type[Tagger] | type[Classifier]) -> PeerModel:
    words, classes = _sizes(plan)
    width = matched_width(plan, lambda width: model(LSTMEncoder(words, width, DEPTH), classes))
    return model(LSTMEncoder(words, width, DEPTH), classes)


def transformer_over_words(plan: TrainingPlan, model: type[Tagger] | type[Classifier]) -> PeerModel:
    words, classes = _sizes(plan)
    return model(TransformerEncoder(words, DEPTH), classes)
