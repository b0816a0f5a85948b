"""python -m benchmarks.literature [--study chomsky recall] [--runs runs] [--write] [--table]

Trains a study, unless its folder is finished, computes its cells and keeps them. --runs is the folder of the runs, or
that of a study which was trained already. --write writes docs/literature.md, --table prints it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.gallery.__main__ import RESULTS as GALLERY
from benchmarks.gallery.results import read_results as read_gallery
from benchmarks.literature.cells import CELLS, STUDIES
from benchmarks.literature.page import page, write_page
from benchmarks.literature.results import Result, from_gallery, keep, read_results, results_of
from composer.studies.comparison import compare

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "literature" / "results.jsonl"
PAGE = ROOT / "docs" / "literature.md"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", nargs="+", default=[], metavar="study", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of the runs, or a study's own")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--write", action="store_true", help="write docs/literature.md")
    parser.add_argument("--table", action="store_true", help="print the page")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.study) - set(STUDIES)):
        parser.error(f"there is no study {', '.join(unknown)} with published figures (there are {', '.join(STUDIES)})")
    for study in options.study:
        found = results_of(compare([trained(study, options.runs)]), [cell for cell in CELLS if cell.study == study],
                           f"python train.py -m study={study}")  # fmt: skip
        keep(options.results, found)
        print(f"{study}: {len(found)} of {sum(cell.study == study for cell in CELLS)} cells", flush=True)
    if options.write:
        write_page(PAGE, CELLS, all_results(options.results))
    if options.table:
        print(page(CELLS, all_results(options.results)))


def trained(study: str, runs: Path) -> Path:
    """The folder of the finished study, which is trained first where it is not there or was interrupted."""
    if (runs / "sweep.json").is_file():
        return runs
    folder = runs / f"literature_{study}"
    sweep = folder / "sweep.json"
    if not sweep.is_file() or json.loads(sweep.read_text(encoding="utf-8")).get("status") != "finished":
        words = [f"study={study}", f"runs={runs.resolve()}", f"name={folder.name}"]
        subprocess.run([sys.executable, str(ROOT / "train.py"), "-m", *words], check=True)
    return folder


def all_results(path: Path) -> Mapping[str, Result]:
    """The kept results, and those that the gallery measured where no study did."""
    gallery = read_gallery(GALLERY)
    measured = [from_gallery(cell, gallery[cell.gallery]) for cell in CELLS if cell.gallery in gallery and cell.gallery]
    return {result.id: result for result in measured} | read_results(path)


if __name__ == "__main__":
    main()
