"""Data sources. A source declares the fields of its examples, and so the sizes from which the model is built.

fields/     types of declared fields: how cells become values, and values tensors
layout/     what a file looks like: encoding, delimiter, quotes, header, comments
own/        sources that read the user's files
embedded/   real data that comes with Python packages
survey/     a first look at the columns of a user's files, for the command data
synthetic/  tasks with a known answer, generated from a seed
"""

from composer.data.source import SPLITS, Source, Split, load_source

__all__ = ["SPLITS", "Source", "Split", "load_source"]
