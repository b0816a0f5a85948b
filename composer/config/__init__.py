"""Composition of configs by Hydra, with the file and line of every value, and compilation of a config's graph.

overrides.py        the words of a command line, and what they may not do
yaml_files.py       one YAML file: read, checked, with the line of every key
search_path.py      the folders of configs: Hydra chooses the files, which are merged
layers.py           the merging, and what set every value
slots.py            what merging leaves to do for the blocks of a model
resolution.py       the values of interpolations, ${...}
environment.py      those of ${oc.env:...}, which no file of a run may hold
general.py          the keys of no section: seed, names, folders
chosen_by_files.py  what files choose, and only the command line may: code, runs to go on with, paths to anywhere
sentences.py        Hydra's errors in our words
composition.py      all of this, in order: from overrides to a ``Composed``
assembly.py         from a ``Composed`` to the data source, the objective and the graph
completion.py       what an override can begin with, for completion with Tab
"""
