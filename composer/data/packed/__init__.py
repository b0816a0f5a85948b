"""Encoded examples in flat tensors, in memory or memory-mapped."""
