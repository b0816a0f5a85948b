"""Drawings of compiled graphs, from their plain summaries to SVG or Mermaid text, with the standard library only."""

from composer.views.drawing.mermaid import mermaid
from composer.views.drawing.svg import svg

__all__ = ["mermaid", "svg"]
