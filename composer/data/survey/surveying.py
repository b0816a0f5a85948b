"""Which files a path names, of what kind they are, and what their columns hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from composer.core.problems import Invalid, UserError
from composer.data.files import bare, find_files, kind_of, without_notes
from composer.data.layout import Numerals
from composer.data.layout.cutting import is_number
from composer.data.readers import PICTURES, SOUNDS, TABLES, Conll, FilePerExample, TextFilePerClass
from composer.data.reading import Reading
from composer.data.survey import splits
from composer.data.survey.columns import ColumnSummary, summarise
from composer.data.tables import Column, Table, TableRow

#: The number of rows that are looked at.
ROWS = 10000

#: Suffixes of parallel files, of which each is in a language.
LANGUAGES = frozenset(
    """ar bg bn cs da de el en es et fa fi fr gu he hi hr hu id it ja kk ko lt lv nl no pl pt ro ru sk sl sr sv ta te th
    tr uk ur vi zh src tgt trg""".split()  # noqa: SIM905 - more readable
)

Kind = Literal["table", "parallel", "tagged", "classes", "text", "recordings", "pictures", "word_vectors"]

#: Word vectors have at least this width.
WIDTH = 10


@dataclass
class Survey:
    """
    kind: table; parallel (two files, line by line); tagged (a line for each word); classes (a text file for each
        class); text (running text); recordings or pictures (a file for each); word_vectors (of word2vec or GloVe)
    files: the files of the path, without those of other splits
    valid, test: files of other splits
    rows: the number of rows that were looked at
    whole: whether these are all rows
    examples: the first rows, by column
    """

    path: str
    kind: Kind
    files: list[Path]
    reading: Reading
    valid: Path | None = None
    test: Path | None = None
    rows: int = 0
    whole: bool = True
    columns: list[ColumnSummary] = field(default_factory=list)
    examples: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def first(self) -> Path:
        return self.files[0]


def survey(path: str) -> Survey:
    """Look at the files of a path: a file, a folder or a glob pattern."""
    try:
        files = find_files(path)
    except Invalid as error:
        raise UserError(error.message) from error
    files = without_notes(files)
    found = Survey(path, "table", files, Reading(skip_bad=True))
    divided = splits.of_splits(files) or ({"train": files[0], **splits.beside(files[0])} if len(files) == 1 else None)
    if divided:
        found.files, found.valid, found.test = [divided["train"]], divided.get("valid"), divided.get("test")
    found.kind = _kind(found)
    columns, read = _reader(found)
    _read(found, columns, read)
    found.notes += found.reading.remarks
    return found


def _kind(found: Survey) -> Kind:
    suffixes = {file.suffix.lower() for file in found.files}
    if suffixes <= set(SOUNDS):
        return "recordings"
    if suffixes <= set(PICTURES):
        return "pictures"
    if kind_of(found.first) in ("conll", "conllu"):
        return "tagged"
    if partner(found) is not None:
        return "parallel"
    if kind_of(found.first) in TABLES:
        return "table"
    if _word_vectors(found):
        return "word_vectors"
    if len(found.files) > 1 and all(found.reading.layout(file).width == 1 for file in found.files[:3]):
        return "classes"
    if _looks_tagged(found):
        return "tagged"
    return "table" if found.reading.layout(found.first).width > 1 else "text"


def partner(found: Survey) -> Path | None:
    """The file whose lines go with those of the first file: of the same name, with the suffix of another language."""
    first = bare(found.first)
    if first.suffix[1:] not in LANGUAGES or len(found.files) > 2:
        return None
    beside = (file for file in sorted(first.parent.iterdir()) if bare(file).stem == first.stem and file != found.first)
    among = (file for file in beside if len(found.files) == 1 or file in found.files)
    return next((file for file in among if bare(file).suffix[1:] in LANGUAGES), None)


def _looks_tagged(found: Survey) -> bool:
    """Whether every line has the same number of words, at least two, and blank lines divide the lines."""
    head = list(islice(found.reading.lines(found.first), 1000))
    widths = {len(line.text.split()) for line in head if line.text.strip() and not line.text.startswith(("#", "-DOC"))}
    blank = sum(not line.text.strip() for line in head[:-1])
    return len(widths) == 1 and widths.pop() > 1 and 0 < blank < len(head) / 2


def _word_vectors(found: Survey) -> bool:
    """Whether every line has a word and equally many numbers; word2vec has two whole numbers before them."""
    head = [line.text.split() for line in islice(found.reading.lines(found.first), 100) if line.text.strip()]
    if len(head) > 1 and len(head[0]) == 2 and all(cell.isdigit() for cell in head[0]):
        head = head[1:]
    alike = bool(head) and {len(cells) for cells in head} == {len(head[0])} and len(head[0]) > WIDTH
    numbers = all(is_number(cell) for cells in head for cell in cells[1:])
    words = {cells[0] for cells in head if cells and not is_number(cells[0])}
    return alike and numbers and len(words) > 0.8 * len(head)


def _reader(found: Survey) -> tuple[dict[str, Column], Callable[[Path], Iterator[TableRow]]]:
    """The columns of the files, and the function that reads the rows of a file."""
    columns: dict[str, Column] = {}
    match found.kind:
        case "recordings" | "pictures":
            columns = {"file": "file", "folder": "folder", "name": "name"}
            return columns, FilePerExample(columns, {}, lambda: found.files, found.reading).read
        case "classes":
            columns = {"line": "line", "class": "class"}
            return columns, TextFilePerClass(columns, {}, found.path, found.reading).read
        case "tagged":
            width = next(_widths(found))
            columns = {str(i): i for i in range(1, width + 1)}
            return columns, Conll(columns, {str(i): "tags" for i in columns}, found.reading).read
        case "text" | "word_vectors":
            return {"text": "text"}, lambda path: _lines(found, path)
        case "parallel":
            other = partner(found)
            assert other is not None
            found.files = [found.first]
            names = [bare(file).suffix[1:] for file in (found.first, other)]
            return {name: name for name in names}, Table({name: name for name in names}, parallel=names[1]).read
        case "table":
            every = Table({}, reading=found.reading).every_column(found.first)
            columns = {str(column): column for column in every}
            return columns, Table(columns, reading=found.reading).read


def _widths(found: Survey) -> Iterator[int]:
    """The number of cells of every word in a file of tagged sentences."""
    universal = kind_of(found.first) == "conllu"
    for line in found.reading.lines(found.first):
        if line.text.strip() and not line.text.startswith(("#", "-DOC")):
            yield len(line.text.split("\t") if universal else line.text.split())


def _lines(found: Survey, path: Path) -> Iterator[TableRow]:
    for line in found.reading.lines(path):
        if line.text.strip():
            yield TableRow(path, line.number, {"text": line.text})


def _read(found: Survey, columns: dict[str, Column], read: Callable[[Path], Iterator[TableRow]]) -> None:
    """Read the first rows, and summarise their columns."""
    table = [record.values for record in _spread(found, read)]
    found.rows = len(table)
    folder = found.first.parent
    numerals = found.reading.layout(found.first).numerals if found.kind == "table" else Numerals(missing=())
    found.columns = [
        summarise(column, _values(found.kind, [row[name] for row in table]), folder, numerals)
        for name, column in columns.items()
    ]
    found.examples = [{name: _shown(row[name]) for name in columns} for row in table[:3]]
    if found.kind in ("recordings", "pictures"):
        found.notes += _parts(found.files)
    if found.kind in ("table", "parallel", "classes") and table:
        keys = [tuple(str(row[name]) for name in columns) for row in table]
        if copies := splits.repeated(keys):
            found.notes.append(f"{copies:,} rows are copies of others: a random split may put them on both sides.")
        if found.valid is not None:
            held = {tuple(str(record.values[name]) for name in columns) for record in islice(read(found.valid), ROWS)}
            if both := len(held & set(keys)):
                found.notes.append(f"{both:,} rows of {found.valid} are in the training file, too.")


def _parts(files: list[Path]) -> list[str]:
    """A note about names that all have the same number of parts, with _ between."""
    names = [file.stem.split("_") for file in files]
    if len({len(name) for name in names}) > 1 or len(names[0]) < 2:
        return []
    different = ", ".join(f"{len(set(part)):,}" for part in zip(*names, strict=True))
    pattern = "_".join(["{label}", *(f"{{part{i}}}" for i in range(2, len(names[0]) + 1))]) + files[0].suffix
    said = f'the names have {len(names[0])} parts, with {different} different values: data.pattern="{pattern}" names '
    return [said + "them, data.label chooses the class, and data.split_by=part2 divides no value of part2."]


def _spread(found: Survey, read: Callable[[Path], Iterator[TableRow]]) -> Iterator[TableRow]:
    """The first rows of every file, so that every class is seen."""
    share = -(-ROWS // len(found.files))
    for file in found.files:
        rows = read(file)
        yield from islice(rows, share)
        found.whole = found.whole and next(rows, None) is None


def _values(kind: Kind, cells: list[Any]) -> list[Any]:
    """The cells of a column; of tagged sentences the words, one by one."""
    return list(chain.from_iterable(cells)) if kind == "tagged" else cells


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
