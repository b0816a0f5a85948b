"""A folder of WAV files to be classified: speech commands, spoken digits, sounds."""

from __future__ import annotations

from functools import partial

from composer.core.block import Positive, Scale
from composer.core.registry import register
from composer.data.fields.audio_field import Audio
from composer.data.fields.class_fields import Class
from composer.data.fields.field_type import FieldKeys
from composer.data.file_keys import FileKeys, reads_files
from composer.data.file_source import FileSource
from composer.data.files.lines import find_files
from composer.data.files.name_pattern import NamePattern
from composer.data.tables.readers import SOUNDS, FilePerExample


@register("data", "audio")
@reads_files("split_by", "seed")
def audio(
    files: FileKeys,
    *,
    label: str = "auto",
    pattern: str | None = None,
    bands: Positive = 40,
    window: Scale = 0.025,
    hop: Scale = 0.01,
) -> FileSource:
    """source: log-mel frames; target: the class."""
    named = None if pattern is None else NamePattern(pattern)
    fields = {
        "source": Audio(FieldKeys(), column="file", bands=bands, window=window, hop=hop),
        "target": Class(FieldKeys(column="label"), column=label),
    }
    reader = partial(FilePerExample, files=lambda: source.parts.files["train"], pattern=named)
    source: FileSource = FileSource(fields, reader, files, partial(find_files, suffixes=SOUNDS))
    return source
