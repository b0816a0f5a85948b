"""minGRU and minLSTM, forward and backward, as multiples of their own linear layers alone.

python -m benchmarks.recurrence [--seconds 10] [--threads 2] [--peers FOLDER]

The peer is the package minGRU-pytorch: pip install --no-deps --target FOLDER minGRU-pytorch. Without it the table
has no column for it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable

import torch
from composer.catalogue.mixer.mingru import MinGRU
from composer.catalogue.mixer.minlstm import MinLSTM
from torch import Tensor, nn

from benchmarks.timing import best_times
from composer.core.signals import Seq

SHAPES = [(16, 512, 256), (16, 2048, 256), (64, 512, 256), (16, 64, 64), (1, 2048, 64)]
BLOCKS = {"mingru": (MinGRU, 2, "minGRU"), "minlstm": (MinLSTM, 3, "minLSTM")}


def training_step(module: nn.Module, call: Callable[[Tensor], Tensor], x: Tensor, width: int) -> Callable[[], None]:
    """Forward and backward, down to the gradients of the input and of every weight."""
    gradient = torch.randn(*x.shape[:2], width)

    def step() -> None:
        call(x).backward(gradient)
        x.grad = None
        for parameter in module.parameters():
            parameter.grad = None

    return step


def contestants(name: str, shape: tuple[int, int, int]) -> dict[str, Callable[[], None]]:
    block, gates, peer = BLOCKS[name]
    dim = shape[2]
    x = torch.randn(*shape, requires_grad=True)
    linear = nn.Linear(dim, gates * dim, bias=False)
    ours = block(dim, None, bias=False)
    found = {
        "floor": training_step(linear, linear, x, gates * dim),
        "ours": training_step(ours, lambda values: ours(Seq(values))[0].values, x, dim),
    }
    if _peer_is_here():
        theirs = getattr(importlib.import_module(f"minGRU_pytorch.{peer}"), peer)(dim)
        found["peer"] = training_step(theirs, theirs, x, dim)
    return found


def _peer_is_here() -> bool:
    return importlib.util.find_spec("minGRU_pytorch") is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="for each row of the table")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--peers", help="folder into which the peer was installed")
    options = parser.parse_args()
    if options.peers:
        sys.path.append(options.peers)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(f"forward + backward, {options.threads} threads, torch {torch.__version__}")
    heading = f"{'block':<8} {'(B, T, D)':<15} {'floor ms':>9} {'ours ms':>9} {'ours/floor':>11}"
    print(heading + (f" {'ours/minGRU-pytorch':>20}" if _peer_is_here() else ""))
    for name in BLOCKS:
        for shape in SHAPES:
            best = best_times(contestants(name, shape), options.seconds)
            floor, ours = best["floor"], best["ours"]
            row = f"{name:<8} {shape!s:<15} {1e3 * floor:9.2f} {1e3 * ours:9.2f} {ours / floor:11.2f}"
            print(row + (f" {ours / best['peer']:20.2f}" if "peer" in best else ""), flush=True)


if __name__ == "__main__":
    main()
