"""The protocol of a field type: the columns that a field reads, how cells become a value, and the codec of values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from composer.core.block import Section
from composer.data.codecs.codec import Codec
from composer.data.files.bad_rows import BadRow, MissingValue
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
        cell = self.cells[parameter][0]
        return text(self.record, cell.name, cell.column)

    def texts(self, parameter: str = "columns") -> list[str]:
        return [text(self.record, cell.name, cell.column) for cell in self.cells[parameter]]

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
        return text(self.record, cell.name, cell.column)

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
        held = repr(self.record.values[cell.name])
        shown = held if len(held) <= 60 else held[:57] + "..."
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

    def join(self, name: str, fields: Mapping[str, FieldType]) -> None:  # noqa: B027 - most fields stand alone
        """Check and take over what this field, ``name``, shares with other fields of the table."""

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
