"""Drawings of compiled graphs, from their plain summaries to SVG or Mermaid text, with the standard library only.

The layout is our own, because Graphviz and its like need a binary beside Python: these drawings need none, anywhere.
"""

from composer.views.drawing.mermaid import mermaid
from composer.views.drawing.svg import svg

__all__ = ["mermaid", "svg"]
