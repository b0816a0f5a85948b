"""Sequence Composer: neural sequence models composed in YAML, proven before they are built."""

__version__ = "0.1.0"
