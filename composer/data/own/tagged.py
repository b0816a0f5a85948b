"""Sentences with a tag for every word, in columns: CoNLL (spaces or tabs, blank lines between sentences) or CoNLL-U."""

from __future__ import annotations

from typing import Annotated

from composer.core.block import Positive, Range
from composer.core.registry import register
from composer.data.fields.characters import Characters, CharactersOfWords
from composer.data.fields.field_type import FieldKeys, FieldType
from composer.data.fields.words import Tags, Words
from composer.data.file_keys import FileKeys, reads_files
from composer.data.file_source import FileSource
from composer.data.tables.readers import Conll


@register("data", "tagged")
@reads_files("encoding", "seed")
def tagged(
    files: FileKeys,
    *,
    words: Positive | None = None,
    tags: Positive | None = None,
    vocabulary: Positive | None = 20000,
    lowercase: bool = False,
    unknown: Annotated[float, Range(low=0)] = 0.25,
    shapes: bool = True,
    characters: Characters | None = None,
    specials: list[str] | None = None,
) -> FileSource:
    """source: the words; target: their tags, along the same time axis. A tag outside the training split is an error.

    characters: the most characters of a word in the field ``characters``; None for no such field
    """
    fields: dict[str, FieldType] = {
        "source": Words(
            FieldKeys(column="words"), column=words or "words", vocabulary=vocabulary, lowercase=lowercase,
            unknown=unknown, shapes=shapes, specials=specials,
        ),
        "target": Tags(FieldKeys(column="tags"), column=tags or "tags", along="source"),
    }  # fmt: skip
    if characters is not None:
        keys = FieldKeys(column="words", length="characters")
        fields["characters"] = CharactersOfWords(keys, column=words or "words", along="source", length=characters)
    return FileSource(fields, Conll, files)
