"""Counter-based random numbers: each number is a function of a key and its index, so no generator state is needed.

Any example can be generated alone and in any order. Every number is SplitMix64 (Steele, Lea and Flood, 2014) of a key
and an index; the numbers of a batch take a handful of operations on whole tensors.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15


def _signed(value: int) -> int:
    """The int64 with the same 64 bits as an unsigned number."""
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def mix(values: Tensor) -> Tensor:
    """SplitMix64's finaliser on int64, whose arithmetic wraps around."""
    values = (values ^ _shift(values, 30)) * _signed(0xBF58476D1CE4E5B9)
    values = (values ^ _shift(values, 27)) * _signed(0x94D049BB133111EB)
    return values ^ _shift(values, 31)


def _shift(values: Tensor, bits: int) -> Tensor:
    """Logical shift to the right, which fills with zeros."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def uniform(seed: int, name: str, rows: Tensor, count: int) -> Tensor:
    """(B, count) numbers in [0, 1), float64. Row i depends only on the seed, the name and ``rows[i]``."""
    keys = mix(_key(seed, name) + rows.long() * _signed(_GOLDEN))  # (B,)
    places = torch.arange(1, count + 1) * _signed(_GOLDEN)  # (count,)
    bits = _shift(mix(keys[:, None] + places), 11)  # 53 bits, the precision of a float64
    return bits.double() * 2.0**-53


@lru_cache(256)  # every batch uses the same few keys
def _key(seed: int, name: str) -> int:
    return int(mix(torch.tensor(_signed(seed * _GOLDEN + zlib.crc32(name.encode())))))


def below(values: Tensor, limit: Tensor | int) -> Tensor:
    """Uniform numbers in [0, 1) as integers from 0 to ``limit - 1``."""
    return (values * limit).floor().long()


def normal(seed: int, name: str, rows: Tensor, count: int) -> Tensor:
    """(B, count) standard normal numbers, float64, made of uniform ones in pairs (Box and Muller, 1958)."""
    half = -(-count // 2)
    u, v = uniform(seed, name, rows, 2 * half).chunk(2, dim=1)
    radius, angle = (-2 * (1 - u).log()).sqrt(), 2 * math.pi * v
    return torch.cat([radius * angle.cos(), radius * angle.sin()], dim=1)[:, :count]
