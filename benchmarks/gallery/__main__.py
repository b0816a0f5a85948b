"""python -m benchmarks.gallery [--only gpt sentiment] [--data ../shared/data] [--folder gallery] [--write]

Trains and evaluates the arms of every system, several hours in all, and prints a line for each. An arm with a result
is not run again unless --only names it or its system; a run that was interrupted is resumed. --write writes
docs/gallery.md from all results. --steps 2 tries everything quickly, and keeps no result.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gallery.files import write_files
from benchmarks.gallery.page import write_page
from benchmarks.gallery.results import keep, read_results
from benchmarks.gallery.running import ROOT, run_arm
from benchmarks.gallery.system import Arm, System
from benchmarks.gallery.systems import SYSTEMS

RESULTS = ROOT / "benchmarks" / "gallery" / "results.jsonl"
PAGE = ROOT / "docs" / "gallery.md"
DATA = ROOT.parent / "shared" / "data"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the data sets")
    parser.add_argument("--folder", type=Path, default=Path("gallery"), help="of the made files and the runs")
    parser.add_argument("--only", nargs="+", metavar="system", help="these systems or arms, e.g. gpt, luong/reversing")
    parser.add_argument("--steps", type=int, help="of every run instead of its own; the results are not kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--write", action="store_true", help="write docs/gallery.md; run --only those named")
    options = parser.parse_args(arguments)
    arms = {f"{system.name}/{arm.name}" for system in SYSTEMS for arm in system.arms}
    unknown = set(options.only or ()) - {system.name for system in SYSTEMS} - arms
    if unknown:
        parser.error(f"there is no system {', '.join(sorted(unknown))}")
    if options.only or not options.write:
        run(options)
    if options.write:
        write_page(PAGE, SYSTEMS, read_results(options.results))


def run(options: argparse.Namespace) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    for system in SYSTEMS:
        for arm in system.arms:
            if options.only and not {system.name, f"{system.name}/{arm.name}"} & set(options.only):
                continue
            if not options.only and (system.name, arm.name) in read_results(options.results):
                continue
            before = () if arm.before is None else arm.before.overrides
            write_files(options.data, options.folder / "files", (*before, *arm.overrides))
            result = run_arm(system, arm, options.folder, options.data.resolve(), options.steps)
            figures = ", ".join(f"{name} {value:.4g}" for name, value in result.figures.items())
            print(f"{system.name:16} {arm.name:16} {result.minutes:6.1f} min  {figures}", flush=True)
            if options.steps is None:
                keep(options.results, result)
                keep_pictures(system, arm, options.folder / "runs" / system.run_name(arm))


def keep_pictures(system: System, arm: Arm, run: Path) -> None:
    """Copy what a run has drawn, and the page shows, to the folder of the page's pictures."""
    if arm.picture is not None:
        shutil.copyfile(run / "inspect" / arm.picture[0], PAGE.with_suffix("") / f"{system.run_name(arm)}.png")
    if system.reads_a_run and arm.before is not None:
        shutil.copyfile(run / "graph.svg", PAGE.with_suffix("") / f"{system.name}.svg")


if __name__ == "__main__":
    main()
