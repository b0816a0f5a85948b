"""Pictures of compiled graphs, from their plain summaries to SVG or Mermaid text. The standard library suffices."""

from composer.draw.mermaid import mermaid
from composer.draw.svg import svg

__all__ = ["mermaid", "svg"]
