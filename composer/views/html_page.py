"""An HTML page of figures and tables in one file, which needs no network and no script; dark where the system is dark.

Figures are drawn on white. On a dark page their lightness is turned over, and their hues are kept.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from composer.views.drawing import palette

COLOURS = {
    "paper": palette.PAPER, "ink": palette.INK, "soft": palette.SOFT, "hair": palette.HAIR, "tint": palette.TINT,
    "link": palette.STREAM,
}  # fmt: skip

STYLE = f"""
:root {{ color-scheme: light dark; {" ".join(f"--{name}: {colour};" for name, colour in COLOURS.items())} }}
@media (prefers-color-scheme: dark) {{
  :root {{ {" ".join(f"--{name}: {palette.DARK[colour]};" for name, colour in COLOURS.items())} }}
  figure img.drawn {{ filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen }}
}}
* {{ box-sizing: border-box }}
html {{ scroll-padding-top: 3.2rem }}
body {{ margin: 0 auto; max-width: 1080px; padding: 2rem 1.5rem 4rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif }}
h1 {{ font-size: 1.5rem; margin: 0 0 .3rem; overflow-wrap: anywhere }}
h2 {{ font-size: 1.15rem; margin: 2.6rem 0 .3rem; padding-top: .8rem; border-top: 1px solid var(--hair) }}
h3 {{ font-size: 1rem; margin: 1.4rem 0 .4rem; font-weight: 600 }}
a {{ color: var(--link) }}
nav {{ position: sticky; top: 0; z-index: 1; background: var(--paper); border-bottom: 1px solid var(--hair);
  padding: .55rem 0; display: flex; flex-wrap: wrap; gap: .1rem 1.1rem }}
nav a {{ white-space: nowrap }}
nav + h2 {{ border-top: 0; margin-top: .6rem }}
p {{ margin: .3rem 0 .8rem; color: var(--soft) }}
figure {{ margin: 1.2rem 0; overflow-x: auto }}
figure img {{ height: auto; display: block; max-width: 100% }}
figure img.large {{ max-width: none }}
figcaption {{ color: var(--soft); font-size: .9rem; position: sticky; left: 0 }}
.wide, nav {{ overflow-x: auto; scrollbar-width: thin;
  background: /* a shadow where more is beside */
    linear-gradient(90deg, var(--paper) 2rem, transparent) 0 0,
    linear-gradient(270deg, var(--paper) 2rem, transparent) 100% 0,
    linear-gradient(90deg, var(--hair), transparent) 0 0,
    linear-gradient(270deg, var(--hair), transparent) 100% 0, var(--paper);
  background-repeat: no-repeat; background-size: 3rem 100%, 3rem 100%, .9rem 100%, .9rem 100%;
  background-attachment: local, local, scroll, scroll }}
table {{ border-collapse: collapse; font-size: .92rem }}
th, td {{ text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--hair);
  vertical-align: top; white-space: pre-wrap; overflow-wrap: break-word }}
.number {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }}
.short {{ white-space: nowrap }}
th {{ color: var(--soft); font-weight: 600 }}
summary {{ cursor: pointer; color: var(--link) }}
pre {{ font-size: .8rem; line-height: 1.4; overflow-x: auto; background: var(--tint); padding: .8rem 1rem }}
@media (max-width: 640px) {{
  body {{ padding: 1.2rem .9rem 3rem }}
  nav {{ flex-wrap: nowrap }}
  td, th {{ min-width: 12rem }}
  .short, .number {{ min-width: 0 }}
  figure img {{ max-width: none }}
  figure img.drawn:not(.large) {{ max-width: 34rem }}
}}
@media print {{ nav {{ display: none }} }}
"""

#: The size of a figure on the page, relative to its pixels, which are made for high-resolution screens.
SCALE = 0.8

#: A figure wider than this many pixels is not shrunk to fit the page.
LARGE = 1500

#: The characters of a cell that is not wrapped.
SHORT = 24

NUMBER = re.compile(r"[-−+]?[\d,.]+(e[-+]?\d+)?( %)?|[-–]?|nan|inf")  # noqa: RUF001 (a minus sign, a dash)


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
    names = [_anchor(number, section.title) for number, section in enumerate(sections)]
    links = " ".join(
        f'<a href="#{name}">{escape(section.title)}</a>' for name, section in zip(names, sections, strict=True)
    )
    body = "\n".join(_section(name, section, folder) for name, section in zip(names, sections, strict=True))
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<style>{STYLE}</style>\n<h1>{escape(title)}</h1>\n<nav aria-label="sections">{links}</nav>\n{body}\n</html>\n'
    )


def _anchor(number: int, title: str) -> str:
    """The name of a section in links to it: its title, where that has letters."""
    return "-".join(re.findall("[a-z0-9]+", title.lower())) or f"section-{number}"


def _section(name: str, section: PageSection, folder: Path) -> str:
    parts = [f'<h2 id="{name}">{escape(section.title)}</h2>', *(f"<p>{escape(note)}</p>" for note in section.notes)]
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
    classes = " ".join(["drawn"] * (width is not None) + ["large"] * (width is not None and width > LARGE))
    size = "" if width is None else f' width="{width}" class="{classes}"'
    data = base64.b64encode(content).decode()
    shown = f"{escape(caption)}" + (f" <small>({escape(file)})</small>" if file else "")
    return (
        f'<figure><img alt="{escape(caption)}"{size} src="data:image/{kind};base64,{data}">'
        f"<figcaption>{shown}</figcaption></figure>"
    )


def _table(table: HtmlTable) -> str:
    """The table. Columns of numbers alone end at the right, and short ones are not wrapped."""
    columns = [[row[i] for row in table.rows] for i in range(len(table.names))]
    kinds = [f' class="{kind}"' if (kind := _kind(cells)) else "" for cells in columns]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.names, strict=True))
    rows = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in table.rows
    )
    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    return f'{title}<div class="wide"><table><tr>{head}</tr>\n{rows}</table></div>'


def _kind(cells: Sequence[str]) -> str:
    """The class of a column: number, short, or nothing."""
    if cells and all(NUMBER.fullmatch(cell) for cell in cells):
        return "number"
    return "short" if max(map(len, cells), default=0) <= SHORT else ""
