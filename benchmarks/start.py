"""How long a run takes until its first batch, and how much memory its data takes: a text, and pairs of sentences.

The files are made here, of words with a Zipf distribution, and removed at the end. A start is a process of its own: it
loads the data section, plans the batches of an epoch and makes the first one. Imports are done before the clock starts.
The first start reads the files and fills an empty cache, the second start maps what was kept. ``together`` starts two
processes at once on the kept data, as two processes of data parallelism do. The memory of a process is its growth
after the imports: ``anonymous`` counts the pages that the process alone can use (with its workers), and ``shared``
the pages of the mapped files, divided by the number of processes that have mapped them (PSS).
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
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: What a started process does; it prints seconds and bytes.
START = """
import json, re, sys, threading, time
from pathlib import Path
import train
from composer.batching import Batches, Loader
from composer.core import registry
from composer.data import load_source
from composer.objectives import load_objective

registry.load([])
highest = {"anonymous": 0, "shared": 0}

def children(process):
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            yield int(child)
            yield from children(child)

def memory():
    anonymous = shared = 0
    for process in ["self", *children("self")]:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        sizes = {name: 1024 * int(size) for name, size in re.findall(r"(\\w+):\\s+(\\d+) kB", rollup)}
        anonymous += sizes["Pss_Anon"]
        shared += sizes["Pss_File"]
    return {"anonymous": anonymous, "shared": shared}

def watch():
    while True:
        try:
            for name, size in memory().items():
                highest[name] = max(highest[name], size)
        except (FileNotFoundError, ProcessLookupError, KeyError):
            pass  # a worker has ended
        time.sleep(0.1)

section, training = json.loads(sys.argv[1])
before = memory()
highest.update(before)
threading.Thread(target=watch, daemon=True).start()
began = time.perf_counter()
source = load_source(section)
objective = load_objective({"type": training["objective"]}, source)
batches = Batches(objective, "train", rows=training["rows"], sort=True, seed=0)
batch = next(iter(Loader(objective, batches)))
seconds = time.perf_counter() - began
for name, size in memory().items():
    highest[name] = max(highest[name], size)
print(json.dumps({"seconds": seconds, "rows": source.size("train"), "vocabulary": source.fields["target"].vocabulary,
                  **{name: highest[name] - before[name] for name in highest}}))
if len(sys.argv) > 2:
    Path(sys.argv[2]).touch()
    while not Path(sys.argv[3]).exists():  # the other process measures while both have mapped the data
        time.sleep(0.05)
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


def start(section: dict[str, Any], training: dict[str, Any], cache: Path, together: int = 1) -> list[dict[str, Any]]:
    """What each of the processes measured."""
    environment = {**os.environ, "COMPOSER_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    end = cache.parent / "end"
    end.unlink(missing_ok=True)
    marks = [cache.parent / f"ready{i}" for i in range(together)]
    command = [sys.executable, "-c", START, json.dumps([section, training])]
    processes = []
    for mark in marks:
        mark.unlink(missing_ok=True)
        more = [str(mark), str(end)] if together > 1 else []
        processes.append(
            subprocess.Popen([*command, *more], env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        )
    if together > 1:
        while not all(mark.exists() or process.poll() for mark, process in zip(marks, processes, strict=True)):
            try:
                processes[0].wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        end.touch()
    found = [process.communicate()[0] for process in processes]
    return [json.loads(output.splitlines()[-1]) for output in found]


def table(name: str, section: dict[str, Any], training: dict[str, Any], space: Path) -> Iterator[str]:
    """The rows of the printed table for one data section."""
    cache = space / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    for label, together in (("first start", 1), ("second start", 1), ("two together", 2)):
        found = start(section, training, cache, together)
        seconds = max(one["seconds"] for one in found)
        anonymous, shared = (sum(one[kind] for one in found) / 2**20 for kind in ("anonymous", "shared"))
        rows, vocabulary = found[0]["rows"], found[0]["vocabulary"]
        yield (
            f"{name:<22} {label:<13} {seconds:8.1f} s {anonymous:9,.0f} MB {shared:7,.0f} MB   "
            f"{rows:,} rows, {vocabulary:,} tokens"
        )
    kept = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    yield f"{'':<22} kept in the cache: {kept / 2**20:,.0f} MB"


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
        print(f"{'data':<22} {'':<13} {'seconds':>10} {'anonymous':>12} {'shared':>10}")
        if options.gigabytes and options.tokenisers:
            write_text(space / "text.txt", round(options.gigabytes * 1e9), known)
            for kind in options.tokenisers:
                section = {"type": "text", "path": str(space / "text.txt"), "tokeniser": {"type": kind}}
                training = {"objective": "next_token", "rows": 32}
                for row in table(f"text, {options.gigabytes:g} GB, {kind}", section, training, space):
                    print(row, flush=True)
            (space / "text.txt").unlink()
        if options.pairs:
            write_pairs(space / "pairs.tsv", options.pairs, known)
            tokeniser = {"type": "words", "vocabulary": options.words, "rows": None}
            section = {"type": "pairs", "path": str(space / "pairs.tsv"), "tokeniser": tokeniser}
            for row in table(f"{options.pairs:,} pairs", section, {"objective": "supervised", "rows": 32}, space):
                print(row, flush=True)


if __name__ == "__main__":
    main()
