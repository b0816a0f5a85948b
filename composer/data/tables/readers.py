"""Readers: how a file becomes records. Tables are read in table.py, files of other kinds here.

A reader is made of the columns that are wanted, and gives their cells under names of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

from composer.core.problems import Invalid, did_you_mean, listed
from composer.data.files.arrays import load_array
from composer.data.files.bad_rows import BadRow
from composer.data.files.lines import Line, bare, find_files, kind_of
from composer.data.files.name_pattern import NamePattern
from composer.data.files.new_files import Recognise, TrainedFile
from composer.data.tables.table import Column, Reader, TableRow

#: The suffixes of tables.
TABLES = ("csv", "tsv", "jsonl", "ndjson", "json", "parquet")

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".npy")
SOUNDS = (".wav",)


@dataclass(frozen=True)
class Conll(Reader):
    """Sentences in columns: CoNLL (spaces or tabs, blank lines between sentences) or CoNLL-U. A cell is a list.

    A column is a number, or 'words' or 'tags' for the usual ones: 2 and 4 in a .conllu file, otherwise the first and
    the last.
    """

    def read(self, path: Path) -> Iterator[TableRow]:
        universal = kind_of(path) == "conllu"
        width = 0  # of the first word
        for words in _sentences(self.reading.lines(path), universal):
            if not width:
                width = len(words[0][1])
                for name, place in _usual_columns(universal, width).items():
                    self.reading.named(place, name)
            try:
                picked = [self._pick(cells, path, number, universal, width) for number, cells in words]
            except BadRow as error:
                self.reading.bad.met(error)
                continue
            cells = map(list, zip(*picked, strict=True))  # of every column, of all words
            yield TableRow(path, words[0][0], dict(zip(self.columns, cells, strict=True)))

    def _pick(self, cells: list[str], path: Path, number: int, universal: bool, width: int) -> list[str]:
        usual = _usual_columns(universal, width)
        picked = []
        if not universal and "tags" in self.columns.values() and len(cells) != width:
            message = f"{path}:{number}: has {len(cells)} columns, but the first word has {width}."
            raise BadRow(f"{message} Mend the line, or say which column has the tags, e.g. data.tags=2.")
        for name, column in self.columns.items():
            place = column if isinstance(column, int) else usual.get(column)
            if place is None:
                raise self.wrong(name, f"'{path}' has numbers, not names, for its columns; '{column}' is none.")
            if not 1 <= place <= len(cells):
                key = self.keys[name]
                message = f"{path}:{number}: has {len(cells)} columns, so there is no column {place} ({key})."
                raise BadRow(f"{message} Give another number, e.g. data.{key}={len(cells)}, or mend the line.")
            picked.append(cells[place - 1])
        return picked


def _usual_columns(universal: bool, width: int) -> dict[str, int]:
    return {"words": 2, "tags": 4} if universal else {"words": 1, "tags": width}


def _sentences(lines: Iterator[Line], universal: bool) -> Iterator[list[tuple[int, list[str]]]]:
    """The words of every sentence: the number and the cells of each line.

    A line that begins with # is a comment in CoNLL-U. Elsewhere it is one if it stands before a sentence whose other
    lines have another number of cells; otherwise # is a word.
    """
    sentence: list[tuple[int, list[str]]] = []
    for line in chain(lines, [Line(0, "")]):
        if line.text.strip():
            cells = _conll_cells(line, universal)
            if cells is not None:
                sentence.append((line.number, cells))
        elif sentence:
            width = len(sentence[-1][1])
            while not universal and sentence[0][1][0].startswith("#") and len(sentence[0][1]) != width:
                sentence.pop(0)
            yield sentence
            sentence = []


def _conll_cells(line: Line, universal: bool) -> list[str] | None:
    """The columns of a word; None for a line that is not a word: comments, multiword tokens, empty nodes."""
    if universal:
        cells = line.text.split("\t")
        return None if line.text.startswith("#") or "-" in cells[0] or "." in cells[0] else cells
    cells = line.text.split()
    return None if cells[0] == "-DOCSTART-" else cells


@dataclass(frozen=True, kw_only=True)
class FilePerExample(Reader):
    """Every file is an example, such as a picture or a recording.

    The columns: 'file' (the path), 'folder' (the name of its folder), 'name' (its own name up to the first "_"), and
    'auto': the folder, unless all files are in the same folder. A pattern adds a column for each of its parts.

    files: returns all files, for 'auto'
    """

    files: Callable[[], list[Path]]
    pattern: NamePattern | None = None

    def read(self, path: Path) -> Iterator[TableRow]:
        try:
            parts = self.pattern.parts(path) if self.pattern else {}
        except BadRow as error:
            self.reading.bad.met(error)
            return
        yield TableRow(path, 0, {name: self._cell(name, column, path, parts) for name, column in self.columns.items()})

    @cached_property
    def _usual(self) -> str:
        """The column that 'auto' stands for, which is found once for all files."""
        usual = "folder" if len({file.resolve().parent for file in self.files()}) > 1 else "name"
        self.reading.named("auto", usual)
        return usual

    def _cell(self, name: str, column: Column, path: Path, parts: dict[str, str]) -> Any:
        if column == "auto":
            column = self._usual
        cells = {"file": path, "folder": path.resolve().parent.name, "name": path.stem.partition("_")[0]} | parts
        if column not in cells:
            hint = did_you_mean(column, cells)
            raise self.wrong(name, f"a file has no column '{column}'.{hint}  (has: {listed(cells)}, auto)")
        return cells[str(column)]


@dataclass(frozen=True, kw_only=True)
class PictureArrays(Reader):
    """One array of pictures, and one array of their labels. The columns: 'file' and any other, which is the label."""

    labels: str

    @property
    def _labelled(self) -> bool:
        return any(column != "file" for column in self.columns.values())

    def beside(self, path: Path) -> list[Path]:
        return find_files(self.labels, "labels") if self._labelled else []

    def read(self, path: Path) -> Iterator[TableRow]:
        pictures = load_array(path)
        labels = None
        if self._labelled:
            labels = load_array(find_files(self.labels, "labels")[0])
            if len(pictures) != len(labels):
                message = f"'{self.labels}' has {len(labels)} labels for the {len(pictures)} pictures of '{path}'."
                raise Invalid("labels", message)
        for row in range(len(pictures)):
            cells = {
                name: (path, pictures[row]) if column == "file" else str(labels[row])  # type: ignore[index]
                for name, column in self.columns.items()
            }
            yield TableRow(path, row + 1, cells)


@dataclass(frozen=True, kw_only=True)
class TextFilePerClass(Reader):
    """Text files, each of one class, with an example on every line. The columns: 'line' and 'class'.

    path: the path of all files
    """

    path: str | None

    def trained(self, path: Path) -> TrainedFile:
        return TrainedFile(kind_of(path), None, 1, None, dict(self.columns))

    def read(self, path: Path) -> Iterator[TableRow]:
        name = self._class_of(path) if "class" in self.columns.values() else None
        for line in self.reading.lines(path):
            if line.text.strip():
                cells = {own: line.text if column == "line" else name for own, column in self.columns.items()}
                yield TableRow(path, line.number, cells)

    def _class_of(self, path: Path) -> str:
        """The class of a text file: its name, or its suffix where all names are equal (rt-polarity.pos, .neg)."""
        files = find_files(self.path)
        if len(files) < 2:
            only = f"'{path}' is no table ({', '.join(TABLES)}), so it is the file of one class, and there is no other."
            raise Invalid("path", f"{only} Name a folder or a pattern, e.g. data.path='names/*.txt'.")
        alike = {bare(other).stem for other in files}
        return bare(path).suffix[1:] if len(alike) == 1 else bare(path).stem


@dataclass(frozen=True, kw_only=True)
class ByFile(Reader):
    """A reader for each file: the one that ``choose`` returns."""

    readers: Mapping[str, Reader]
    choose: Callable[[Path], str]

    def read(self, path: Path) -> Iterator[TableRow]:
        return self.readers[self.choose(path)].read(path)

    def beside(self, path: Path) -> list[Path]:
        return self.readers[self.choose(path)].beside(path)

    def without(self, names: Mapping[str, Recognise]) -> Self:
        return replace(self, readers={kind: reader.without(names) for kind, reader in self.readers.items()})

    def trained(self, path: Path) -> TrainedFile | None:
        return self.readers[self.choose(path)].trained(path)
