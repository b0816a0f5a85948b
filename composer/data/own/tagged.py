"""Sentences with a tag for every word, in columns: CoNLL (spaces or tabs, blank lines between sentences) or CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from composer.core.block import Positive, Range
from composer.core.problems import Invalid, UserError
from composer.core.registry import register
from composer.data.file_source import FileSource
from composer.data.files import Line, check_encoding, kind_of, lines
from composer.data.splits import Share, Splits
from composer.data.tables import TableRow
from composer.data.words import Words


@register("data", "tagged")
class Tagged(FileSource):
    """source: the words; target: their tags, along the same time axis. A tag outside the training split is an error."""

    def __init__(
        self,
        *,
        path: str | None = None,
        words: Positive | None = None,
        tags: Positive | None = None,
        encoding: str = "utf-8",
        valid: Share = 0.1,
        test: Share = 0.0,
        seed: int = 0,
        vocabulary: Positive | None = 20000,
        lowercase: bool = False,
        unknown: Annotated[float, Range(low=0)] = 0.25,
        shapes: bool = True,
        specials: list[str] | None = None,
    ) -> None:
        check_encoding(encoding)
        extra = specials or []
        if len({"<unk>", *extra}) != len(extra) + 1:
            raise Invalid("specials", "names a token twice, or <unk>, which is there anyway.")
        self.words, self.tags, self.encoding = words, tags, encoding
        self.parts = Splits(self._read, path, valid, test, seed=seed)
        self.codecs = {
            "source": Words(
                specials=("<unk>", *extra), vocabulary=vocabulary, lowercase=lowercase, shapes=shapes, unknown=unknown
            ),
            "target": Words(axis="source", what="tag"),
        }

    def _read(self, path: Path) -> Iterator[TableRow]:
        universal = kind_of(path) == "conllu"
        sentence: list[tuple[str, str]] = []
        start = 0
        for line in lines(path, self.encoding):
            if line.text.strip():
                cells = self._cells(line, universal)
                if cells is not None:
                    sentence.append(self._pick(cells, path, line.number, universal))
                    start = start or line.number
            elif sentence:
                yield _record(path, start, sentence)
                sentence, start = [], 0
        if sentence:
            yield _record(path, start, sentence)

    def _cells(self, line: Line, universal: bool) -> list[str] | None:
        """The columns of a word; None for a line that is not a word: comments, multiword tokens, empty nodes."""
        if universal:
            cells = line.text.split("\t")
            return None if line.text.startswith("#") or "-" in cells[0] or "." in cells[0] else cells
        cells = line.text.split()
        return None if cells[0] == "-DOCSTART-" else cells

    def _pick(self, cells: list[str], path: Path, number: int, universal: bool) -> tuple[str, str]:
        word = self.words or (2 if universal else 1)
        tag = self.tags or (4 if universal else len(cells))
        wanted = [("words", word), *([("tags", tag)] if self.reads("target") else [])]
        for key, column in wanted:
            if column > len(cells):
                message = f"{path}:{number}: has {len(cells)} columns, so there is no column {column} ({key})."
                raise UserError(f"{message} Give another number, e.g. data.{key}={len(cells)}, or mend the line.")
        return cells[word - 1], cells[tag - 1] if self.reads("target") else ""


def _record(path: Path, line: int, sentence: list[tuple[str, str]]) -> TableRow:
    words, tags = zip(*sentence, strict=True)
    return TableRow(path, line, {"source": words, "target": tags})
