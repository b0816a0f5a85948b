"""A sequence that is already cut into words, and a tag for every word of such a sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from composer.core.block import Positive, Range
from composer.core.problems import Invalid, did_you_mean, listed
from composer.core.registry import register
from composer.data.bad_rows import BadRow
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.tables import Column
from composer.data.words import WordsCodec


@register("field", "words")
class Words(FieldType):
    """Words as a list, or as a text with white space between them: one id each, and no <eos>.

    vocabulary: the most frequent words, this many at most; other words are <unk>. None: all
    unknown: word dropout: a word seen n times becomes unknown with chance a / (a + n); 0: off
    shapes: encode unknown words by case and ending, e.g. <unk:aa-ing>, if training has enough such words
    specials: more special tokens, e.g. ['[MASK]']
    """

    def __init__(
        self,
        key: FieldKeys,
        *,
        column: Column,
        vocabulary: Positive | None = 20000,
        lowercase: bool = False,
        unknown: Annotated[float, Range(low=0)] = 0.25,
        shapes: bool = True,
        specials: list[str] | None = None,
    ) -> None:
        extra = specials or []
        if len({"<unk>", *extra}) != len(extra) + 1:
            raise Invalid(key("specials"), "names a token twice, or <unk>, which is there anyway.")
        codec = WordsCodec(
            specials=("<unk>", *extra), vocabulary=vocabulary, lowercase=lowercase, shapes=shapes, unknown=unknown
        )
        super().__init__(key, {"column": column}, codec)

    def value(self, cells: Cells) -> list[str]:
        return word_list(cells)


@register("field", "tags")
class Tags(FieldType):
    """A tag for every word of another field, as a list or as a text. A tag outside the training split is an error.

    along: the field of words
    """

    def __init__(self, key: FieldKeys, *, column: Column, along: str) -> None:
        self.along = along
        super().__init__(key, {"column": column}, WordsCodec(axis=along, what="tag", column=column))

    def value(self, cells: Cells) -> list[str]:
        return word_list(cells)

    def join(self, name: str, fields: Mapping[str, FieldType]) -> None:
        self.name = name
        words = [n for n, field in fields.items() if isinstance(field, Words)]
        if self.along not in words:
            hint = did_you_mean(self.along, words)
            message = f"'{self.along}' is no field of words.{hint}  (such fields: {listed(words) or 'none'})"
            raise Invalid(self.key("along"), message)

    def check(self, values: Mapping[str, Any], place: str) -> None:
        if self.name in values and self.along in values:
            tags, words = len(values[self.name]), len(values[self.along])
            if tags != words:
                raise BadRow(
                    f"{place}: '{self.name}' has {tags} tags for the {words} words of '{self.along}'. "
                    "Write one tag for every word, with white space between."
                )


def word_list(cells: Cells) -> list[str]:
    value = cells.value()
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        words = list(value)
    else:
        words = cells.text().split()
    if not words:
        raise cells.problem("which has no word. Fill the cell, or remove the row.")
    return words
