"""Texts or numbers with a class or a value: a table, or one text file for each class with an example on every line."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.fields.class_fields import Class, ClassWeight
from composer.data.fields.field_type import FieldKeys, FieldType
from composer.data.fields.number_fields import Fill, Number, Sequence, Vector
from composer.data.fields.text_field import Text
from composer.data.file_keys import NUMBERS, FileKeys, reads_files
from composer.data.file_source import FileSource
from composer.data.files.lines import find_files, kind_of
from composer.data.tables.readers import TABLES, ByFile, TextFilePerClass
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column, Columns, Reader, Table
from composer.data.tokenisers.tokeniser import Tokenising


@register("data", "labelled")
@reads_files(*NUMBERS)
def labelled(
    files: FileKeys,
    *,
    input: Literal["text", "vector", "sequence"] = "text",
    columns: Columns = [1],  # noqa: B006 - never changed
    separator: str = " ",
    output: Literal["class", "value"] = "class",
    label: Column = 2,
    weight: ClassWeight | None = None,
    tokeniser: Tokenising = Tokenising(type="auto"),  # noqa: B008 - frozen
    normalise: bool = True,
    fill: Fill = None,
    reverse_source: bool = False,
) -> FileSource:
    """source: a text, or the numbers of some columns; target: its class (label) or its value (vec)."""
    key, label_key = FieldKeys(column="columns"), FieldKeys(column="label")
    if fill is not None and input == "text":
        raise Invalid("fill", "has no effect on a text: it stands for missing numbers. Leave it out.")
    given: FieldType
    match input:
        case "text":
            given = Text(key, columns=columns, separator=separator, tokeniser=tokeniser, reverse=reverse_source)
        case "vector":
            given = Vector(key, columns=columns, normalise=normalise, fill=fill)
        case "sequence":
            given = Sequence(key, columns=columns, normalise=normalise, fill=fill)
    if weight is not None and output == "value":
        raise Invalid("weight", "has no effect on a value: it weighs classes. Leave it out.")
    target: FieldType = (
        Class(label_key, column=label, weight=weight)
        if output == "class"
        else Number(label_key, column=label, normalise=normalise)
    )

    def choose(file: Path) -> str:
        """A table; any other file holds texts of one class, unless its lines are cut into cells."""
        if kind_of(file) in TABLES or _cut(file, files):
            return "table"
        if input != "text" or output != "class":
            raise Invalid("path", f"'{file}' is no table ({', '.join(TABLES)}), so it holds texts of one class.")
        return "class"

    def reader(columns: dict[str, Column], keys: dict[str, str], reading: Reading) -> Reader:
        names = {"columns": "line", "label": "class"}
        lines: dict[str, Column] = {name: names[keys[name]] for name in columns if keys[name] in names}
        texts = TextFilePerClass(lines, keys, reading, path=files.path)
        return ByFile(readers={"table": Table(columns, keys, reading), "class": texts}, choose=choose)

    return FileSource({"source": given, "target": target}, reader, files)


def _cut(file: Path, files: FileKeys) -> bool:
    """Whether the training, the config or the first part of the file says that its lines hold several cells."""
    if files.new_files.trained is not None:
        return files.new_files.trained.delimiter is not None
    if len(find_files(files.path)) > 1:
        return False
    return files.delimiter is not None or files.layout(file).width > 1
