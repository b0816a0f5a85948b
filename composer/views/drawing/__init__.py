"""Pictures of compiled graphs, from their plain summaries to SVG or Mermaid text. The standard library suffices."""

from composer.views.drawing.mermaid import mermaid
from composer.views.drawing.svg import svg

__all__ = ["mermaid", "svg"]
