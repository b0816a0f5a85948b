"""What a key means: the comment behind it in a YAML file, or its line in a docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from composer.config.yaml_files import ConfigFolder

#: The line of a YAML file that names the schema of the file for editors.
MODELINE = "# yaml-language-server:"

#: The beginnings of comments at the top of a file that are not for people.
FOR_PROGRAMS = (MODELINE, "# @package")

COMMENT = re.compile(r"\s#\s+(.*)$")

#: A line such as ``depth: the number of layers`` in the docstring of a class, and the lines that continue it.
ENTRY = re.compile(r"^(\w+): (.*(?:\n +\S.*)*)", re.M)


def of_files(folders: Sequence[ConfigFolder], option: str) -> dict[str, str]:
    """The comments of an option such as mixer/lstm, by the path of the key; at '', the comment at the top."""
    folder = next((folder for folder in folders if folder.file(option).is_file()), None)
    if folder is None:
        return {}
    file = folder.read(option)
    texts = file.path.read_text(encoding="utf-8").splitlines()
    found = {"": heading(texts)}
    for key, line in file.lines.items():
        if (comment := COMMENT.search(texts[line - 1])) is not None:
            found[key] = comment[1]
    return found


def heading(texts: Sequence[str]) -> str:
    """The comment at the top of a file, without the lines that are for Hydra and for editors."""
    words = []
    for line in texts:
        if not line.startswith("#"):
            break
        if not line.startswith(FOR_PROGRAMS):
            words.append(line.removeprefix("#").strip())
    return " ".join(filter(None, words))


def of_class(entry: Any) -> dict[str, str]:
    """What the docstring of a class or a function says of its keys; at '', its first paragraph."""
    text = inspect.getdoc(entry) or ""
    if text.startswith(f"{getattr(entry, '__name__', '')}("):  # made by dataclass
        return {}
    found = {key: " ".join(said.split()) for key, said in ENTRY.findall(text)}
    first = text.partition("\n\n")[0]
    return found if ENTRY.match(first) else {"": " ".join(first.split())} | found
