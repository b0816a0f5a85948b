"""What everything else rests on: signals, the block protocol, knobs and their binding, the registry, problems."""
