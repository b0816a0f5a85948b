"""The lowest layer: signals, the block protocol, knobs and their binding, the registry, problems.

streaming/    blocks step by step: recurrences, pointwise blocks, one way to call a block, copies that are fast to call
showing/      what objects show of themselves at a prompt and in a notebook
storage/      files written atomically, names of folders, the files that come with the package, JSON for programs
hints/        what a user may have meant

What a process keeps beside its objects, in all rooms; a test finds nothing else. Stacks, for as long as a ``with``:

core/problems.py        what is told of an error as JSON (--json)
core/storage/json_output.py  where the events of a training go (--json)
core/recording.py       what blocks record: attention weights, terms of sums, inputs of layers, auxiliary losses
cli/train.py            whether a training measures its signals first, which Hydra cannot be told
config/environment.py   whether a variable of the environment stands for itself, unread
config/yaml_files.py    the user's folder of configs, and the parsed files, until they change

Lists that only grow: what was registered, what was parsed, what was found.

core/block.py           the signatures of blocks
core/problems.py        the latest suggestions in messages
core/registry.py        the registered entries, and the modules that were loaded as plugins
config/search_path.py   the lists of defaults that Hydra has computed
data/workers.py         in a process that encodes data: its work
views/figures/fonts.py  the fonts found beside matplotlib's own, and the scripts for which there is none

Beside these, results are cached by ``functools.cache``, which changes no result.
"""
