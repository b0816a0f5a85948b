"""Rows of tokens given by a test, and what an objective makes of them."""

import torch
from hypothesis import strategies as st

from composer.core.signals import Contents, Field, Ids
from composer.data import Source
from composer.data.packed.packed_rows import padded
from composer.objectives import load_objective

SOS, EOS, UNK, FIRST = 0, 1, 2, 3  # of the rows below; ordinary tokens come after
VOCABULARY = 60
TOKENS = ("<sos>", "<eos>", "<unk>", ".", *(f"w{i}" for i in range(VOCABULARY - 4)))


class Given(Source):
    """Rows of ids as they are given, the same in every split."""

    def __init__(self, rows, vocabulary=VOCABULARY, tokens=TOKENS):
        self.rows = rows
        idf, frequency = (1.0,) * vocabulary, (1 / vocabulary,) * vocabulary
        contents = Contents(tokens=tokens, special=(UNK,), idf=idf, frequency=frequency)
        self.field = Field("ids", vocabulary=vocabulary, start=SOS, stop=EOS, contents=contents)

    @property
    def fields(self):
        return {"target": self.field}

    def size(self, split):
        return len(self.rows)

    def lengths(self, split, rows):
        return {"target": torch.tensor([len(self.rows[int(row)]) for row in rows])}

    def batch(self, split, rows):
        return {"target": Ids(*padded([self.rows[int(row)] for row in rows]))}

    def show(self, field, signal):
        return [" ".join(self.field.contents.tokens[i] for i in row if i not in (SOS, EOS)) for row in listed(signal)]


def listed(signal):
    return [row[:n] for row, n in zip(signal.values.tolist(), signal.counts.tolist(), strict=True)]


def made(objective, rows, split="train", epoch=0, **knobs):
    """The lists of source and target, and the batch."""
    source = rows if isinstance(rows, Source) else Given(rows)
    batch = load_objective({"type": objective, **knobs}, source).batch(split, range(source.size(split)), epoch)
    return listed(batch.signals["source"]), listed(batch.signals["target"]), batch


def long_rows(count, length, vocabulary=VOCABULARY, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(FIRST, vocabulary, (count, length), generator=generator).tolist()


ragged = st.lists(st.lists(st.integers(UNK, VOCABULARY - 1), max_size=12).map(lambda row: [*row, EOS]), min_size=2)
running = st.lists(st.lists(st.integers(UNK, VOCABULARY - 1), min_size=1, max_size=12), min_size=2)
