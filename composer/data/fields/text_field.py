"""A text, cut into tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from composer.core.problems import Invalid, did_you_mean, listed
from composer.core.registry import register
from composer.data.codecs.codec import Reread
from composer.data.codecs.text_codec import TextCodec
from composer.data.fields.class_fields import Class
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.tables.table import Column, Columns
from composer.data.tokenisers.tokeniser import Tokenising, TypeName

#: The number of rows from which it can be judged whether two columns are swapped.
ENOUGH = 20


@dataclass(frozen=True)
class AutoTokenising(Tokenising):
    """The settings of a tokeniser whose type is chosen for the texts, where none is named."""

    type: TypeName = "auto"


@register("field", "text")
class Text(FieldType):
    """Tokens of a text, ended by <eos>.

    columns: instead of one column, several whose texts are joined, with ``separator`` between them
    shares: another field of texts, whose tokeniser and vocabulary this field uses; it is learned from both
    reverse: whether the tokens are reversed (Sutskever et al., 2014)
    sentences: the tokeniser that the type ``auto`` takes for sentences: words suit a text that is classified, bpe a
        text that is generated
    references: 'grouped' makes held-out rows that are equal in all other fields one row, whose texts of this field are
        all right (several references)
    drop_words: whether word dropout replaces rare words by <unk> in training, unless the graph predicts the field
    """

    codec: TextCodec

    def __init__(
        self,
        key: FieldKeys,
        *,
        column: Column | None = None,
        columns: Columns | None = None,
        separator: str = " ",
        tokeniser: AutoTokenising | Tokenising | None = None,
        shares: str | None = None,
        reverse: bool = False,
        sentences: Literal["words", "bpe"] = "words",
        drop_words: bool = True,
        references: Literal["single", "grouped"] = "single",
    ) -> None:
        if shares is not None and tokeniser is not None:
            raise Invalid(key("tokeniser"), f"has no effect: the tokeniser is that of '{shares}'.")
        if (column is None) == (not columns):
            raise Invalid(key("column"), "name one column of texts, or several as columns, which are joined.")
        self.shares, self.separator, self.grouped = shares, separator, references == "grouped"
        options = tokeniser or AutoTokenising()
        codec = TextCodec(options, key=key("tokeniser"), reverse=reverse, given=drop_words, sentences=sentences)
        super().__init__(key, {"column": column, "columns": columns}, codec)

    def value(self, cells: Cells) -> str:
        return self.separator.join(cells.texts("columns" if "columns" in cells.cells else "column"))

    def typed(self, value: str) -> str:
        """A value as a person types it."""
        return value

    def join(self, name: str, fields: Mapping[str, FieldType]) -> None:
        others = [n for n, field in fields.items() if n != name and isinstance(field, Text) and field.grouped]
        if self.grouped and (others or len(fields) == 1):
            why = f"so has '{others[0]}'" if others else "there is no other field by which rows could be grouped"
            raise Invalid(self.key("references"), f"one field of a table can have grouped references, but {why}.")
        if self.shares is None:
            return
        texts = [n for n, field in fields.items() if isinstance(field, Text) and field.shares is None]
        if self.shares not in texts:
            hint = did_you_mean(self.shares, texts)
            message = f"'{self.shares}' is no text with a tokeniser of its own.{hint}  (such fields: {listed(texts)})"
            raise Invalid(self.key("shares"), message)
        other = fields[self.shares]
        assert isinstance(other, Text)
        self.codec.options = other.codec.options

    def learn(self, values: Reread, sharing: Sequence[tuple[FieldType, Reread]]) -> None:
        every = [values, *(others for _, others in sharing)]
        self.codec.adopt(self.codec.learn_tokeniser(lambda limit: chain.from_iterable(r(limit) for r in every)), values)
        for field, others in sharing:
            field.adopt(self, others)

    def adopt(self, owner: FieldType, values: Reread) -> None:
        assert isinstance(owner, Text)
        self.codec.adopt(owner.codec.tokeniser, values)

    def check_learned(self, fields: Mapping[str, FieldType], rows: int, values: Reread) -> None:
        for field in fields.values():
            if isinstance(field, Class):
                self._check_swapped(field, rows, values)

    def _check_swapped(self, label: Class, rows: int, texts: Reread) -> None:
        """Raise an Invalid where the columns of the texts and of a class look swapped: hardly a class comes twice, and
        few texts differ."""
        names = len(label.codec.names)
        if rows < ENOUGH or names <= rows / 2:
            return
        different = len(set(texts(None)))
        if different > min(100, rows / 10):
            return
        key, first = self.key("column"), next(iter(self.cells("text").values()))[0].column
        second = label.columns["column"]
        mended = f"[{second}]" if key == "columns" else second
        raise Invalid(
            label.key("column"),
            f"column {second} holds {names:,} different classes in {rows:,} rows, and column {first} only {different} "
            f"different texts: the columns look swapped. Set data.{key}={mended} data.{label.key('column')}={first}.",
        )
