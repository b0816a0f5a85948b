"""The style of all figures, as settings of matplotlib (``styled``), and saving them.

Figures are made without pyplot, so that no window system is needed, and no figure or setting is left behind.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from composer.core.problems import UserError
from composer.core.storage.atomic_files import write_bytes
from composer.views.drawing import palette
from composer.views.figures.fonts import families, with_glyphs
from composer.views.tables import cut_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
Drawn = TypeVar("Drawn")

#: Line colours that colour-blind readers can tell apart on white; after the last colour, the dashes change.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#3f4a9c", "#882255")
DASHES = ("-", "--", "-.", ":")
DPI = 130

#: Visible signs for invisible tokens.
VISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥", "": "∅"}
LONGEST = 20  # characters of a token that are drawn


#: Pale frames and ticks, so that the data stands out.
SETTINGS: dict[Any, Any] = {
    "figure.facecolor": palette.PAPER, "figure.constrained_layout.use": True, "figure.titlesize": 12,
    "figure.titleweight": "bold", "figure.labelsize": 10, "axes.titlelocation": "left", "axes.titlesize": 12,
    "axes.titleweight": "bold", "text.color": palette.INK, "axes.labelcolor": palette.INK,
    "axes.edgecolor": palette.LINE, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "xtick.color": palette.SOFT, "ytick.color": palette.SOFT, "xtick.labelsize": 9, "ytick.labelsize": 9,
    "grid.color": palette.HAIR, "grid.linewidth": 0.8, "legend.frameon": False, "legend.labelcolor": palette.INK,
    "legend.fontsize": 9, "legend.title_fontsize": 9, "lines.linewidth": 1.8,
}  # fmt: skip


def styled(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """A function that makes figures, in this style; matplotlib's settings are then as they were before."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Drawn:
        from cycler import cycler
        from matplotlib import rc_context

        with rc_context(SETTINGS | {"axes.prop_cycle": cycler(linestyle=DASHES) * cycler(color=COLOURS)}):
            return draw(*args, **kwargs)

    return drawn


def new_figure(width: float, height: float) -> Figure:
    """An empty figure with its size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


@styled
def line_axes(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    """A figure of one plot, with its title and axis labels."""
    figure = new_figure(7.2, 4.2)
    axes = figure.add_subplot(title=title, xlabel=x, ylabel=y)
    axes.grid()
    return figure, axes


@styled
def png(figure: Figure) -> bytes:
    """The figure as the content of a PNG file."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_fontfamily(families())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def save_figures(folder: Path, figures: Mapping[str, Figure]) -> dict[str, Path]:
    """Write figures as PNGs into a folder, each atomically. Returns their paths by their names."""
    paths = {name: folder / f"{name}.png" for name in figures}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            write_bytes(paths[name], png(figure))
    except OSError as error:
        raise UserError(f"cannot make the folder '{folder}', or write in it: {error.strerror}.") from error
    return paths


def label(token: str) -> str:
    """A token as a label: visible signs for spaces, and a box for characters that the font lacks."""
    shown = VISIBLE.get(token) or "".join(VISIBLE.get(character, character) for character in token)
    return with_glyphs(cut_text(shown, LONGEST))
