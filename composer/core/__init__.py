"""The lowest layer: signals, the block protocol, knobs and their binding, the registry, problems.

streaming/    blocks step by step: recurrences, pointwise blocks, one way to call a block, copies that are fast to call
storage/      files written atomically, locks on folders, names of folders, the example files of the package
"""
