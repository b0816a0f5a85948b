"""What a user's file looks like, found in its first part, so that the config need not say it.

encoding.py   UTF-8, or else what the bytes say
cutting.py    delimiter, quotes and comments
numerals.py   the decimal mark, and missing values
header.py     whether the first record holds names
layout.py     all of these for one file
"""

from composer.data.layout.encoding import Note
from composer.data.layout.layout import Given, Layout, encoding_of, layout_of
from composer.data.layout.numerals import Numerals

__all__ = ["Given", "Layout", "Note", "Numerals", "encoding_of", "layout_of"]
