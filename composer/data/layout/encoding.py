"""The encoding of a text file: UTF-8, or else what its bytes say."""

from __future__ import annotations

import codecs
from typing import NamedTuple

#: Byte order marks of encodings that are not read here, because their lines do not end with the byte 10.
WIDE = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}

#: A text of which a larger share of the bytes is not ASCII is not in a Western European language, where a byte is a
#: letter with an accent.
WESTERN = 0.3


class Encoding(NamedTuple):
    """name: as Python spells it; None where it has to be asked for
    line: the first line that is not UTF-8; 0 where there is none
    problem: what to do, where there is no name
    """

    name: str | None
    line: int = 0
    problem: str = ""


def guess_encoding(head: bytes, *, whole: bool) -> Encoding:
    """The encoding of a file that begins with these bytes.

    whole: whether these are all bytes of the file; otherwise the last character may be cut
    """
    for mark, wide in WIDE.items():
        if head.startswith(mark):
            return Encoding(None, 0, f"is {wide}. Convert the file: iconv -f {wide} -t UTF-8")
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head, final=whole)
    except UnicodeDecodeError as error:
        line = 1 + head[: error.start].count(b"\n")
        if b"\0" in head:
            return Encoding(None, line, "is no text: it holds bytes that are 0")
        if (name := _single_byte(head)) is not None:
            return Encoding(name, line)
        said = f"line {line} holds the byte 0x{head[error.start]:02x}, which is not UTF-8"
        return Encoding(None, line, f"{said}. Name the encoding of the file, e.g. data.encoding=gb18030")
    return Encoding("utf-8")


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
