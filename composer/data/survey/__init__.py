"""What the user's files hold, and the config to start from: the command ``python -m composer data <path>``.

column_survey.py    the guessed type and the statistics of a column
surveying.py        which files a path names, of what kind they are, their columns, and whether rows are steps in time
split_choice.py     files of the other splits beside a file, and rows that occur in several
name_parts.py       the parts of file names: a class, a speaker
roles.py            what the columns of a table are for: to predict, to predict from, not to read
advice.py           what to do with files of every kind
table_tasks.py      what to predict from a table, or the tasks to choose from
suggestion.py       the section ``data`` and the model to start from, as YAML and as a command
"""

from composer.data.survey.surveying import Survey, survey

__all__ = ["Survey", "survey"]
