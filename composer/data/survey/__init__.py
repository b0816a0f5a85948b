"""What the user's files hold, and the config to start from: the command ``python -m composer data <path>``.

columns.py     the guessed type and the statistics of a column
name_parts.py  the parts of file names: a class, a speaker
surveying.py   which files a path names, of what kind they are, and their columns
splits.py      files of the other splits beside a file, and rows that occur in several
suggestion.py  the section ``data`` and the model for these columns
"""

from composer.data.survey.surveying import Survey, survey

__all__ = ["Survey", "survey"]
