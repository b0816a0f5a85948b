"""Errors, power and intervals of the verdicts, over simulated studies: python -m benchmarks.verdicts [--quick]."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.verdicts import checks, rates


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer studies and cells: a minute")
    parser.add_argument("--live", action="store_true", help="train the 48 runs of the learning rates again")
    parser.add_argument("--studies", type=int, help="studies a cell; by default 20,000, or 500 with --quick")
    parser.add_argument("--jobs", type=int, default=2, help="processes for the errors (default: 2)")
    options = parser.parse_args()
    sizes = (2, 3, 5, 10) if options.quick else tuple(range(2, 11))
    studies = options.studies or (500 if options.quick else 20_000)
    checks.intervals(studies)
    checks.power(500 if options.quick else 5000)
    checks.seeds(50 if options.quick else 1000)
    with TemporaryDirectory() as folder:
        rates.show_flip(rates.train_rates(Path(folder)) if options.live else rates.recorded())
    return 0 if checks.errors(studies, sizes, sizes, options.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
