"""Reading the user's files, plain or compressed (gz, bz2, xz, zst), line by line. Errors name the file and the line."""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from composer.core.extras import extra
from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.core.storage.addresses import is_remote
from composer.core.storage.example_files import example_file
from composer.data.files.bad_rows import BadRow, BadRows
from composer.data.files.remote import copies_of

#: The number of bytes of a running text that are read at a time.
PIECE = 2**16


#: The library of Zstandard, which Python has from 3.14 on.
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


class Packing(NamedTuple):
    mark: bytes  # with which the file begins
    open: Callable[[Path], IO[bytes]]


#: Suffix -> how files with this suffix are compressed.
PACKED = {
    ".gz": Packing(b"\x1f\x8b", gzip.open),  # type: ignore[arg-type]
    ".bz2": Packing(b"BZh", bz2.open),
    ".xz": Packing(b"\xfd7zXZ\0", lzma.open),
    ".zst": Packing(b"\x28\xb5\x2f\xfd", lambda path: extra(ZSTD, f"reading '{path}'", "zstd").open(path)),
}


class Line(NamedTuple):
    number: int
    text: str  # without the line end


def find_files(pattern: str | None, key: str = "path", suffixes: tuple[str, ...] = ()) -> list[Path]:
    """The sorted files of a path, a folder or a glob pattern, the one file of the package that ``example:`` names, or
    copies of the files at an address.

    Of a folder only files with one of the ``suffixes``, and no readme or licence about them.
    """
    if not pattern:
        raise Invalid(key, f"names no file. Give one, e.g. data.{key}=my_file.")
    if (example := example_file(pattern, key)) is not None:
        return [example]
    if is_remote(pattern):
        return copies_of(pattern, key)
    path = Path(pattern).expanduser()
    try:
        return _found(path, pattern, key, suffixes)
    except OSError as error:
        said = f"'{error.filename or path}' cannot be read: {error.strerror or error}."
        raise Invalid(key, f"{said} Give files that you may read, e.g. by a glob pattern without it.") from error


def _found(path: Path, pattern: str, key: str, suffixes: tuple[str, ...]) -> list[Path]:
    if path.is_dir():
        inside = (file for file in files_inside(path) if file.is_file() and not file.name.startswith("."))
        found = without_notes(sorted(file for file in inside if not suffixes or file.suffix.lower() in suffixes))
        if not found:
            kinds = f" with the ending {' or '.join(suffixes)}" if suffixes else ""
            raise Invalid(key, f"the folder '{pattern}' holds no file{kinds}.")
        return found
    if path.is_file():
        return [path]
    matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True) if Path(match).is_file())
    if matches:
        return matches
    raise Invalid(key, _missing(path))


def files_inside(folder: Path) -> Iterator[Path]:
    """The files below a folder. One that cannot be listed is an error: its files would be left out without a word."""

    def fail(error: OSError) -> None:
        raise error

    for inner, _, files in os.walk(folder, onerror=fail):
        yield from (Path(inner, file) for file in files)


def without_notes(files: list[Path]) -> list[Path]:
    """Files without a readme or a licence about them: a file of such a name with a suffix that no other file has."""

    def about(file: Path) -> bool:
        return file.name.upper().partition(".")[0] in ("README", "LICENSE", "LICENCE", "NOTES", "NOTICE")

    suffixes = {file.suffix for file in files if not about(file)}
    return [file for file in files if file.suffix in suffixes or not about(file)] if suffixes else files


def typed_file(text: str) -> Path:
    """The file whose path a person typed."""
    path = Path(text).expanduser()
    try:
        if not path.is_file():
            raise UserError(_missing(path))
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror}.") from error
    return path


def _missing(path: Path) -> str:
    if any(letter in str(path) for letter in "*?["):
        return f"no file fits '{path}' (looked in {Path.cwd()})."
    folder = path.parent
    if not folder.is_dir():
        return f"there is no file '{path}': the folder '{folder}' does not exist (looked in {Path.cwd()})."
    names = sorted(item.name for item in folder.iterdir() if not item.name.startswith("."))
    near = did_you_mean(path.name, names)
    return f"there is no file '{path}' (looked in {Path.cwd()}).{near or f'  (there: {listed(names)})' * bool(names)}"


def check_encoding(encoding: str) -> None:
    """Accept only encodings in which a line ends with the byte 10, because files are cut into lines before decoding."""
    try:
        codecs.lookup(encoding)
        plain = "a\n".encode(encoding) == b"a\n"
    except LookupError as error:
        raise Invalid("encoding", f"there is no encoding '{encoding}'. Use e.g. utf-8 or latin-1.") from error
    if not plain and encoding.replace("_", "-").lower() != "utf-8-sig":
        raise Invalid("encoding", f"'{encoding}' is not read here. Convert the file to utf-8.")


def lines(path: Path, encoding: str = "utf-8", bad: BadRows = BadRows()) -> Iterator[Line]:  # noqa: B008 - never changed
    """Every line with its number. A line that cannot be decoded is a bad row; without ``bad``, an error."""
    with opened(path) as file:
        number = 0
        for number, raw in enumerate(file, 1):
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                text = raw.decode(encoding)
            except UnicodeDecodeError as error:
                bad.met(_undecodable(path, number, error, encoding))
                continue
            yield Line(number, text.rstrip("\r\n"))
        if number == 0:
            raise UserError(f"{path}: is empty. Give a file with at least one line.")


def characters(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """The whole text with its line ends, in pieces of about ``PIECE`` bytes."""
    decoder = codecs.getincrementaldecoder(encoding)()
    number = 1
    with opened(path) as file:
        raw = file.read(PIECE).removeprefix(codecs.BOM_UTF8)
        if not raw:
            raise UserError(f"{path}: is empty. Give a file with some text.")
        while raw:
            following = file.read(PIECE)
            try:
                yield decoder.decode(raw, final=not following)
            except UnicodeDecodeError as error:
                line = number + error.object[: error.start].count(b"\n")
                raise _undecodable(path, line, error, encoding) from error
            number += raw.count(b"\n")
            raw = following


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if its name or its first bytes say that it is compressed."""
    try:
        with path.open("rb") as raw:
            start = raw.read(8)
        packed = PACKED.get(path.suffix) or next(
            (kind for kind in PACKED.values() if start.startswith(kind.mark)), None
        )
        with packed.open(path) if packed else path.open("rb") as file:
            yield file
    except _unpacking_errors() as error:
        raise UserError(f"{path}: cannot be unpacked: {error}. Is it whole, and {path.suffix[1:]}?") from error
    except OSError as error:
        said = error.strerror or str(error)  # bz2's errors have no strerror
        raise UserError(f"{path}: cannot be read: {said}.") from error


def _unpacking_errors() -> tuple[type[Exception], ...]:
    """The errors of files that are cut short or damaged; that of Zstandard, where its library was imported."""
    zstd = [sys.modules[ZSTD].ZstdError] if ZSTD in sys.modules else []
    return (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, *zstd)


def _undecodable(path: Path, number: int, error: UnicodeDecodeError, encoding: str) -> BadRow:
    return BadRow(
        f"{path}:{number}: the byte 0x{error.object[error.start]:02x} is not {encoding}. "
        "Convert the file, or say what it is, e.g. data.encoding=latin-1."
    )


def kind_of(path: Path) -> str:
    """The suffix that names the format of a file: 'csv' of 'pairs.csv.gz'."""
    return bare(path).suffix.lower()[1:]


def bare(path: Path) -> Path:
    """The path without the suffix of a compressed file: 'pairs.csv' of 'pairs.csv.gz'."""
    return path.with_suffix("") if path.suffix in PACKED else path
