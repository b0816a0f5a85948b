"""Tokenised data that is kept between runs.

source_cache.py  the door: what a source has learned or packed, from the cache or made anew and kept
key.py         what an entry depends on: the files, the data section, the program
entry.py       an entry on disk: plain facts and packed rows, written beside and renamed, checked when they are mapped
folder.py      the folder of the cache: its entries, their locks, its limits
"""

from composer.data.cache.entry import Entry, values_file
from composer.data.cache.folder import CacheFolder, Stored
from composer.data.cache.source_cache import SourceCache, learned_from

__all__ = ["CacheFolder", "Entry", "SourceCache", "Stored", "learned_from", "values_file"]
