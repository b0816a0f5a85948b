"""Which files a path names, of what kind they are, and what their columns hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, Literal

from composer.core.problems import Invalid, UserError, listed
from composer.data.files.lines import bare, find_files, kind_of, without_notes
from composer.data.layout import Numerals
from composer.data.layout.cutting import is_number
from composer.data.series.series_columns import LookedAt, find_time
from composer.data.series.steps import regular_share
from composer.data.source import Split
from composer.data.survey import split_choice
from composer.data.survey.column_survey import ColumnSummary, summarise
from composer.data.survey.name_parts import NameParts, name_parts
from composer.data.survey.split_choice import NAMES
from composer.data.tables.readers import PICTURES, SOUNDS, TABLES, Conll, FilePerExample, TextFilePerClass
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column, Reader, Table, TableRow

#: The number of rows that are looked at.
ROWS = 10000

Kind = Literal["table", "parallel", "tagged", "classes", "text", "recordings", "pictures", "word_vectors"]

#: The number of rows of another split's file that are looked at.
LOOKED = 100

#: Word vectors have at least this width.
WIDTH = 10

#: Rows have times of their own where this share of the times differ.
OWN = 0.9


@dataclass(frozen=True)
class RowTimes:
    """
    columns: of the times
    own: whether hardly any two rows have the same time: they are steps of one series
    ordered: whether every row is later than the one before
    gaps: the number of rows that are no regular step later than the one before
    """

    columns: list[Column]
    own: bool
    ordered: bool
    gaps: int


@dataclass
class Survey:
    """
    kind: table; parallel (two files, line by line); tagged (a line for each word); classes (a text file for each
        class); text (running text); recordings or pictures (a file for each); word_vectors (of word2vec or GloVe)
    files: the files of the path, without those of other splits
    others: files of the other splits
    folders: the folder of every split, where a split is a folder
    partner: the file whose lines go with those of the first, of parallel files
    parts: of the names of recordings and pictures
    times: of the rows of a table
    rows: the number of rows that were looked at
    whole: whether these are all rows
    examples: the first rows, by column
    """

    path: str
    kind: Kind
    files: list[Path]
    reading: Reading
    others: dict[Split, list[Path]] = field(default_factory=dict)
    folders: Mapping[Split, Path] = field(default_factory=dict)
    partner: Path | None = None
    parts: NameParts | None = None
    times: RowTimes | None = None
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
    folder = Path(path).expanduser()
    divided = split_choice.in_folders(folder, files) if folder.is_dir() else None
    if divided is None and not {file.suffix.lower() for file in files} <= {*SOUNDS, *PICTURES}:
        divided = split_choice.divided(files)
    if divided is not None:
        found.files, found.others, found.folders = divided.train, divided.others, divided.folders
        left = {reason: listed([file.name for file in files]) for reason, files in divided.left.items()}
        found.notes += [f"not taken: {names} ({reason})." for reason, names in left.items()]
    found.kind = _kind(found)
    columns = {str(column): column for column in _columns(found, found.first)}
    if not columns:
        raise UserError(f"{found.first}: holds no row. Give a file with at least one.")
    reader = _reader(found, columns)
    _read(found, columns, reader)
    _check_splits(found, columns, reader)
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
    if _pair_up(found):
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


def _pair_up(found: Survey) -> bool:
    """Whether the files are parallel: of one name, each with the suffix of a language. Then the partner is found."""
    name, suffix = bare(found.first).stem, bare(found.first).suffix[1:]
    beside = [file for file in sorted(found.first.parent.iterdir()) if file.is_file() and bare(file).stem == name]
    parallel = [file for file in beside if bare(file).suffix[1:] in split_choice.LANGUAGES]
    if suffix not in split_choice.LANGUAGES or len(parallel) < 2 or not set(found.files) <= set(parallel):
        return False

    def is_target(file: Path) -> bool:
        return bare(file).suffix[1:] in split_choice.TARGETS

    first = min(found.files, key=is_target)
    found.files, others = [first], sorted((file for file in parallel if file != first), key=lambda f: not is_target(f))
    found.partner = others[0]
    if others[1:]:
        names = listed([file.name for file in others[1:]])
        found.notes.append(f"parallel, too: {names}. data.path and data.parallel choose the two languages.")
    return True


def _looks_tagged(found: Survey) -> bool:
    """Whether every line has the same number of words, at least two, and blank lines divide the lines."""
    head = list(islice(found.reading.lines(found.first), 1000))
    widths = {len(line.text.split()) for line in head if _is_word(line.text)}
    blank = sum(not line.text.strip() for line in head[:-1])
    return len(widths) == 1 and widths.pop() > 1 and 0 < blank < len(head) / 2


def _is_word(line: str) -> bool:
    """Whether a line of tagged sentences holds a word, and no comment."""
    return bool(line.strip()) and not line.startswith(("#", "-DOC"))


def _word_vectors(found: Survey) -> bool:
    """Whether every line has a word and equally many numbers; word2vec has two whole numbers before them."""
    head = [line.text.split() for line in islice(found.reading.lines(found.first), 100) if line.text.strip()]
    if len(head) > 1 and len(head[0]) == 2 and all(cell.isdigit() for cell in head[0]):
        head = head[1:]
    alike = bool(head) and {len(cells) for cells in head} == {len(head[0])} and len(head[0]) > WIDTH
    numbers = all(is_number(cell) for cells in head for cell in cells[1:])
    words = {cells[0] for cells in head if cells and not is_number(cells[0])}
    return alike and numbers and len(words) > 0.8 * len(head)


def _columns(found: Survey, file: Path) -> list[Column]:
    """The columns of a file."""
    match found.kind:
        case "table":
            return list(Table(reading=found.reading).every_column(file))
        case "parallel":
            assert found.partner is not None
            return [bare(side).suffix[1:] for side in (found.first, found.partner)]
        case "tagged":
            between = "\t" if kind_of(file) == "conllu" else None
            words = (line.text.split(between) for line in found.reading.lines(file) if _is_word(line.text))
            return list(range(1, len(next(words, [])) + 1))
        case "recordings" | "pictures":
            return ["file", "folder", "name"]
        case "classes":
            return ["line", "class"]
        case "text" | "word_vectors":
            return ["line"]


def _reader(found: Survey, columns: dict[str, Column]) -> Reader:
    match found.kind:
        case "table" | "parallel":
            partner = None if found.partner is None else bare(found.partner).suffix[1:]
            return Table(columns, reading=found.reading, parallel=partner)
        case "tagged":
            return Conll(columns, dict.fromkeys(columns, "tags"), found.reading)
        case "recordings" | "pictures":
            return FilePerExample(columns, reading=found.reading, files=lambda: found.files)
        case "classes" | "text" | "word_vectors":
            return TextFilePerClass(columns, reading=found.reading, path=found.path)


def _read(found: Survey, columns: dict[str, Column], reader: Reader) -> None:
    """Read the first rows, and summarise their columns."""
    table = [record.values for record in _spread(found, reader)]
    found.rows = len(table)
    numerals = found.reading.layout(found.first).numerals if found.kind == "table" else Numerals(missing=())
    for name, column in columns.items():
        cells = [row[name] for row in table]
        values = list(chain.from_iterable(cells)) if found.kind == "tagged" else cells  # the words, one by one
        found.columns.append(summarise(column, values, found.first.parent, numerals))
    found.examples = [{name: _shown(row[name]) for name in columns} for row in table[:3]]
    if found.kind == "table":
        found.times = _row_times(columns, table)
    if found.kind in ("recordings", "pictures"):
        found.parts = name_parts(found.files, "speaker" if found.kind == "recordings" else "group")
        found.notes += [found.parts.note] if found.parts is not None else []
    if found.kind in ("table", "parallel", "classes"):
        rows = {tuple(str(row[name]) for name in columns) for row in table}
        if copies := len(table) - len(rows):
            found.notes.append(f"{copies:,} rows are copies of others: a random split may put them on both sides.")
        for file in found.others.get("valid", [])[:1]:
            held_out = (record.values for record in islice(reader.read(file), ROWS))
            if both := len(rows & {tuple(str(row[name]) for name in columns) for row in held_out}):
                found.notes.append(f"{both:,} rows of {file} are in the training file, too.")


def _row_times(columns: Mapping[str, Column], rows: Sequence[Mapping[str, Any]]) -> RowTimes | None:
    """The times of the rows; None where no column holds dates.

    columns: by the names that the rows have for them
    """
    looked = LookedAt(columns, {name: [row[name] for row in rows] for name in columns})
    form = find_time(looked, ())
    if form is None:
        return None
    times = [time for cells in looked.together(form.names) if (time := form.read(cells)) is not None]
    own, ordered = len(set(times)) >= OWN * len(rows), all(before < after for before, after in pairwise(times))
    gaps = round((1 - regular_share(sorted(set(times)))) * (len(times) - 1))
    return RowTimes(form.columns, own, ordered, gaps)


def _check_splits(found: Survey, columns: dict[str, Column], reader: Reader) -> None:
    """Leave out files of other splits that lack a column, or have nothing in a column, of the training file."""
    for split, files in list(found.others.items()) if found.kind in ("table", "tagged") else ():
        every, lacks = _columns(found, files[0]), None
        if every != list(columns.values()):
            named = every and isinstance(every[0], str)
            lacks = f"the columns {listed(every)}" if named else f"{len(every)} columns"
        else:
            rows = [record.values for record in islice(reader.read(files[0]), LOOKED)]
            filled = [name for name, column in zip(columns, found.columns, strict=True) if column.empty < found.rows]
            empty = [name for name in filled if all(row[name] in (None, "") for row in rows)]
            lacks = f"nothing in column {empty[0]}" if empty else None
        if lacks is not None:
            has = f"the training file has {listed(list(columns))}"
            found.notes.append(f"{files[0]} is not taken as the {NAMES[split]} file: it has {lacks}, {has}.")
            del found.others[split]


def _spread(found: Survey, reader: Reader) -> Iterator[TableRow]:
    """The first rows of every file, so that every class is seen."""
    share = -(-ROWS // len(found.files))
    for file in found.files:
        rows = reader.read(file)
        yield from islice(rows, share)
        found.whole = found.whole and next(rows, None) is None


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
