"""Shared parts of attention blocks: heads, scores, weighted means, the KV cache, and the multi-head layer."""

from blocks.attention.heads import head_width, join_heads, split_heads
from blocks.attention.mean import attend, never_empty, weights

__all__ = ["attend", "head_width", "join_heads", "never_empty", "split_heads", "weights"]
