"""A folder of WAV files to be classified: speech commands, spoken digits, sounds."""

from __future__ import annotations

from functools import partial

from composer.core.block import Positive, Scale
from composer.core.registry import register
from composer.data.fields.audio import Audio
from composer.data.fields.classes import Class
from composer.data.fields.field_type import FieldKeys
from composer.data.file_source import FileSource
from composer.data.files.name_pattern import NamePattern
from composer.data.splits.splits import Share
from composer.data.tables.readers import SOUNDS, FilePerExample
from composer.data.tables.reading import Reading


@register("data", "audio")
def audio(
    *,
    path: str | None = None,
    label: str = "auto",
    pattern: str | None = None,
    bands: Positive = 40,
    window: Scale = 0.025,
    hop: Scale = 0.01,
    valid: Share = 0.1,
    test: Share = 0.0,
    split_by: str | None = None,
    skip_bad: bool = False,
    seed: int = 0,
) -> FileSource:
    """source: log-mel frames; target: the class."""
    reading = Reading(skip_bad=skip_bad)
    named = None if pattern is None else NamePattern(pattern)
    fields = {
        "source": Audio(FieldKeys(), column="file", bands=bands, window=window, hop=hop),
        "target": Class(FieldKeys(column="label"), column=label),
    }
    reader = partial(FilePerExample, files=lambda: source.parts.files["train"], reading=reading, pattern=named)
    source: FileSource = FileSource(
        fields, reader, path, valid, test, reading=reading, seed=seed, split_by=split_by, suffixes=SOUNDS
    )
    return source
