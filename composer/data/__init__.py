"""Data sources. A source declares the fields of its examples, and so the sizes from which the model is built.

cache/      what was learned and encoded, kept between runs
fields/     types of declared fields: how cells become values, and values tensors
layout/     what a file looks like: encoding, delimiter, quotes, header, comments
own/        sources that read the user's files
series/     series with times: gaps, calendar, splits by date
survey/     what a user's files hold, and the config to start from
embedded/   real data that comes with Python packages
synthetic/  tasks with a known answer, generated from a seed
"""

from composer.data.source import SPLITS, Source, Split, load_source

__all__ = ["SPLITS", "Source", "Split", "load_source"]
