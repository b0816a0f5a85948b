"""Attention heads: parts of a sequence's width that attend in parallel."""

from __future__ import annotations

from torch import Tensor

from composer import Invalid


def head_width(dim: int, heads: int) -> int:
    """The width of each head; Invalid if the number of heads does not divide the width."""
    if dim % heads:
        choices = [count for count in range(1, dim + 1) if dim % count == 0]
        near = sorted(sorted(choices, key=lambda count: abs(count - heads))[:3])
        raise Invalid("heads", f"{heads} heads do not divide the width {dim}. Use {', '.join(map(str, near))}, ...")
    return dim // heads


def split_heads(values: Tensor, heads: int) -> Tensor:
    """(B, T, H * K) -> (B, H, T, K)"""
    return values.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(values: Tensor) -> Tensor:
    """(B, H, T, K) -> (B, T, H * K)"""
    return values.transpose(1, 2).flatten(2)


def repeat_heads(values: Tensor, heads: int) -> Tensor:
    """(B, G, S, K) -> (B, H, S, K), each key or value head repeated for the H / G query heads that share it."""
    shared = values.shape[1]
    return values if shared == heads else values.repeat_interleave(heads // shared, dim=1)
