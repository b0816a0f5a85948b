"""Blocks made of blocks, which the kernel itself registers: stack and bidirectional."""
