"""A sequence that is already cut into words, and a tag for every word of such a sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from composer.core.block import Positive, Range
from composer.core.problems import Invalid, did_you_mean, listed
from composer.core.registry import register
from composer.data.codecs.words_codec import WordsCodec
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.files.bad_rows import BadRow
from composer.data.tables.table import Column


class AlongWords(FieldType):
    """A field of one piece for every word of another field.

    along: the field of words; None: the pieces are words themselves, with a time axis of their own
    """

    along: str | None

    #: Stands between the pieces of a text; None: white space.
    separator: str | None = None

    #: What the pieces are called in messages.
    pieces = "words"

    def value(self, cells: Cells) -> list[str]:
        words = cells.words(self.separator)
        if not words:
            raise cells.problem("which has no word. Fill the cell, or remove the row.")
        return words

    def join(self, name: str, fields: Mapping[str, FieldType]) -> None:
        """Check that the other field is one of words that have a time axis of their own."""
        self.name = name
        words = [n for n, other in fields.items() if isinstance(other, Words) and other.along is None and n != name]
        if self.along is not None and self.along not in words:
            hint = did_you_mean(self.along, words)
            message = f"'{self.along}' is no field of words.{hint}  (such fields: {listed(words) or 'none'})"
            raise Invalid(self.key("along"), message)

    def check(self, values: Mapping[str, Any], place: str) -> None:
        """Check that a record has one piece for every word."""
        if self.along is None or self.name not in values or self.along not in values:
            return
        own, words = len(values[self.name]), len(values[self.along])
        if own != words:
            raise BadRow(
                f"{place}: '{self.name}' has {own} {self.pieces} for the {words} words of '{self.along}'. "
                f"Write one {self.pieces.removesuffix('s')} for every word, with white space between."
            )


@register("field", "words")
class Words(AlongWords):
    """Words as a list, or as a text with white space between them: one id each, and no <eos>.

    separator: stands between the words instead of white space: ';' in V;PST;3;SG
    vocabulary: the most frequent words, this many at most; other words are <unk>. None: all
    unknown: word dropout: a word seen n times becomes unknown with chance a / (a + n); 0: off
    shapes: encode unknown words by case and ending, e.g. <unk:aa-ing>, if training has enough such words
    specials: more special tokens, e.g. ['[MASK]']
    along: another field of as many words, so that one graph can read both step by step: the same column with another
        vocabulary, or a column of lemmas
    """

    codec: WordsCodec

    def __init__(
        self,
        key: FieldKeys,
        *,
        column: Column,
        separator: str | None = None,
        vocabulary: Positive | None = 20000,
        lowercase: bool = False,
        unknown: Annotated[float, Range(low=0)] = 0.25,
        shapes: bool = True,
        specials: list[str] | None = None,
        along: str | None = None,
    ) -> None:
        if separator == "":
            raise Invalid(key("separator"), "is empty. Name what stands between two words, or null for white space.")
        extra = specials or []
        if len({"<unk>", *extra}) != len(extra) + 1:
            raise Invalid(key("specials"), "names a token twice, or <unk>, which is there anyway.")
        codec = WordsCodec(
            specials=("<unk>", *extra), vocabulary=vocabulary, lowercase=lowercase, shapes=shapes, unknown=unknown,
            axis=along, separator=separator,
        )  # fmt: skip
        super().__init__(key, {"column": column}, codec)
        self.along, self.separator = along, separator

    def typed(self, value: list[str]) -> str:
        """A value as a person types it."""
        return (self.separator or " ").join(value)


@register("field", "tags")
class Tags(AlongWords):
    """A tag for every word of another field, as a list or as a text. A tag outside the training split is an error.

    along: the field of words
    """

    pieces = "tags"

    def __init__(self, key: FieldKeys, *, column: Column, along: str) -> None:
        self.along = along
        super().__init__(key, {"column": column}, WordsCodec(axis=along, what="tag", column=column))
