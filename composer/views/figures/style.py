"""The style of all figures, and saving them.

Figures are made without pyplot, so that no global state changes and no window system is needed.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.core.storage.atomic_files import write_bytes
from composer.views.drawing import palette
from composer.views.figures.fonts import families, with_glyphs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Line colours that colour-blind readers can tell apart on white; after the last colour, the dashes change.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#3f4a9c", "#882255")
DASHES = ("-", "--", "-.", ":")
DPI = 130

#: Visible signs for invisible tokens.
VISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥", "": "∅"}
LONGEST = 20  # characters of a token that are drawn


def new_figure(width: float, height: float) -> Figure:
    """An empty figure with its size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor=palette.PAPER)
    FigureCanvasAgg(figure)
    return figure


def line_axes(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    """A figure of one plot, with its title and axis labels."""
    figure = new_figure(7.2, 4.2)
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", color=palette.INK, fontsize=12, fontweight="bold")
    axes.set_xlabel(x, color=palette.INK)
    axes.set_ylabel(y, color=palette.INK)
    axes.grid(color=palette.HAIR, linewidth=0.8)
    soften(axes)
    return figure, axes


def soften(axes: Axes) -> None:
    """Give a plot pale frames and ticks, so that the data stands out."""
    axes.set_axisbelow(True)
    axes.tick_params(colors=palette.SOFT, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(palette.LINE)


def line_style(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}


def png(figure: Figure) -> bytes:
    """The figure as the content of a PNG file."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_fontfamily(families())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Write the figure as a PNG, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, png(figure))


def label(token: str) -> str:
    """A token as a label: visible signs for spaces, and a box for characters that the font lacks."""
    shown = VISIBLE.get(token) or "".join(VISIBLE.get(character, character) for character in token)
    shown = shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
    return with_glyphs(shown)
