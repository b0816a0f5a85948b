"""What a call shows at a prompt and in a notebook: a text with HTML, a drawing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from composer.core.problems import UserError
from composer.core.storage.atomic_files import write_text


@dataclass(frozen=True, repr=False)
class Shown:
    """A text, the same as HTML for a notebook, and what they show as plain data."""

    text: str
    html: str
    data: dict[str, Any]

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True)
class Drawing:
    """A drawing of a graph, which a notebook shows. ``str()`` is the SVG document."""

    svg: str = field(repr=False)
    mermaid: str = field(repr=False)

    def __str__(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x: auto">{self.svg}</div>'

    def save(self, path: str | Path) -> None:
        """Write an .svg file, or Mermaid text as an .mmd file."""
        file = Path(path)
        if file.suffix not in (".svg", ".mmd"):
            raise UserError(f"'{path}' should end in .svg or .mmd.")
        write_text(file, self.svg if file.suffix == ".svg" else self.mermaid)
