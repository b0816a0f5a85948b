"""A single step of each recurrent mixer, as decoding takes it: microseconds for all rows of a batch.

python -m benchmarks.steps [--batches 1 16] [--mixers gru s4d ...] [--seconds 2] [--threads 1]

The step of the GRU is a single operation of torch: it is the floor under the others. For one row, the time goes into
starting operations, about 2 microseconds each: a step of s4d has 8 besides views, selective and rg_lru about 20. For
many rows, it goes into the state as well, of which a GRU has D numbers a row, linear attention and retention D * D / H,
selective 2 D * N and s4d D * 2 N: 32 and 64 times as many at the default sizes. Each operation on such a state reads
and writes all of it, so the figures of many rows depend on the cache, and on who else is using it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.timing import best_times
from composer.core.block import Recipe
from composer.core.registry import blocks
from composer.core.streaming.block_steps import state_step
from composer.core.streaming.streaming_copy import streaming_copy

DIM, STEPS = 128, 20  # few steps at a time: the best of many short times is the least disturbed
MIXERS = ("rnn", "gru", "lstm", "mingru", "minlstm", "rg_lru", "s4d", "selective", "retention", "linear_attention")


def walker(mixer: str, batch: int) -> Callable[[], None]:
    """A function that takes STEPS steps of a mixer from its first state, over inputs of unit size.

    Outputs are not fed back: without the norms of a stack around it, a mixer may shrink or enlarge its input at every
    step, to sizes that no model has.
    """
    block: Any = Recipe("mixer", mixer, blocks("mixer")[mixer], {}, "").build(dim=DIM, causal=True).eval()
    step = state_step(streaming_copy(block))
    inputs = torch.randn(STEPS, batch, DIM).unbind(0)

    @torch.inference_mode()
    def steps() -> None:
        state = block.start(batch)
        for x in inputs:
            _, state = step(x, state)

    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2, help="for each mixer and batch size")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--mixers", nargs="+", default=MIXERS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"microseconds a step, width {DIM}, {options.threads} threads, torch {torch.__version__}")
    print(f"{'mixer':<18}" + "".join(f"{f'B = {batch}':>10}" for batch in options.batches))
    for mixer in options.mixers:
        times = [best_times({mixer: walker(mixer, batch)}, options.seconds)[mixer] for batch in options.batches]
        print(f"{mixer:<18}" + "".join(f"{1e6 * time / STEPS:>10.1f}" for time in times), flush=True)


if __name__ == "__main__":
    main()
