"""What becomes of a run to which everything happens: a table of what happened, how often, and what was lost.

python -m benchmarks.survival [--kills 40] [--programs 6] [--flips 200] [--disks 12] [--writers 4] [--ranks 5]
                              [--sweeps 24]

A run is small (40 steps), is killed, damaged or disturbed, and goes on by ``resume=`` or, where nothing of it is there,
by the same command. It has to reach the weights of the run that nothing happened to, bit for bit. Kills hit processes
that have the imports behind them, so that every instant is one of the run; --programs are whole programs. Disks are
mounted (tmpfs), which needs root. --sweeps are killed between their last trial and their end.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.survival.files import disks, flips
from benchmarks.survival.kills import kills, ranks
from benchmarks.survival.programs import Baseline, Tally
from benchmarks.survival.sweeps import sweeps
from benchmarks.survival.writers import writers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    defaults = {"kills": 40, "programs": 6, "flips": 200, "disks": 12, "writers": 4, "ranks": 5, "sweeps": 24}
    for name, times in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=times)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    print(f"{'what':<28}{'times':>6}{'faults':>8}  outcomes")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        alone = Baseline.train(place / "alone")
        whole = Baseline.train(place / "whole", real=True) if options.programs else alone
        parts: list[tuple[int, Callable[[Path], Tally]]] = [
            (options.kills, lambda at: kills(at, alone, options.kills, options.seed)),
            (options.programs, lambda at: kills(at, whole, options.programs, options.seed, real=True)),
            (options.flips, lambda at: flips(at, alone, options.flips, options.seed)),
            (options.disks, lambda at: disks(at, alone, options.disks)),
            (options.writers, lambda at: writers(at, alone, options.writers)),
            (options.ranks, lambda at: ranks(at, options.ranks, options.seed)),
            (options.sweeps, lambda at: sweeps(at, options.sweeps)),
        ]
        for number, (times, part) in enumerate(parts):
            if times:
                (place / str(number)).mkdir()
                failed |= show(part(place / str(number)))
    raise SystemExit(1 if failed else 0)


def show(tally: Tally) -> bool:
    """Print a line of the table, and the faults below it. Returns whether there are any."""
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(tally.outcomes.items()))
    print(f"\r{tally.name:<28}{tally.times:>6}{len(tally.faults):>8}  {outcomes}", flush=True)
    for fault in tally.faults:
        print(f"  {fault}", flush=True)
    return bool(tally.faults)


if __name__ == "__main__":
    main()
