"""The time of a training step of a masked language model: its head at the chosen steps alone, and at all steps.

python -m benchmarks.counted_steps [--rounds 7] [--share 0.15]

A step is the forward and the backward pass of ``model=tagger`` over random texts of ragged lengths. Both ways take
turns on the same batches; the best round of each counts.
"""

from __future__ import annotations

import argparse
import time

import torch

from composer.core.signals import Field, Ids
from composer.graph.compiler import compile_graph
from composer.graph.counted_steps import ALL_STEPS, CountedByHead, CountedSteps
from composer.graph.graph import Graph
from composer.objectives import Batch
from composer.training.losses import loss_sums

#: The vocabulary, the width, the number of layers, the rows of a batch and the length of the longest row.
CASES = ((1000, 128, 2, 32, 64), (5000, 128, 2, 32, 64), (30000, 128, 2, 32, 64), (30000, 256, 4, 16, 128))


def model(vocabulary: int, dim: int, depth: int) -> Graph:
    field = Field("ids", vocabulary=vocabulary)
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": dim, "from": "source"},
        "encoder": {"kind": "stack", "from": "embedding", "mixer": "attention", "ffn": "mlp", "norm": "layer",
                    "depth": depth, "causal": False},
        "output": {"kind": "head", "type": "categorical", "from": "encoder", "predicts": "target"},
    }  # fmt: skip
    fields = {"source": field, "target": Field("ids", vocabulary=vocabulary, axis="source")}
    return compile_graph(nodes, fields).materialise(1)


def texts(vocabulary: int, rows: int, longest: int, share: float) -> Batch:
    """Random texts of half to all of the longest length; the share of their steps that count has the weight 1."""
    lengths = torch.randint(longest // 2, longest + 1, (rows,))
    lengths[0] = longest
    ids = Ids(torch.randint(vocabulary, (rows, longest)), lengths)
    assert ids.mask is not None
    return Batch({"source": ids, "target": ids}, {"target": ((torch.rand(rows, longest) < share) & ids.mask).float()})


def seconds(graph: Graph, batch: Batch, counted: CountedByHead) -> float:
    began = time.perf_counter()
    outputs, _ = graph(graph.read(batch.signals), counted=counted)
    loss = loss_sums(graph, outputs, batch, counted).sum() / batch.weights["target"].sum()
    graph.zero_grad()
    loss.backward()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--share", type=float, default=0.15)
    options = parser.parse_args()
    torch.manual_seed(0)
    print(f"{'vocabulary':>10} {'dim':>4} {'layers':>6} {'batch':>9} {'all, ms':>9} {'chosen, ms':>11} {'ratio':>6}")
    for vocabulary, dim, depth, rows, longest in CASES:
        graph, batch = model(vocabulary, dim, depth), texts(vocabulary, rows, longest, options.share)
        chosen = CountedSteps.of(batch.weights["target"])
        assert chosen is not None, "so many steps count that none is left out"
        times: dict[str, list[float]] = {"all": [], "chosen": []}
        for _ in range(options.rounds + 1):
            times["all"].append(seconds(graph, batch, ALL_STEPS))
            times["chosen"].append(seconds(graph, batch, {"output": chosen}))
        whole, few = (min(found[1:]) * 1e3 for found in times.values())  # the first round is a warm-up
        sizes = f"{vocabulary:10,} {dim:4} {depth:6} {f'{rows} x {longest}':>9}"
        print(f"{sizes} {whole:9.1f} {few:11.1f} {whole / few:6.2f}", flush=True)


if __name__ == "__main__":
    main()
