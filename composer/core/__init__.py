"""The lowest layer: signals, the block protocol, knobs and their binding, the registry, problems."""
