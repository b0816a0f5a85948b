"""Shared parts of attention blocks: heads, scores, weighted means, the KV cache, and the multi-head layer."""

from .heads import head_width, join_heads, split_heads
from .mean import attend, never_empty, weights

__all__ = ["attend", "head_width", "join_heads", "never_empty", "split_heads", "weights"]
