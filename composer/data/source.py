"""The protocol of a data source, and the sources by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from torch import Tensor

from composer.core.binding import bind_entry
from composer.core.problems import ConfigError, Invalid, Locate, UserError, listed
from composer.core.signals import Field, Signal
from composer.data.codecs.word_dropout import WordDropout
from composer.data.files.new_files import NewFiles, TrainedFile

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")

#: Row numbers of a split.
RowNumbers = Sequence[int] | Tensor


class WrittenRow(NamedTuple):
    """A row as the user's file has it.

    place: the file, and the line where a file has several rows
    values: the values of the fields that were read, by name, as plain data
    """

    place: dict[str, Any]
    values: dict[str, Any]


class Source(ABC):
    """A data set with typed fields: ``source`` is the input, ``target`` is to be predicted.

    The keyword parameters of the constructor are the keys of the YAML. The constructor checks them and reads no file.
    Then ``open`` learns vocabularies and scales from the training split, or ``restore`` takes them from a checkpoint,
    without reading a file. Examples are read when they are first used.
    """

    #: Whether every row of a split continues the row before it, so that the hidden state can be carried from one row to
    #: the next (truncated BPTT).
    running: bool = False

    #: Whether the rows of the training split differ from epoch to epoch: row ``epoch * size + i`` is then row i of an
    #: epoch. Row numbers below ``size`` are those of the first epoch.
    rows_by_epoch: bool = False

    #: All sources of a mixture, this one among them, from whose training splits ``open`` learns together; None where
    #: this source learns from its own training split alone.
    together: Sequence[Source] | None = None
    #: The data section that the source was made from; None for a source that was not made from a config. What a source
    #: reads from files is kept between runs under this section (composer/data/cache).
    section: Mapping[str, Any] | None = None

    #: The split that holds all rows after ``restore`` with ``fields``. Data that is not read from the user's files
    #: always has all fields and keeps its splits; there this is the split to use by default.
    every_row: Split = "valid"

    #: What is known of files that are read for a trained model, before ``restore`` with ``fields``.
    new_files: NewFiles = NewFiles()

    @property
    @abstractmethod
    def fields(self) -> dict[str, Field]:
        """The fields of every example, with their sizes."""

    @abstractmethod
    def size(self, split: Split) -> int:
        """The number of examples in a split; 0 where the data has no such split."""

    @abstractmethod
    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        """The number of steps of these rows, for every field with a time axis of its own."""

    @abstractmethod
    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        """These examples as a batch, padded on the right."""

    @abstractmethod
    def show(self, field: str, signal: Signal) -> list[str]:
        """The rows of a signal as texts, one for each row."""

    def references(self, field: str, split: Split, rows: RowNumbers) -> list[list[str]] | None:
        """The texts of a field in these rows with the words of the user's files, in the form that ``show`` gives.

        A row may have several texts, each of which is right (references). A row without any has the text that ``show``
        gives for its signal. None: this holds for every row.
        """
        return None

    def overlap(self, split: Split) -> int:
        """The number of consecutive rows that share steps with a row, that row included; 1 where none do."""
        return 1

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        """A signal of values as in the files, or of texts that a person typed: the inverse of ``show``."""
        raise UserError(f"'{field}' of this data cannot be typed. Give a file.")

    def unknown(self, field: str, value: Any) -> list[str]:
        """The words or characters of a value outside the vocabulary, which the model reads as <unk> or 'other'."""
        return []

    def written(self, split: Split) -> Iterator[WrittenRow] | None:
        """The rows of a split as the user's files have them, in order; None for data that does not come from files."""
        return None

    @property
    def repeats(self) -> dict[str, set[str]]:
        """For each field that is made of the same columns of the user's files as others, those others before it."""
        return {}

    @property
    def related(self) -> dict[str, set[str]]:
        """For each field, the others that are made of one of its columns of the user's files: they tell of it."""
        return {}

    @property
    def notes(self) -> dict[str, str]:
        """For each field, the setting that was chosen automatically from its data, with the reason, as a message."""
        return {}

    @property
    def remarks(self) -> list[str]:
        """What was found in the user's files and the config does not say, and the rows that were left out."""
        return []

    @property
    def word_dropout(self) -> dict[str, WordDropout]:
        """The word dropout of every field that has one: in training, some rare words are replaced by <unk>."""
        return {}

    def loss_weights(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        """(B,), the weights of rows in the training loss of every field that has any. Evaluation does not use them."""
        return {}

    def step_weights(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        """(B, T), for each target with steps that do not count, in training and evaluation: 0 where one is unknown."""
        return {}

    def times(self, field: str, split: Split, rows: RowNumbers, steps: int) -> list[list[str]] | None:
        """The times of the first ``steps`` steps of a field in these rows, as texts; None where they have none."""
        return None

    def unscaled(self, field: str, values: Tensor) -> Tensor:
        """The numbers (..., D) of a signal in the original units of the data."""
        return values

    def inputs(self) -> list[Path] | None:
        """All files that the data is read from; None where they are not known, so that nothing is kept between runs."""
        return None

    def open(self) -> None:  # noqa: B027 - most generated data has nothing to learn
        """Learn vocabularies and scales from the training split. Bad input is an Invalid or a UserError."""

    def check_files(self) -> None:  # noqa: B027 - generated data has none
        """Raise the errors of ``open`` that concern the files and their columns, without learning."""

    def state(self) -> dict[str, Any]:
        """The vocabularies and scales that were learned, as plain data for the checkpoint."""
        return {}

    def trained_file(self) -> TrainedFile | None:
        """How the first file of the training is written, for later files that may lack the targets; None: no need."""
        return None

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        """Take vocabularies and scales from ``state`` instead of learning them from the files.

        fields: read all rows of the user's files, in order, into the split ``every_row``, and only these fields, so
            that other fields may be missing from the files. None reads all fields and divides the rows into splits
        """
        check_state(state, ())


class ReadLate(UserError):
    """An Invalid that was raised too late for its place in the config, as a sentence that names its key."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(f"data.{parameter}: {message}")
        self.parameter, self.message = parameter, message


@contextmanager
def read_late() -> Iterator[None]:
    """Turn an Invalid into a ReadLate while files are read after ``load_source``.

    ``load_source`` adds the place in the config to an Invalid. This place is missing from an Invalid that is raised
    later, for example where a source was restored from a checkpoint and its file no longer exists.
    """
    try:
        yield
    except Invalid as error:
        raise ReadLate(error.parameter, error.message) from error


def check_state(state: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise a UserError unless a state has exactly these names."""
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
    new_files: NewFiles = NewFiles(),  # noqa: B008 - frozen
) -> Source:
    """Build the source of a config's ``data`` section and open it, or restore it from a state.

    fields: with a state, the fields to read; see ``Source.restore``
    new_files: with fields, what is known of the files
    """
    assert fields is None or state is not None, "a source learns from all its fields"
    built: Source = bind_entry("data", config, locate)()
    built.section, built.new_files = config, new_files
    try:
        if state is None:
            built.open()
        else:
            built.restore(state, fields)
    except Invalid as error:
        raise ConfigError([error.problem("data")], locate) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if state is None:
            raise
        kind = config.get("type")
        raise UserError(f"what was saved of the data does not fit data.type={kind}: {error!r}.") from error
    return built
