"""The encoding of a text file: UTF-8, or else what its bytes say."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NamedTuple

from composer.core.problems import UserError

#: Byte order marks of encodings that are not read here, because their lines do not end with the byte 10.
WIDE = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}

#: A text of which a larger share of the bytes is not ASCII is not in a Western European language, where a byte is a
#: letter with an accent.
WESTERN = 0.3


class Note(NamedTuple):
    """What was found in a file, and the line that tells it; 0 where no single line does."""

    text: str
    line: int = 0


def guess_encoding(path: Path, head: bytes, whole: bool) -> tuple[str, tuple[Note, ...]]:
    """The encoding of a file that begins with these bytes, and a note about it, unless it is UTF-8.

    whole: whether these are all bytes of the file; otherwise the last character may be cut
    """
    for mark, wide in WIDE.items():
        if head.startswith(mark):
            raise UserError(f"{path}: is {wide}. Convert the file: iconv -f {wide} -t UTF-8.")
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head, final=whole)
    except UnicodeDecodeError as error:
        if b"\0" in head:
            raise UserError(f"{path}: is no text: it holds bytes that are 0.") from error
        line = 1 + head[: error.start].count(b"\n")
        if (name := _single_byte(head)) is not None:
            return name, (Note(f"not UTF-8, so it is read as {name} (data.encoding says otherwise)", line),)
        said = f"line {line} holds the byte 0x{head[error.start]:02x}, which is not UTF-8"
        raise UserError(f"{path}: {said}. Name the encoding of the file, e.g. data.encoding=gb18030.") from error
    return "utf-8", ()


def _single_byte(head: bytes) -> str | None:
    """Windows' Western encoding or its subset Latin 1; None where so many bytes are not ASCII that it is neither."""
    high = [byte for byte in head if byte >= 0x80]
    letters = sum(chr(byte).isalpha() for byte in head if byte < 0x80)
    if len(high) > WESTERN * (len(high) + letters):
        return None
    used = set(high)
    if not any(byte < 0xA0 for byte in used):
        return "latin-1"
    return "cp1252" if not used & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else None
