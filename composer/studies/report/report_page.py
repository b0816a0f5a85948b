"""The file: template, style, script and data put together.

Names, configs and samples are data that anybody may have written. They go into the page as JSON, in which no character
can end the element around it, and the script shows them as text. A Content-Security-Policy lets the browser run this
page's own script alone and forbids every request.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from composer.core.problems import UserError
from composer.core.storage.atomic_files import write_text
from composer.studies.comparison import Comparison
from composer.studies.report.content import content_of

#: The parts of the script, in their order: each uses those before it.
SCRIPTS = (
    "text.js", "elements.js", "scales.js", "table.js", "saving.js", "figure.js", "axes.js", "lines.js", "tasks.js",
    "arms.js", "curves.js", "costs.js", "ladder.js", "by_length.js", "lengths.js", "tuning.js", "outputs.js",
    "inside.js", "making.js", "page.js",
)  # fmt: skip

#: Characters of JSON that begin or end markup, as escapes.
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def write_report(
    comparison: Comparison, path: Path, *, command: str, plugins: Sequence[str] = (), figures: bool = True
) -> None:
    """Write the comparison as one HTML file.

    command: the one that makes this file again
    plugins: packages or files with blocks of the models that the user trusts
    figures: whether the page has those from inside the models, which are most of its size
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder '{path.parent}': {error.strerror}.") from error
    write_text(path, page(content_of(comparison, command, plugins, figures=figures)))


def page(content: Mapping[str, Any]) -> str:
    style, script = asset("page.css"), "\n".join(asset(f"scripts/{name}") for name in SCRIPTS)
    return Template(asset("page.html")).substitute(
        title=escape(content["sentence"].encode("utf-8", "replace").decode()),  # a file name may be no UTF-8
        policy=policy(style, script),
        style=style,
        script=script,
        data=embedded(content),
    )


def asset(name: str) -> str:
    return files(__package__).joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


def embedded(content: Mapping[str, Any]) -> str:
    """The content as JSON of ASCII characters alone, none of which can end a script element."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).translate(ESCAPES)


def policy(style: str, script: str) -> str:
    """The page's own style and script, pictures inside of the page, and nothing else."""
    return (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
