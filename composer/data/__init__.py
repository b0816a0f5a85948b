"""Where examples come from. A source says which fields it yields, and with them how large everything is."""

from composer.data.source import Source, load_source, source

__all__ = ["Source", "load_source", "source"]
