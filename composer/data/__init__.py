"""Data sources. A source declares the fields of its examples, and so the sizes from which the model is built.

files/       the user's files: found, here or at an address, decompressed, read line by line; rows that cannot be read
layout/      what a file looks like: encoding, delimiter, quotes, header, comments
tables/      records out of files: how a file becomes rows of named cells, one by one or in batches by columns
fields/      types of declared fields: how cells become values
tokenisers/  texts to token ids and back
codecs/      values to tensors and back
splits/      the records as they are stored, and their division into training, validation and test
packed/      encoded examples in flat tensors, in memory or memory-mapped
cache/       what was learned and encoded, kept between runs
own/         sources that read the user's files
series/      series with times: gaps, calendar, splits by date
survey/      what a user's files hold, and the config to start from
embedded/    real data that comes with Python packages
synthetic/   tasks with a known answer, generated from a seed
"""

from composer.data.source import SPLITS, Source, Split, load_source

__all__ = ["SPLITS", "Source", "Split", "load_source"]
