"""The protocol of a data source, and the sources by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from torch import Tensor

from composer.core.binding import bind_entry
from composer.core.problems import ConfigError, Invalid, Locate, Problem, UserError, listed
from composer.core.signals import Field, Signal
from composer.data.word_dropout import WordDropout

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")

#: Row numbers of a split.
RowNumbers = Sequence[int] | Tensor


class Source(ABC):
    """Examples with typed fields: ``source`` is what is given, ``target`` what is predicted.

    The keyword parameters of the constructor are the YAML's keys; it checks them and reads nothing. ``open`` then
    learns from the training split what the fields say, or ``restore`` takes that from a checkpoint, without any file.
    Examples are read when they are first asked for.
    """

    #: Whether every row of a split goes on where the one before it ends, so that a state can be carried from one to the
    #: next.
    running: bool = False

    #: The split that holds every row of a source that was restored to read some fields alone. Data that is not the
    #: user's has nothing that could be missing: its validation split is as good as any.
    every_row: Split = "valid"

    @property
    @abstractmethod
    def fields(self) -> dict[str, Field]:
        """What every example has, and how large it is."""

    @abstractmethod
    def size(self, split: Split) -> int:
        """The number of examples; 0 where there is no such split."""

    @abstractmethod
    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        """The steps of each of these rows, for every field with a time axis of its own."""

    @abstractmethod
    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        """These examples side by side, padded on the right."""

    @abstractmethod
    def show(self, field: str, signal: Signal) -> list[str]:
        """What a signal says, a text a row."""

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        """Values as the files hold them, or texts that a person typed, side by side: the way back from ``show``."""
        raise UserError(f"'{field}' of this data cannot be typed. Give a file.")

    def unknown(self, field: str, value: Any) -> list[str]:
        """What of a value the vocabulary does not have, so that the model reads it as <unk> or as 'other'."""
        return []

    @property
    def notes(self) -> dict[str, str]:
        """What was chosen for a field by the look of its data, and why, for a person to read before training."""
        return {}

    @property
    def word_dropout(self) -> dict[str, WordDropout]:
        """How training replaces rare words by <unk>, for every field whose words it replaces."""
        return {}

    def unscaled(self, field: str, values: Tensor) -> Tensor:
        """Numbers (..., D) of a signal in the units that the data has them in."""
        return values

    def open(self) -> None:  # noqa: B027 - most generated data has nothing to learn
        """Learn what the fields say. Bad input is an Invalid or a UserError."""

    def state(self) -> dict[str, Any]:
        """What was learned, as plain data: it goes into the checkpoint."""
        return {}

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        """Take what was learned from ``state`` instead of from the files.

        fields: read every row of the user's files, in order, into the split ``every_row``, and of each these fields
            alone: the others may be missing. None reads all fields, in their splits
        """
        check_state(state, ())


@contextmanager
def read_late() -> Iterator[None]:
    """Around reading files after ``load_source``, which is there to say where a knob was set: a UserError without it.

    So it happens where a checkpoint has brought what was learned, and the file is not there any longer.
    """
    try:
        yield
    except Invalid as error:
        raise UserError(f"data.{error.parameter}: {error.message}") from error


def check_state(state: Mapping[str, Any], names: Iterable[str]) -> None:
    """A state holds what its source learned, no less and no more."""
    wanted = sorted(names)
    if sorted(state) != wanted:
        raise UserError(
            f"the vocabularies to restore are those of other data: they are for {listed(state) or 'nothing'}, "
            f"not for {listed(wanted) or 'nothing'}. Use the data that the checkpoint was trained with."
        )


def load_source(
    config: Mapping[str, Any],
    locate: Locate = lambda path: "",
    state: Mapping[str, Any] | None = None,
    fields: Collection[str] | None = None,
) -> Source:
    """The source that a config's ``data`` section names, opened; or, with a state, as it was when that was taken.

    fields: with a state, what is to be read of every row there is; see ``Source.restore``
    """
    assert fields is None or state is not None, "what is learned is learned from all fields"
    built: Source = bind_entry("data", config, locate)()
    try:
        if state is None:
            built.open()
        else:
            built.restore(state, fields)
    except Invalid as error:
        raise ConfigError([Problem(f"data.{error.parameter}", error.message)], locate) from error
    return built
