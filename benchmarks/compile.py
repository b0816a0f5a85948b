"""How long a user waits for an answer: compiling a graph, listing blocks, completing a word.

    python -m benchmarks.compile

Best of several, in milliseconds. Compile times are after imports, torch's own for the meta device among them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from composer.config.composition import compose
from composer.core.signals import Field
from composer.data import load_source
from composer.graph.compiler import compile_graph

ROUNDS = 5


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Milliseconds of the fastest of several."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return 1000 * min(times)


def chain(count: int) -> tuple[dict, dict[str, Field]]:
    """A graph of ``count`` nodes, most of them stacks that read the one before and, every third, one further back."""
    layer = {"kind": "stack", "mixer": "attention", "ffn": "mlp", "norm": "layer", "depth": 1}
    nodes: dict = {"n0": {"kind": "embedding", "type": "token", "dim": 64, "from": "target"}}
    for index in range(1, count - 1):
        before = f"n{index - 1}"
        skip = {"kind": "merge", "type": "add", "from": [before, f"n{max(0, index - 3)}"]}
        nodes[f"n{index}"] = skip if index % 3 == 0 else {**layer, "from": before}
    nodes["output"] = {"kind": "head", "type": "categorical", "from": f"n{count - 2}", "predicts": "target"}
    return nodes, {"target": Field("ids", vocabulary=50, start=0, stop=1)}


def command(*words: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-m", "composer", *words], capture_output=True, check=True)


def main() -> None:
    composed = compose()
    nodes, fields = composed.values["model"]["nodes"], load_source(composed.values["data"]).fields
    compile_graph(nodes, fields)  # what torch imports at its first meta tensor
    rows = [
        ("compile the default seq2seq graph", best(lambda: compile_graph(nodes, fields)), 300),
        ("compile a graph of 100 nodes", best(lambda: compile_graph(*chain(100))), 2000),
        ("python -m composer blocks, in total", best(command("blocks"), 3), 3000),
        ("tab completion, in total", best(command("complete", "python train.py mixer=m"), 3), 1000),
        ("python -m composer describe, in total", best(command("describe"), 3), None),
    ]
    print(f"{'what':<40} {'ms':>8} {'at most':>8}")
    for what, milliseconds, limit in rows:
        print(f"{what:<40} {milliseconds:>8.0f} {limit or '':>8}")


if __name__ == "__main__":
    main()
