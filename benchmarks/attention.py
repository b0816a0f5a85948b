"""Attention layers, forward and backward: the layer against its bare kernel, and what positions and shorter reach cost.

python -m benchmarks.attention [--seconds 10] [--threads 2] [--flush] [--shapes 8x512 2x2048]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.timing import best_times
from composer.core import registry
from composer.core.binding import Report, bind_block
from composer.core.signals import Seq

DIM, HEADS = 256, 8
SHAPES = [(8, 512), (2, 2048), (1, 4096)]  # (B, T)
LAYERS: dict[str, dict[str, Any]] = {
    "attention": {"type": "attention"},
    "rotary": {"type": "attention", "position": "rotary"},
    "alibi": {"type": "attention", "position": "alibi"},
    "relative": {"type": "attention", "position": "relative"},
    "2 kv_heads": {"type": "attention", "kv_heads": 2},
    "sliding_window 64": {"type": "sliding_window", "window": 64},
    "sparse 64": {"type": "sparse", "stride": 64},
    "linear_attention": {"type": "linear_attention"},
    "retention": {"type": "retention"},
}


class ByHand(nn.Module):
    """What anybody would write around the kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(DIM, 3 * DIM)
        self.output = nn.Linear(DIM, DIM)

    def forward(self, x: Tensor) -> Tensor:
        B, T, _ = x.shape
        q, k, v = (part.view(B, T, HEADS, -1).transpose(1, 2) for part in self.project(x).chunk(3, dim=-1))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(heads.transpose(1, 2).reshape(B, T, DIM))


def layer(config: dict[str, Any]) -> nn.Module:
    report = Report()
    recipe = bind_block("mixer", {**config, "heads": HEADS}, "layer", report)
    assert recipe is not None, report.problems
    return recipe.build(dim=DIM, causal=True)


def values_of(module: nn.Module, values: Tensor) -> Tensor:
    return module(Seq(values))[0].values


def training_step(module: nn.Module, call: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], None]:
    """Forward and backward, down to the gradients of the input and of every weight."""
    gradient = torch.randn_like(x)

    def step() -> None:
        call(x).backward(gradient)
        x.grad = None
        for parameter in module.parameters():
            parameter.grad = None

    return step


def contestants(batch: int, time: int) -> dict[str, Callable[[], None]]:
    x = torch.randn(batch, time, DIM, requires_grad=True)
    by_hand = ByHand()
    found = {"by hand": training_step(by_hand, by_hand, x)}
    for name, config in LAYERS.items():
        module = layer(config)
        found[name] = training_step(module, partial(values_of, module), x)
    return found


def shape(text: str) -> tuple[int, int]:
    batch, time = text.split("x")
    return int(batch), int(time)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="for each shape")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--flush", action="store_true", help="round numbers too small for float32 to 0 (alibi makes many)"
    )
    parser.add_argument("--shapes", type=shape, nargs="+", default=SHAPES, help="e.g. 8x512 2x2048")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(options.flush)
    torch.manual_seed(0)
    registry.kinds()  # loads the blocks
    print(f"forward + backward, causal, D {DIM}, {HEADS} heads, {options.threads} threads, torch {torch.__version__}")
    print("milliseconds, and multiples of the kernel with projections written by hand")
    for batch, time in options.shapes:
        best = best_times(contestants(batch, time), options.seconds, rounds=3)
        print(f"\nB {batch}, T {time}")
        for name, seconds in best.items():
            print(f"  {name:<18} {1e3 * seconds:9.1f} {seconds / best['by hand']:6.2f}", flush=True)


if __name__ == "__main__":
    main()
