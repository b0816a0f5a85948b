"""Blocks made of blocks: what the kernel itself registers."""
