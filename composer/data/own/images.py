"""Pictures with a class: one folder for each class, or one array of all pictures (.npy) with an array of labels."""

from __future__ import annotations

from functools import partial

from composer.core.block import Positive
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.fields.class_fields import Class
from composer.data.fields.field_type import FieldKeys
from composer.data.fields.image import Form, ImageType
from composer.data.file_keys import FileKeys, reads_files
from composer.data.file_source import FileSource, MakeReader
from composer.data.files.lines import find_files
from composer.data.files.name_pattern import NamePattern
from composer.data.tables.readers import PICTURES, FilePerExample, PictureArrays


@register("data", "images")
@reads_files("split_by", "seed")
def images(
    files: FileKeys,
    *,
    labels: str | None = None,
    label: str = "auto",
    pattern: str | None = None,
    form: Form = "image",
    colour: bool = True,
    size: list[Positive] | None = None,
) -> FileSource:
    """source: the picture, as pixels or as a sequence of its rows; target: its class."""
    if labels is not None and (isinstance(files.valid, str) or isinstance(files.test, str)):
        raise Invalid("labels", "one array of labels goes with shares: give valid and test as numbers.")
    named = None if pattern is None else NamePattern(pattern)
    fields = {
        "source": ImageType(FieldKeys(), column="file", form=form, colour=colour, size=size),
        "target": Class(FieldKeys(column="label"), column=label),
    }
    reader: MakeReader = partial(FilePerExample, files=lambda: source.parts.files["train"], pattern=named)
    if labels is not None:
        reader = partial(PictureArrays, labels=labels)
    source: FileSource = FileSource(fields, reader, files, partial(find_files, suffixes=PICTURES))
    return source
