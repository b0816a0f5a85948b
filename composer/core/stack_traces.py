"""Tracing by torch.export without the stack traces of the operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch.fx


@contextmanager
def without_stack_traces() -> Iterator[None]:
    """Operations traced in a ``with`` block have no stack traces: they hold file paths, and take long to record."""
    before = torch.fx.config.do_not_emit_stack_traces
    torch.fx.config.do_not_emit_stack_traces = True
    try:
        yield
    finally:
        torch.fx.config.do_not_emit_stack_traces = before
