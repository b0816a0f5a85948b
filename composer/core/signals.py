"""Signals, which flow along the edges of a graph: values, and for sequences each row's number of real steps.

Shapes: B batch, T time, D width, C channels or characters. Padding is always on the right.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

#: What a block carries from one chunk to the next (a hidden state, a KV cache): by name a batch-first tensor, a signal,
#: or the state of a block inside it. A state is never changed in place: a step returns a new one. The names and the
#: types of their values differ from block to block, hence Any.
State = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Signal:
    """Values on an edge. A subclass fixes their kind and rank."""

    values: Tensor

    kind: ClassVar[str]
    rank: ClassVar[int]
    timed: ClassVar[bool] = False

    @property
    def batch(self) -> int:
        return self.values.shape[0]

    def filled(self, value: float = 0) -> Tensor:
        """The values with the padding overwritten, so that no number in the padding reaches a result or a gradient."""
        return self.values

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Every tensor converted by ``Tensor.to``; Lightning calls this method to move a batch to a device."""
        return pytree.tree_map(lambda leaf: leaf.to(*args, **kwargs), self)


@dataclass(frozen=True, eq=False)
class Timed(Signal):
    """A signal with a time axis. If ``lengths`` is None, no row has padding, so there is nothing to mask."""

    lengths: Tensor | None = None  # (B,)

    timed: ClassVar[bool] = True

    @property
    def time(self) -> int:
        return self.values.shape[1]

    @property
    def mask(self) -> Tensor | None:
        """(B, T), True at real steps and False at padding; None if there is no padding."""
        if self.lengths is None:
            return None
        return torch.arange(self.time, device=self.values.device) < self.lengths[:, None]

    @property
    def counts(self) -> Tensor:
        """(B,), the number of real steps in each row."""
        if self.lengths is None:
            return torch.full((self.batch,), self.time, device=self.values.device)
        return self.lengths

    def filled(self, value: float = 0) -> Tensor:
        mask = self.mask
        if mask is None:
            return self.values
        return self.values.masked_fill(~mask.view(*mask.shape, *(1,) * (self.values.dim() - 2)), value)

    def reversed(self) -> Self:
        """Every row reversed within its own length; the padding stays on the right."""
        if self.lengths is None:
            return replace(self, values=self.values.flip(1))
        steps = torch.arange(self.time, device=self.values.device)
        return self.reordered(torch.where(steps < self.lengths[:, None], self.lengths[:, None] - 1 - steps, steps))

    def reordered(self, order: Tensor) -> Self:
        """Step ``order[b, t]`` of every row in the place of step t, (B, T)."""
        index = order.view(*order.shape, *(1,) * (self.values.dim() - 2)).expand_as(self.values)
        return replace(self, values=self.values.gather(1, index))

    def at(self, rows: Tensor, steps: Tensor) -> Self:
        """One row of single steps, without padding: step ``steps[n]`` of row ``rows[n]`` for every n, (N,) each."""
        values = self.values.flatten(0, 1).index_select(0, rows * self.time + steps)  # (N, ...)
        return replace(self, values=values[None], lengths=None)

    def steps(self, start: int, stop: int) -> Self:
        """The chunk of time from ``start`` up to ``stop``."""
        lengths = None if self.lengths is None else (self.lengths - start).clamp(0, stop - start)
        return replace(self, values=self.values[:, start:stop], lengths=lengths)


@dataclass(frozen=True, eq=False)
class Ids(Timed):
    """Token numbers, (B, T)."""

    kind: ClassVar[str] = "ids"
    rank: ClassVar[int] = 2


@dataclass(frozen=True, eq=False)
class Spelling(Timed):
    """The characters of every word, (B, T, C): their numbers, and 0 behind the last character of a word.

    T are the words. A word in the padding has no character.
    """

    kind: ClassVar[str] = "spelling"
    rank: ClassVar[int] = 3

    def words(self) -> Ids:
        """Every word, padding included, as a row of its own: (B T, C), with its number of characters."""
        values = self.filled().flatten(0, 1)
        places = torch.arange(1, values.shape[1] + 1, device=values.device)
        return Ids(values, torch.where(values > 0, places, 0).amax(1))


@dataclass(frozen=True, eq=False)
class Seq(Timed):
    """A sequence of vectors, (B, T, D).

    states: the states of the layers that made the sequence, after each row's last real step, where a stack gives them;
        what is made of this sequence does not have them
    """

    states: State | None = None

    kind: ClassVar[str] = "seq"
    rank: ClassVar[int] = 3

    @property
    def dim(self) -> int:
        return self.values.shape[-1]

    def like(self, values: Tensor) -> Seq:
        """A sequence of other values with the same lengths."""
        return Seq(values, self.lengths)

    def followed_by(self, *others: Seq) -> Seq:
        """This sequence and others of its width, one after the other in time; the padding stays on the right."""
        every = (self, *others)
        values = torch.cat([x.filled() for x in every], dim=1)  # (B, T1 + T2 + ..., D)
        if all(x.lengths is None for x in every):
            return Seq(values)
        real = torch.cat([torch.arange(x.time, device=values.device) < x.counts[:, None] for x in every], dim=1)
        lengths = real.sum(1)
        behind = lengths[:, None] + real.logical_not().cumsum(1)
        places = torch.where(real, real.cumsum(1), behind) - 1  # real steps first, in their order
        return Seq(torch.zeros_like(values).scatter(1, places[..., None].expand_as(values), values), lengths)


@dataclass(frozen=True, eq=False)
class Vec(Signal):
    """One vector per row, (B, D)."""

    kind: ClassVar[str] = "vec"
    rank: ClassVar[int] = 2

    @property
    def dim(self) -> int:
        return self.values.shape[-1]

    def like(self, values: Tensor) -> Vec:
        return Vec(values)


@dataclass(frozen=True, eq=False)
class Image(Signal):
    """Pixels, (B, C, H, W)."""

    kind: ClassVar[str] = "image"
    rank: ClassVar[int] = 4


@dataclass(frozen=True, eq=False)
class Label(Signal):
    """One class number per row, (B,). A label can only be predicted; no block reads a label."""

    kind: ClassVar[str] = "label"
    rank: ClassVar[int] = 1


KINDS: dict[str, type[Signal]] = {cls.kind: cls for cls in (Ids, Spelling, Seq, Vec, Image, Label)}

for _cls in KINDS.values():
    pytree.register_dataclass(_cls)  # states, torch.export and torch.compile find the tensors inside a signal


@dataclass(frozen=True)
class Contents:
    """What the codec of a field knows of its values beside their sizes: the vocabulary, or the names of channels.

    tokens: the vocabulary, by id
    special: ids that are not part of any text, such as <unk>, besides those of ``Field``
    frame: the ids before and after every text, such as [CLS] and [SEP]
    idf: log(N / n_j) of every id j, which n_j of N rows of the training split have
    frequency: the share of every id in the ids of that split
    text: whether the tokens are pieces of a text, which has characters and words
    lowercase: whether the text has no capitals, because its tokeniser makes them small
    bleu: how BLEU cuts the text into words, as sacreBLEU names it
    grows: whether a longer text goes on from a shorter one: not that of tokens in reverse order
    names: the names of the channels of a sequence, or of the entries of a vector
    fixed: those of its channels that are never rescaled
    """

    tokens: tuple[str, ...] | None = field(default=None, repr=False)
    special: tuple[int, ...] = ()
    frame: tuple[int, int] | None = None
    idf: tuple[float, ...] | None = field(default=None, repr=False)
    frequency: tuple[float, ...] | None = field(default=None, repr=False)
    text: bool = False
    lowercase: bool = False
    bleu: str = "13a"
    grows: bool = True
    names: tuple[str, ...] | None = field(default=None, repr=False)
    fixed: tuple[str, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Field:
    """The type of a signal before it has values: its kind and its sizes.

    Data sources describe the columns of their examples by fields, and the compiler describes every edge by one.

    width: of an image in pixels, or the most characters of a word
    start, stop: the ids that begin and end a generated sequence, <sos> and <eos>
    blank: the id at steps where nothing is to be predicted: no loss, no metric
    axis: the field whose time axis this field shares; None for a time axis of its own
    foretells: the field whose steps this field's later steps give away, such as the value of a key
    steps: the number of time steps, where all rows have the same number
    ends: whether a sequence brings the last states of the layers that made it
    contents: what its codec knows of the values, which most of the graph does not read
    """

    kind: str
    dim: int | None = None
    vocabulary: int | None = None
    channels: int | None = None
    height: int | None = None
    width: int | None = None
    start: int | None = None
    stop: int | None = None
    blank: int | None = None
    axis: str | None = None
    foretells: str | None = None
    steps: int | None = None
    ends: bool = False
    contents: Contents = Contents()

    #: What a block's constructor can take of a field, by name: attributes of the field, and of its contents.
    FACTS: ClassVar[tuple[str, ...]] = (
        "dim", "vocabulary", "blank", "channels", "height", "width", "steps", "ends",
        "tokens", "idf", "frequency", "names", "fixed",
    )  # fmt: skip

    def fact(self, name: str) -> Any:
        """The attribute of this name, of the field or of its contents."""
        return getattr(self if name in self.__dataclass_fields__ else self.contents, name)

    if not TYPE_CHECKING:  # what is in ``contents`` now was an attribute of the field itself in earlier versions

        def __getattr__(self, name: str) -> Any:
            if name not in Contents.__dataclass_fields__:
                raise AttributeError(f"a field has no attribute '{name}'")
            _warn_moved(name)
            return getattr(self.contents, name)

    def is_own_axis(self, name: str) -> bool:
        """Whether this field, ``name``, has a time axis of its own."""
        return self.axis in (None, name)

    @property
    def timed(self) -> bool:
        return KINDS[self.kind].timed

    @property
    def shape(self) -> tuple[str | int | None, ...]:
        """The shape as a person writes it: ('B', 'T', 128)."""
        return {
            "ids": ("B", "T"),
            "spelling": ("B", "T", self.width),
            "seq": ("B", "T", self.dim),
            "vec": ("B", self.dim),
            "image": ("B", self.channels, self.height, self.width),
            "label": ("B",),
        }[self.kind]

    def example(self, batch: int, time: int, *, device: str = "meta", dtype: torch.dtype | None = None) -> Signal:
        """An uninitialised signal of this kind, without padding."""
        sizes = {"B": batch, "T": time}
        shape = [sizes.get(size, size) if isinstance(size, str) else size for size in self.shape]
        kind = KINDS[self.kind]
        dtype = torch.long if self.kind in ("ids", "spelling", "label") else dtype
        return kind(torch.empty(shape, device=device, dtype=dtype))  # type: ignore[arg-type]

    @classmethod
    def of(cls, signal: Signal) -> Field:
        """The field that describes an existing signal."""
        if isinstance(signal, Image):
            channels, height, width = signal.values.shape[1:]
            return cls("image", channels=channels, height=height, width=width)
        if isinstance(signal, Seq | Vec):
            ends = isinstance(signal, Seq) and signal.states is not None
            return cls(signal.kind, dim=signal.dim, ends=ends)
        if isinstance(signal, Spelling):
            return cls(signal.kind, width=signal.values.shape[-1])
        return cls(signal.kind)


def _warn_moved(*names: str) -> None:
    moved = ", ".join(names)
    warnings.warn(f"Field.{moved} is now in Field.contents: Contents({moved}=...).", DeprecationWarning, stacklevel=3)


_make_field = Field.__init__


def _make_old_field(self: Field, *args: Any, **values: Any) -> None:
    """Takes the arguments of earlier versions, too."""
    if old := {name: values.pop(name) for name in Contents.__dataclass_fields__ if name in values}:
        _warn_moved(*old)
        values["contents"] = replace(values.get("contents", Contents()), **old)
    _make_field(self, *args, **values)


Field.__init__ = _make_old_field  # type: ignore[method-assign]
