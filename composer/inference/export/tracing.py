"""Tracing with dynamic sizes, without work that no one reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from composer.core.stack_traces import without_stack_traces


@contextmanager
def quick_tracing() -> Iterator[None]:
    """Operations traced in a ``with`` block have no stack traces, and torch keeps no cache of results.

    With symbolic sizes, the keys of this cache cost more time than its hits save. With fixed sizes they do not.
    """
    import torch._dynamo.config  # takes a second, which every trace spends, but no import of this room

    with without_stack_traces(), torch._dynamo.config.patch(fake_tensor_cache_enabled=False):
        yield
