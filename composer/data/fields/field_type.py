"""The protocol of a field type: the columns that a field reads, how cells become a value, and the codec of values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from torch import Tensor

from composer.core.block import Section
from composer.core.problems import Invalid, did_you_mean, listed
from composer.data.codecs.codec import Codec, Reread
from composer.data.codecs.words_codec import split_words
from composer.data.files.bad_rows import BadRow, MissingValue
from composer.data.packed.packed_rows import PackedRows
from composer.data.tables.table import Column, Columns, TableRow, missing, number, text


class FieldKeys:
    """The keys of the YAML that set the parameters of a field, for messages.

    A preset such as ``pairs`` has keys of its own, so they may be ``renamed``: ``column`` is called ``label`` there.
    """

    def __init__(self, prefix: str = "", **renamed: str) -> None:
        self.prefix, self.renamed = prefix, renamed

    def __call__(self, parameter: str) -> str:
        return self.prefix + self.renamed.get(parameter, parameter)


class Cell(NamedTuple):
    """A column that a field reads: its name in a record, its name or number in the file, and its key in the YAML."""

    name: str
    column: Column
    key: str


class Cells(NamedTuple):
    """The cells of one record that a field reads, by the parameters that name their columns."""

    record: TableRow
    cells: Mapping[str, list[Cell]]

    def values(self, parameter: str = "columns") -> list[Any]:
        """The cells as they are in the file: texts in CSV and TSV, any value in JSON and Parquet."""
        return [self.record.values[cell.name] for cell in self.cells[parameter]]

    def value(self, parameter: str = "column") -> Any:
        return self.record.values[self.cells[parameter][0].name]

    def text(self, parameter: str = "column") -> str:
        return self.texts(parameter)[0]

    def texts(self, parameter: str = "columns") -> list[str]:
        return [text(self.record, cell.name, cell.column) for cell in self.cells[parameter]]

    def words(self, separator: str | None) -> list[str]:
        """The words of a list, or those of a text, with the separator or white space between them."""
        value = self.value()
        if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
            return list(value)
        return split_words(self.text(), separator)

    def number(self, parameter: str = "column") -> float:
        return self.numbers(parameter)[0]

    def numbers(self, parameter: str = "columns", *, fill: bool | None = None) -> list[float]:
        """
        fill: whether a missing number is NaN, for the codec; otherwise it is an error. None: the field cannot fill it
        """
        todo = "Mend the cell." if fill is None else "Mend the cell; fill=mean fills in missing inputs."
        return [
            math.nan if fill and missing(self.record, cell.name) else number(self.record, cell.name, cell.column, todo)
            for cell in self.cells[parameter]
        ]

    def label(self, parameter: str = "column") -> str:
        """The name of a class."""
        cell = self.cells[parameter][0]
        value = self.record.values[cell.name]
        if self.record.numerals.missing_label(value):
            where = f"{self.record.place}: column '{cell.column}'"
            todo = "Mend the cell; if that is a class, set data.missing=[]." if value else "Mend the cell."
            raise MissingValue(f"{where} holds {value!r}: the label is missing. {todo}")
        return self.text(parameter)

    def file(self, parameter: str = "column") -> Path:
        """The file that a cell names, relative to the folder of the table."""
        value = self.value(parameter)
        if isinstance(value, Path):
            return value
        path = self.record.file.parent / Path(self.text(parameter)).expanduser()
        try:
            if not path.is_file():
                raise self.problem(f"and there is no file '{path}'. Correct the path, or remove the row.", parameter)
        except OSError as error:
            raise self.problem(f"and '{path}' cannot be read: {error.strerror}.", parameter) from error
        return path

    def problem(self, message: str, parameter: str = "column") -> BadRow:
        """The error for a cell that cannot be used. ``message`` goes on after "holds ...,"."""
        cell = self.cells[parameter][0]
        value = repr(self.record.values[cell.name])
        shown = value if len(value) <= 60 else value[:57] + "..."
        return BadRow(f"{self.record.place}: column '{cell.column}' holds {shown}, {message}")


class FieldType(ABC):
    """A field of a table. The constructor reads no file.

    key: the keys of the YAML, for messages. It is the only positional parameter of a subclass; the keyword parameters
        of a subclass are the keys of the YAML
    columns: the column or columns that each parameter names; None where the parameter is not set
    codec: turns the values of the field into tensors
    """

    #: The head that predicts such a field, where nobody has chosen one; None: the default of the config.
    head: ClassVar[str | None] = None

    #: Whether cells name files that are read for the field. Such a table is not kept between runs.
    reads_files: bool = False

    #: Whether the column is another field's by design, which is then not remarked on.
    shares_column: bool = False

    #: Another field whose vocabulary this field uses, and which learns from the values of both; None: its own.
    shares: str | None = None

    #: Whether held-out rows that are equal in all other fields are one row, which holds the values of all (references).
    grouped: bool = False

    def __init__(self, key: FieldKeys, columns: Mapping[str, Column | Columns | None], codec: Codec) -> None:
        self.key, self.columns, self.codec = key, columns, codec

    @abstractmethod
    def value(self, cells: Cells) -> Any:
        """The value of a record, for the codec. A cell that cannot be used is a BadRow with its place."""

    def recognise(self, cell: str) -> bool | None:
        """Whether a cell may be one of this field's, after training; None: that cannot be told from a cell."""
        return None

    def written(self, value: Any) -> Any:
        """A value as plain data for JSON, as a person would write it."""
        return value

    def companions(self, name: str) -> dict[str, FieldType]:
        """Further fields that this field, ``name``, needs to be read with it."""
        return {}

    def join(self, name: str, fields: Mapping[str, FieldType]) -> None:
        """Check and take over what this field, ``name``, shares with other fields of the table."""
        if self.shares is not None and (self.shares not in fields or fields[self.shares].shares is not None):
            others = [other for other, field in fields.items() if other != name and field.shares is None]
            message = f"'{self.shares}' is no field with a vocabulary of its own.{did_you_mean(self.shares, others)}"
            raise Invalid(self.key("shares"), f"{message}  (such fields: {listed(others)})")

    def learn(self, values: Reread, sharing: Sequence[tuple[FieldType, Reread]]) -> None:
        """Learn from the values of the training split, before the other fields take over the vocabulary.

        sharing: the fields that use the vocabulary of this field, with their values. A type whose vocabulary can be
            shared learns from all of them, and gives it to each by ``adopt``
        """
        self.codec.learn(values)
        for field, others in sharing:
            field.adopt(self, others)

    def adopt(self, owner: FieldType, values: Reread) -> None:
        """Take over what ``owner``, the field whose vocabulary this field uses, has learned from the values of both."""
        raise NotImplementedError(f"a field of type {type(self).__name__} takes over no vocabulary")

    def check_learned(self, fields: Mapping[str, FieldType], rows: int, values: Reread) -> None:  # noqa: B027
        """Check what this field has learned beside the other fields of the table.

        rows: the number of training rows
        values: of this field in the training split
        """

    def loss_weights(self, name: str, packed: Mapping[str, PackedRows], rows: Tensor) -> Tensor | None:
        """(B,), the weights of these rows in the training loss of this field, ``name``; None: every row weighs 1.

        packed: the packed rows of all fields
        """
        return None

    def check(self, values: Mapping[str, Any], place: str) -> None:  # noqa: B027 - most values stand alone
        """Check the values of a record, by field, where those of this field depend on others."""

    def cells(self, name: str) -> dict[str, list[Cell]]:
        """The columns of this field, ``name``, by the parameters that name them."""
        return {
            parameter: [
                Cell(f"{name}.{parameter}.{i}", column, self.key(parameter))
                for i, column in enumerate(columns if isinstance(columns, list) else [columns])
            ]
            for parameter, columns in self.columns.items()
            if columns is not None
        }


#: A declared field, without the keys under which the YAML declares it.
Declared = Annotated[Callable[[FieldKeys], FieldType], Section("field")]
