"""How long a run takes until its first batch, and how much memory its data takes: a text, and pairs of sentences.

The files are made here, of words with a Zipf distribution, and removed at the end. A start is a process of its own, in
which the clock starts after the imports: the config is composed and checked, the graph compiled without weights, and
the first batch made. The first start reads the files and fills an empty cache, the second one maps what was kept, and
``two together`` are two processes at once on what was kept, as in data parallelism. Memory is what was added after the
imports, summed over the processes: ``anonymous`` are pages that no file backs, those of workers included, and
``mapped`` are pages of files, each divided by the number of processes that use it (PSS), which the system can drop.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: What a started process does; it prints seconds and bytes.
START = """
import json, re, sys, threading, time
from pathlib import Path
from composer.config.composition import compose
from composer.core import registry
from composer.training.run.plan import prepare
from composer.training.micro_batches import StepBatches

registry.load([])
highest = {"anonymous": 0, "mapped": 0}

def children(process):
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            yield int(child)
            yield from children(child)

def memory():
    found = {"anonymous": 0, "mapped": 0}
    for process in ["self", *children("self")]:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        sizes = {name: 1024 * int(size) for name, size in re.findall(r"(\\w+):\\s+(\\d+) kB", rollup)}
        found["anonymous"] += sizes["Pss_Anon"]
        found["mapped"] += sizes["Pss_File"]
    return found

def look():
    for name, size in memory().items():
        highest[name] = max(highest[name], size)

def watch():
    while True:
        try:
            look()
        except (OSError, KeyError):
            pass  # a worker has ended
        time.sleep(0.1)

overrides, rank, world, ready, end = json.loads(sys.argv[1])
before = memory()
highest.update(before)
threading.Thread(target=watch, daemon=True).start()
began = time.perf_counter()
plan = prepare(compose(overrides))
next(iter(StepBatches(plan.loader(rank, world), list(plan.meta.plan.targets))))
seconds = time.perf_counter() - began
Path(ready).touch()
while not Path(end).exists():  # all processes have mapped the data
    time.sleep(0.05)
look()
source = plan.objective.source
print(json.dumps({"seconds": seconds, "rows": source.size("train"), "tokens": source.fields["target"].vocabulary,
                  **{name: highest[name] - before[name] for name in highest}}))
"""


def words(count: int, seed: int = 0) -> list[str]:
    """Different words of two to ten letters."""
    draw = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(draw.choices("etaoinshrdlucmfwypvbgkjqxz", k=draw.randint(2, 10)))] = None
    return list(found)


def sentences(known: list[str], length: tuple[int, int], seed: int = 0) -> Iterator[str]:
    """Sentences whose words are drawn with the frequency 1 / rank."""
    draw = random.Random(seed)
    weights = list(accumulate(1 / rank for rank in range(1, len(known) + 1)))
    while True:
        drawn = draw.choices(known, cum_weights=weights, k=20000)
        at = 0
        while at + length[1] < len(drawn):
            end = at + draw.randint(*length)
            yield " ".join(drawn[at:end])
            at = end


def write_text(path: Path, size: int, known: list[str]) -> None:
    """About ``size`` bytes of text. A block of sentences is repeated in another order each time."""
    source, draw = sentences(known, (5, 25)), random.Random(1)
    block = [next(source) for _ in range(min(200_000, size // 1000 + 1))]
    with path.open("w") as file:
        while file.tell() < size:
            draw.shuffle(block)
            file.write("\n".join(block) + "\n")


def write_pairs(path: Path, count: int, known: list[str]) -> None:
    source = sentences(known, (4, 16))
    with path.open("w") as file:
        for start in range(0, count, 10000):
            rows = [next(source) for _ in range(min(10000, count - start) + 1)]
            file.writelines(f"{row}\t{' '.join(reversed(row.split()))}\n" for row in rows[1:])


def start(overrides: list[str], space: Path, together: int) -> list[dict[str, Any]]:
    """What each of the processes measured."""
    environment = {**os.environ, "COMPOSER_CACHE": str(space / "cache"), "PYTHONPATH": str(ROOT)}
    end, marks = space / "end", [space / f"ready{rank}" for rank in range(together)]
    for mark in (end, *marks):
        mark.unlink(missing_ok=True)
    processes = []
    for rank, mark in enumerate(marks):
        given = json.dumps([overrides, rank, together, str(mark), str(end)])
        command = [sys.executable, "-c", START, given]
        processes.append(subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True))
    while not all(mark.exists() for mark in marks) and all(process.poll() is None for process in processes):
        time.sleep(0.05)
    end.touch()
    return [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]


def table(name: str, overrides: list[str], space: Path) -> Iterator[str]:
    """The rows of the printed table for one config."""
    shutil.rmtree(space / "cache", ignore_errors=True)
    for label, together in (("first start", 1), ("second start", 1), ("two together", 2)):
        found = start(overrides, space, together)
        seconds = max(one["seconds"] for one in found)
        anonymous, mapped = (sum(one[kind] for one in found) / 2**20 for kind in ("anonymous", "mapped"))
        size = f"{found[0]['rows']:,} rows, {found[0]['tokens']:,} tokens"
        yield f"{name:<26} {label:<13} {seconds:8.1f} s {anonymous:9,.0f} MB {mapped:7,.0f} MB   {size}"
    kept = sum(file.stat().st_size for file in (space / "cache").rglob("*") if file.is_file())
    yield f"{'':<26} kept in the cache: {kept / 2**20:,.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of the text")
    parser.add_argument("--pairs", type=int, default=2_000_000, help="the number of pairs")
    parser.add_argument("--words", type=int, default=200_000, help="the size of the vocabulary of words")
    parser.add_argument("--tokenisers", nargs="*", default=["characters", "bpe"], help="of the text")
    parser.add_argument("--folder", help="where the files are made; a temporary folder by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="composer-start-") as folder:
        space = Path(folder)
        known = words(options.words)
        print(f"{'data':<26} {'':<13} {'seconds':>10} {'anonymous':>12} {'mapped':>10}")
        small = ["model.dim=16"]
        if options.gigabytes and options.tokenisers:
            path = space / "text.txt"
            write_text(path, round(options.gigabytes * 1e9), known)
            for kind in options.tokenisers:
                data = ["data=text", f"data.path={path}", f"data.tokeniser.type={kind}"]
                more = ["model=language_model", "objective=next_token", *small]
                for row in table(f"text, {options.gigabytes:g} GB, {kind}", [*data, *more], space):
                    print(row, flush=True)
            path.unlink()
        if options.pairs:
            path = space / "pairs.tsv"
            write_pairs(path, options.pairs, known)
            data = ["data=pairs", f"data.path={path}", "data.tokeniser.type=words", "data.tokeniser.rows=null",
                    f"data.tokeniser.vocabulary={options.words}"]  # fmt: skip
            for row in table(f"{options.pairs:,} pairs", [*data, "model=seq2seq", *small], space):
                print(row, flush=True)


if __name__ == "__main__":
    main()
