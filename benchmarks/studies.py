"""Studies: the seconds to meet a budget with ten arms, and to write the report of 200 runs.

python -m benchmarks.studies [--runs 200] [--points 2000]

The runs of the report are made up: run folders as training leaves them, without checkpoints.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from composer.config.composition import compose
from composer.studies.comparison import compare
from composer.studies.planning.budget import solve_width
from composer.studies.planning.scalable_arm import Objectives, ScalableArm
from composer.studies.report import write_report
from tests.support.study_runs import STUDY, write_run

MIXERS = ("rnn", "gru", "lstm", "mingru", "minlstm", "s4d", "conv", "linear_attention", "rg_lru", "attention")

#: The parameters of the default graph.
TARGET, WIDTH = 936_334, 128


def budgets() -> None:
    objectives = Objectives()
    began = time.perf_counter()
    arms = [
        ScalableArm(lambda own, mixer=mixer: compose([f"mixer={mixer}", *own]), {"model.dim": WIDTH}, objectives)
        for mixer in MIXERS
    ]
    found = [solve_width(arm, "parameters", TARGET, WIDTH) for arm in arms]
    seconds = time.perf_counter() - began
    furthest = max(abs(solved.residual) for solved in found)
    print(f"{len(arms)} arms solved for {TARGET:,} parameters: {seconds:.1f} s, residuals up to {furthest:.1%}")


def report(runs: int, points: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place, arms = Path(folder), list(STUDY.items())
        for number in range(runs):
            name, character = arms[number % len(arms)]
            arm = f"{name} {number // len(arms) % 8}"
            write_run(place / f"{number}", arm, number // len(arms) // 8, character, steps=points, log=1, validate=20)
        began = time.perf_counter()
        comparison = compare([place])
        compared = time.perf_counter() - began
        write_report(comparison, place / "report.html", command="")
        seconds, size = time.perf_counter() - began, (place / "report.html").stat().st_size
        print(
            f"report of {runs} runs, {points:,} points each: {seconds:.1f} s, of which {compared:.1f} s to compare; "
            f"{size / 1e6:.1f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--points", type=int, default=2000, help="logged steps of a run")
    options = parser.parse_args()
    budgets()
    report(options.runs, options.points)


if __name__ == "__main__":
    main()
