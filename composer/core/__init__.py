"""The lowest layer: signals, the block protocol, knobs and their binding, the registry, problems.

streaming/    blocks step by step: recurrences, pointwise blocks, one way to call a block, copies that are fast to call
storage/      files written atomically, locks on folders, names of folders, the example files of the package

What a process keeps beside its objects, in all rooms; a test finds nothing else. Stacks, for as long as a ``with``:

core/recording.py       what blocks record: attention weights, terms of sums, inputs of layers, auxiliary losses
config/environment.py   whether texts of environment variables stand for themselves, and the variables that were read

Lists that only grow: what was registered, what was parsed, what was found.

core/block.py           the signatures of blocks
core/registry.py        the registered entries, and the modules that were loaded as plugins
config/loading.py       parsed files of configs, until they change
config/yaml_files.py    the user's files with a list of defaults
data/workers.py         in a process that encodes data: its work
views/figures/fonts.py  the fonts found beside matplotlib's own, and the scripts for which there is none

Beside these, results are cached by ``functools.cache``, which changes no result.
"""
