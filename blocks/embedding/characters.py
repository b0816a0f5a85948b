"""A vector for every word, made of the word's characters by a mixer and a pool.

    y_t = pool(mixer(sqrt(D) E[c_t1], ..., sqrt(D) E[c_tn]))  for the n characters c_t of the word t

Words that share a stem or an ending have similar vectors, also words that the vocabulary does not have. With a
convolution and max pooling it is the encoder of Ma and Hovy, 2016; with a bidirectional LSTM that of Lample et al.,
2016. Every word is read by itself: a row of characters without a state. A word without characters gives the pool's
value of an empty row, zero. No state.
"""

from __future__ import annotations

import torch
from torch import nn

from composer import Invalid, Positive, Probability, Recipe, Seq, Spelling, register


@register("embedding", "characters")
class Characters(nn.Module):
    def __init__(
        self, vocabulary: int, *, dim: Positive, mixer: Recipe, pool: Recipe, dropout: Probability = 0.0
    ) -> None:
        super().__init__()
        for slot, recipe in (("mixer", mixer), ("pool", pool)):
            needed = [port.name for port in list(recipe.signature.ports.values())[1:] if not port.optional]
            if needed:
                raise Invalid(slot, f"'{recipe.name}' also reads {needed[0]}, which a word does not have.")
        self.scale = dim**0.5
        self.embedding = nn.Embedding(vocabulary, dim)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        self.dropout = nn.Dropout(dropout)
        self.mixer = mixer.build(dim=dim, causal=False)
        self.pool = pool.build(dim=getattr(self.mixer, "out_dim", None) or dim)
        self.stateful = mixer.signature.stateful

    def forward(self, x: Spelling) -> Seq:
        words = x.words()  # (B T, C)
        characters = torch.embedding(self.embedding.weight, words.filled(0)) * self.scale
        mixed = self.mixer(Seq(self.dropout(characters), words.lengths))
        vectors = self.pool(mixed[0] if self.stateful else mixed).values  # (B T, D)
        return Seq(vectors.unflatten(0, x.values.shape[:2]), x.lengths)
