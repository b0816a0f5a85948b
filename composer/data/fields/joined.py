"""Several texts as one sequence, each with a tokeniser of its own."""

from __future__ import annotations

from typing import Any

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.codecs.joined_codec import JoinedCodec
from composer.data.fields.field_type import Cell, Cells, Declared, FieldKeys, FieldType
from composer.data.fields.text_field import Text
from composer.data.fields.words import Words


@register("field", "joined")
class Joined(FieldType):
    """The tokens of several fields of type text or words, one field after the other, ended by <eos>.

    parts: the fields, by names of their own: letters of a lemma, then its features as whole tags
    separator: stands between the parts of a text that is typed or shown
    """

    def __init__(self, key: FieldKeys, *, parts: dict[str, Declared], separator: str = " | ") -> None:
        if not parts:
            raise Invalid(key("parts"), "is empty. Name each part with its type and column.")
        if not separator:
            raise Invalid(key("separator"), "is empty. Name what stands between two parts, e.g. ' | '.")
        self.parts: dict[str, Text | Words] = {}
        for name, make in parts.items():
            part = make(FieldKeys(key(f"parts.{name}.")))
            if not isinstance(part, Text | Words):
                raise Invalid(key(f"parts.{name}.type"), "a part is of type text or words.")
            option = "shares" if isinstance(part, Text) else "along"
            if getattr(part, option) is not None:
                raise Invalid(part.key(option), "has no effect: the vocabulary and the steps of a part are its own.")
            if isinstance(part, Text) and part.grouped:
                raise Invalid(part.key("references"), "has no effect in a part: only a field has references.")
            self.parts[name] = part
        super().__init__(key, {}, JoinedCodec({name: part.codec for name, part in self.parts.items()}, separator))
        self.separator = separator

    def value(self, cells: Cells) -> dict[str, Any]:
        def own(name: str) -> Cells:
            inside = f"{name}."
            mine = {k.removeprefix(inside): cell for k, cell in cells.cells.items() if k.startswith(inside)}
            return Cells(cells.record, mine)

        return {name: part.value(own(name)) for name, part in self.parts.items()}

    def written(self, value: Any) -> str:
        return self.separator.join(part.typed(value[name]) for name, part in self.parts.items())

    def cells(self, name: str) -> dict[str, list[Cell]]:
        return {
            f"{part}.{parameter}": cells
            for part, field in self.parts.items()
            for parameter, cells in field.cells(f"{name}.{part}").items()
        }
