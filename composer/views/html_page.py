"""An HTML page of figures and tables in one file, which needs no network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from composer.views.drawing import palette

STYLE = f"""
:root {{ color-scheme: light }}
body {{ margin: 0 auto; max-width: 1080px; padding: 2rem 1.5rem 4rem; background: {palette.PAPER};
  color: {palette.INK}; font: 15px/1.5 system-ui, sans-serif }}
h1 {{ font-size: 1.5rem; margin: 0 0 .3rem; overflow-wrap: anywhere }}
h2 {{ font-size: 1.15rem; margin: 2.6rem 0 .3rem; padding-top: .8rem; border-top: 1px solid {palette.HAIR} }}
h3 {{ font-size: 1rem; margin: 1.4rem 0 .4rem; font-weight: 600 }}
nav a {{ margin-right: 1.1rem; white-space: nowrap; color: {palette.STREAM} }}
p {{ margin: .3rem 0 .8rem; color: {palette.SOFT} }}
figure {{ margin: 1.2rem 0; overflow-x: auto }}
figure img {{ height: auto; display: block; max-width: 100% }}
figure img.large {{ max-width: none }}
figcaption {{ color: {palette.SOFT}; font-size: .9rem }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: .92rem }}
th, td {{ text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid {palette.HAIR};
  vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere }}
th {{ color: {palette.SOFT}; font-weight: 600 }}
pre {{ font-size: .8rem; line-height: 1.4; overflow-x: auto; background: {palette.TINT}; padding: .8rem 1rem }}
"""

#: The size of a figure on the page, relative to its pixels, which are made for high-resolution screens.
SCALE = 0.8

#: A figure wider than this many pixels is not shrunk to fit the page.
LARGE = 1500


@dataclass(frozen=True)
class Picture:
    file: str
    caption: str


@dataclass(frozen=True)
class HtmlTable:
    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class PageSection:
    title: str
    notes: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[HtmlTable] = ()
    drawing: str = ""  # SVG
    preformatted: str = field(default="", repr=False)


def html_page(title: str, sections: Sequence[PageSection], folder: Path) -> str:
    """The page, with the figures of a folder embedded. All text is escaped, because a token may be any text."""
    links = " ".join(f'<a href="#{i}">{escape(section.title)}</a>' for i, section in enumerate(sections))
    body = "\n".join(_section(i, section, folder) for i, section in enumerate(sections))
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<style>{STYLE}</style>\n<h1>{escape(title)}</h1>\n<nav>{links}</nav>\n{body}\n</html>\n"
    )


def _section(number: int, section: PageSection, folder: Path) -> str:
    parts = [f'<h2 id="{number}">{escape(section.title)}</h2>', *(f"<p>{escape(note)}</p>" for note in section.notes)]
    if section.drawing:
        parts.append(_image(section.drawing.encode(), "svg+xml", "the graph", ""))
    if section.preformatted:
        parts.append(f"<details><summary>In figures</summary><pre>{escape(section.preformatted)}</pre></details>")
    parts += [_table(table) for table in section.tables]
    for picture in section.pictures:
        content = (folder / picture.file).read_bytes()
        width = int.from_bytes(content[16:20])  # of a PNG, in pixels
        parts.append(_image(content, "png", picture.caption, picture.file, round(SCALE * width)))
    return "\n".join(parts)


def _image(content: bytes, kind: str, caption: str, file: str, width: int | None = None) -> str:
    """An image, embedded in the page."""
    size = "" if width is None else f' width="{width}"' + (' class="large"' if width > LARGE else "")
    data = base64.b64encode(content).decode()
    shown = f"{escape(caption)}" + (f" <small>({escape(file)})</small>" if file else "")
    return (
        f'<figure><img alt="{escape(caption)}"{size} src="data:image/{kind};base64,{data}">'
        f"<figcaption>{shown}</figcaption></figure>"
    )


def _table(table: HtmlTable) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.names)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    return f'{title}<div class="wide"><table><tr>{head}</tr>\n{rows}</table></div>'
