"""Text in pieces: a part of it, and pieces that end between words. None ends a document."""

from __future__ import annotations

from collections.abc import Iterator

from composer.data.files.lines import PIECE


def between(pieces: Iterator[str | None], start: int, stop: int) -> Iterator[str | None]:
    """The characters [start, stop) of a text that is given in pieces. A document ends in the part of its end."""
    at = 0
    for piece in pieces:
        if piece is None:
            if start < at <= stop:
                yield None
            continue
        if at >= stop:
            return
        if wanted := piece[max(0, start - at) : stop - at]:
            yield wanted
        at += len(piece)


def whole_words(pieces: Iterator[str | None]) -> Iterator[str | None]:
    """The same text in pieces that end between words, so that no word is cut. A piece without spaces stays as it is."""
    left = ""
    for piece in pieces:
        if piece is None:
            if left:
                yield left
            left = ""
            yield None
            continue
        left += piece
        if len(left) >= PIECE:
            space = max(left.rfind(" "), left.rfind("\n"))
            end = space if space > 0 else len(left)
            yield left[:end]  # the space belongs to the next word, as byte-level BPE expects
            left = left[end:]
    if left:
        yield left
