"""How well models learn: ours and a peer on the same batches, for the same number of steps.

python -m benchmarks.learning [--task reversing] [--seeds 1 2 3] [--rates 0.5 1 2] [--jobs 2] [--peers FOLDER] [--write]

Every model is tried with its usual learning rate times each of --rates and the first seed, and, while the best is the
highest or the lowest, with one more beyond it; the best rate then gets the other seeds. Results are appended to a
file, a line a run: a benchmark that was interrupted goes on where it was. Delete that file to begin anew, as after a
change to a model or a default. --write makes docs/learning.md out of the file, of every task that it has runs of.

Peers are optional. x-transformers 2.31, JoeyNMT 2.3 and nanoGPT's model.py are looked for in the folder --peers:

    pip install --no-deps --target FOLDER x-transformers==2.31.* einops einx loguru frozendict torch-einops-utils
    pip install --no-deps --target FOLDER joeynmt==2.3.0 sacrebleu subword-nmt sentencepiece portalocker tabulate \\
        colorama regex lxml importlib_metadata zipp lazy-importer
    mkdir FOLDER/nanogpt, and model.py of github.com/karpathy/nanoGPT into it
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.learning.page import write_page
from benchmarks.learning.results import read_runs
from benchmarks.learning.schedule import Search, carry_out
from benchmarks.learning.table import reason, table
from benchmarks.learning.task import Peer
from benchmarks.learning.tasks import TASKS
from benchmarks.learning.verdicts import verdicts

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "learning" / "results.jsonl"
PAGE = ROOT / "docs" / "learning.md"
DATA = ROOT.parent / "shared" / "data"

#: What --quick does instead: enough to see that everything runs.
QUICK_STEPS, QUICK_ROWS = 20, 32


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = [name for name, task in TASKS.items() if task.usual]
    parser.add_argument("--task", nargs="+", default=usual, choices=list(TASKS), help=f"by default {', '.join(usual)}")
    parser.add_argument("--arm", help="only models whose name has this in it")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.5, 1, 2], help="multiples of the usual rate")
    parser.add_argument("--steps", type=int, help="of every run, instead of the task's own number")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side, each with one thread")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_STEPS} steps, one rate, one seed, no file")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data (default: %(default)s)")
    parser.add_argument("--peers", type=Path, help="folder into which the peers were installed")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results (default: %(default)s)")
    parser.add_argument("--write", nargs="?", type=Path, const=PAGE, help="write the page, by default docs/learning.md")
    parser.add_argument("--table", action="store_true", help="run nothing: show what the file of results has")
    options = parser.parse_args(arguments)
    if options.quick:
        options.steps = options.steps or QUICK_STEPS
        options.seeds, options.rates = options.seeds[:1], [1.0]
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    if options.peers:
        sys.path.append(str(options.peers))
    with tempfile.TemporaryDirectory() as place:
        if options.quick:
            options.results = Path(place) / "results.jsonl"
        run(options)


def run(options: argparse.Namespace) -> None:
    tasks = [TASKS[name] for name in options.task]
    search = Search(
        options.results, options.data, options.peers, tuple(options.rates), tuple(options.seeds), options.steps,
        QUICK_ROWS if options.quick else None,
    )  # fmt: skip
    if not options.table:
        ready = [task for task in tasks if not task.absent(options.data)]
        for task in tasks:
            for name, (arm, _) in task.arms.items():
                if isinstance(arm, Peer) and arm.missing:
                    print(f"{task.name}: {name} is {reason(arm)}")
            if missing := task.absent(options.data):
                print(f"{task.name}: left out, because {', '.join(missing)} is not in {options.data}; see --data")
        carry_out(search, ready, options.arm or "", options.jobs)
    runs = read_runs(options.results)
    judged = verdicts(list(TASKS.values()), runs, options.steps)
    for task in tasks:
        print(f"\n{task.title}\n")
        print("\n".join(table(task, runs, options.steps or task.steps, judged)))
    if options.write:
        shown = options.results.relative_to(ROOT) if options.results.is_relative_to(ROOT) else options.results
        write_page(options.write, list(TASKS.values()), runs, steps=options.steps, results=shown)


if __name__ == "__main__":
    main()
