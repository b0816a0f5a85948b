"""Where examples come from. A source says which fields it yields, and with them how large everything is.

own/        sources that read the user's files
embedded/   real data that comes with packages
synthetic/  tasks with a known answer, generated from a seed
"""

from composer.data.source import SPLITS, Source, Split, load_source

__all__ = ["SPLITS", "Source", "Split", "load_source"]
