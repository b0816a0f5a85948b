"""Solvers: the linear recurrence of every scan, computed in place and without gradients.

    forwards:   b_{t+1} <- b_{t+1} + a_t * b_t      backwards:  b_t <- b_t + a_t * b_{t+1}

Time is the first axis here: b is (T, ...), and a (T - 1, ...) holds the factors between neighbouring steps, the same in
both directions. A solver for another kind of device, or a faster one, is a function of the same form in SOLVERS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torch import Tensor

Solver = Callable[[Tensor, Tensor, bool], None]

#: With fewer numbers per step than this, launching an operation takes longer than computing it.
NARROW = 1024

#: The numbers in one block of steps, by device: on a CPU what fits into its cache, elsewhere what memory permits.
BLOCK = {"cpu": 2**18}
LARGE_BLOCK = 2**24


def solve(a: Tensor, b: Tensor, backwards: bool = False) -> None:
    """Replace b by the solution of the recurrence."""
    SOLVERS.get(b.device.type, tree)(a, b, backwards)


def loop(a: Tensor, b: Tensor, backwards: bool) -> None:
    """Sequential: one operation per step."""
    links, steps = a.unbind(0), b.unbind(0)
    if backwards:
        for t in range(len(links) - 1, -1, -1):
            steps[t].addcmul_(links[t], steps[t + 1])
    else:
        for t in range(len(links)):
            steps[t + 1].addcmul_(links[t], steps[t])


def tree(a: Tensor, b: Tensor, backwards: bool) -> None:
    """Parallel scan, about 5 log2(T) operations.

    Every second step is combined with its neighbour, these pairs are solved recursively, and then the other steps.
    """
    T = len(b)
    if T < 3:
        return loop(a, b, backwards)
    if backwards:
        half = b[0::2].clone()
        half[: T // 2].addcmul_(a[0::2], b[1::2])
        tree(a[0::2][: len(half) - 1] * a[1::2][: len(half) - 1], half, backwards)
        b[0::2] = half
        b[1::2][: len(half) - 1].addcmul_(a[1::2], half[1:])
    else:
        half = b[1::2].addcmul(a[0::2], b[0::2][: T // 2])
        tree(a[1::2][: len(half) - 1] * a[2::2], half, backwards)
        b[1::2] = half
        b[2::2].addcmul_(a[1::2], half[: (T - 1) // 2])
    return None


def by_width(a: Tensor, b: Tensor, backwards: bool) -> None:
    """On a CPU: ``loop`` for few or wide steps, ``tree`` for many narrow steps."""
    (loop if len(b) <= 16 or b[0].numel() > NARROW else tree)(a, b, backwards)


def nothing(a: Tensor, b: Tensor, backwards: bool) -> None:
    """On the meta device there is nothing to compute."""


SOLVERS: dict[str, Solver] = {"cpu": by_width, "meta": nothing}  # by device type; ``tree`` for all others


def spans(time: int, like: Tensor) -> Iterator[slice]:
    """Blocks of steps as slices of time, for steps as large as ``like``."""
    length = time if like.is_meta else max(1, BLOCK.get(like.device.type, LARGE_BLOCK) // max(1, like.numel()))
    for start in range(0, time, length):
        yield slice(start, min(start + length, time))
