"""Columns out of the names of files: '{digit}_{speaker}_{take}.wav' gives every file a digit, a speaker and a take."""

from __future__ import annotations

import re
from pathlib import Path

from composer.core.problems import Invalid
from composer.data.files.bad_rows import BadRow

PART = re.compile(r"\{(\w+)\}")


class NamePattern:
    """A pattern for the ends of paths; a "/" in it stands between a folder and what is inside."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.names = PART.findall(pattern)
        if not self.names or len(set(self.names)) < len(self.names):
            message = "names no part of a file's name" if not self.names else "gives two parts the same name"
            raise Invalid("pattern", f"'{pattern}' {message}. Write e.g. '{{label}}_{{speaker}}_{{take}}.wav'.")
        pieces = PART.split(pattern)  # literal text and names in turn
        texts = (re.escape(piece) if i % 2 == 0 else f"(?P<{piece}>[^/]+?)" for i, piece in enumerate(pieces))
        self._regex = re.compile("".join(texts))
        self._depth = pattern.count("/") + 1

    def parts(self, path: Path) -> dict[str, str]:
        """The named parts of a file's path."""
        end = "/".join(path.resolve().parts[-self._depth :])
        found = self._regex.fullmatch(end)
        if found is None:
            raise BadRow(f"{path}: does not fit the pattern '{self.pattern}'. Rename or remove it.")
        return found.groupdict()
