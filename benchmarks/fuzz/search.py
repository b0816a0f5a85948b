"""python -m benchmarks.fuzz [--seconds 600] [--seed 1] [--jobs 2] [--keep FOLDER [--again]]

Prints how many configs were tried, accepted and run, and every failure with the shortest command that shows it. A
process that dies or hangs is a failure, too, and another process goes on. Exits with 1 if anything failed.

A folder that is kept can be given again: other configs are tried, and the counts add up. With --again, the configs that
have failed are first tried once more; those that pass now count as mended.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.fuzz.cases import OWN, Case, own_graphs, templates
from benchmarks.fuzz.made_files import make_files
from benchmarks.fuzz.mutations import FORMS, mutations
from benchmarks.fuzz.shrink import shrink
from benchmarks.fuzz.tables import tables
from benchmarks.fuzz.trial import Failure, Trial

#: The cases that one process tries with one seed before it takes the next seed.
ROUND = 200

#: The seconds that a failure may be shrunk for.
SHRINKING = 90

#: Where files are in memory, on Linux.
MEMORY = Path("/dev/shm")

#: The processes that one seed may start, one after another.
WORKERS = 1000


def cases() -> st.SearchStrategy[Case]:
    """Configs that may well be right, and graphs with one thing broken; ``mutations`` makes many more of each."""
    return st.one_of(templates(), own_graphs(), own_graphs(), own_graphs(damage=True), tables())


def try_cases(number: int, count: int, end: float, folder: Path, report: Any, known: set[tuple[str, str]]) -> None:
    """Try ``count`` cases of one seed, or fewer where the time is up: random ones, each with its damaged forms.

    A case is reported before and after it.
    """
    draw, left = random.Random(number), count
    room = room_of(folder, str(number))

    @seed(number)
    @settings(
        max_examples=-(-count // (FORMS + 1)), database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases())
    def one(drawn: Case) -> None:
        nonlocal left
        for case in (drawn, *mutations(drawn, draw)):
            if left and time.time() < end:
                left -= 1
                attempt(replace(case, luck=draw.getrandbits(32)))

    def attempt(case: Case) -> None:
        report({"begin": asdict(case)})
        result = Trial(folder / "files", room).run(case)
        failure = result.failure
        if failure is not None and (failure.step, failure.sign) not in known:
            known.add((failure.step, failure.sign))
            case = shrink(case, partial(fails, failure, folder, room), min(SHRINKING, max(0.0, end - time.time())))
        report({"end": asdict(case), "accepted": result.accepted, "done": result.done,
                "failure": None if failure is None else asdict(failure)})  # fmt: skip

    one()


def room_of(folder: Path, name: str) -> Path:
    """A folder for runs: in memory if the machine has such a place, because every file of a run is flushed to disk."""
    place = MEMORY if MEMORY.is_dir() else folder
    return place / f"fuzz-{os.getpid()}-{name}"


def fails(failure: Failure, folder: Path, room: Path, case: Case) -> bool:
    """Whether a case fails in the same way."""
    found = Trial(folder / "files", room, failure.step).run(case).failure
    return found is not None and (found.step, found.sign) == (failure.step, failure.sign)


def work(number: int, end: float, folder: Path) -> None:
    """Try cases with one seed after another until the time is up."""
    import torch

    torch.set_num_threads(1)
    known: set[tuple[str, str]] = set()
    with (folder / f"{number}.jsonl").open("a", encoding="utf-8", errors="backslashreplace") as file:

        def report(line: dict[str, Any]) -> None:
            file.write(json.dumps(line, ensure_ascii=True) + "\n")
            file.flush()

        index = 0
        while time.time() < end:
            try:
                try_cases(number * 1000 + index, ROUND, end, folder, report, known)
            except Exception:
                report({"end": None, "accepted": False, "done": [],
                        "failure": asdict(Failure("fuzzer", "the fuzzer itself", traceback.format_exc()))})  # fmt: skip
                return
            index += 1


def run(seconds: float, number: int, jobs: int, folder: Path) -> int:
    """Try cases for so many seconds. A folder that has cases of earlier runs is gone on with, from other seeds."""
    make_files(folder / "files")
    context, end = multiprocessing.get_context("spawn"), time.time() + seconds
    workers: dict[int, Any] = {}
    following = max([number * WORKERS - 1, *(int(path.stem) for path in folder.glob("*.jsonl"))]) + 1
    while time.time() < end + 300 and (workers or time.time() < end):
        for key, process in list(workers.items()):
            if not process.is_alive():
                if process.exitcode:
                    note_death(folder, key, f"the process ended with {process.exitcode}")
                del workers[key]
        while len(workers) < jobs and time.time() < end:
            workers[following] = context.Process(target=work, args=(following, end, folder))
            workers[following].start()
            following += 1
        time.sleep(1)
    for key, process in workers.items():
        process.kill()
        note_death(folder, key, "the process did not end")
    return show(folder)


def note_death(folder: Path, key: int, how: str) -> None:
    """Write down that the case that was being tried ended its process."""
    path = folder / f"{key}.jsonl"
    begun = [line["begin"] for line in read(path) if "begin" in line]
    failure = asdict(Failure("crash", how, how))
    with path.open("a", encoding="utf-8") as file:
        line = {"end": begun[-1] if begun else None, "accepted": False, "done": [], "failure": failure}
        file.write(json.dumps(line) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a worker's file, without one that a killed process left incomplete."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.is_file() else []
    return [json.loads(line) for line in lines]


def again(folder: Path) -> None:
    """Try every case once more that has failed, and write down how it went."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = read(path)
        for line in (line for line in lines if line.get("failure") is not None and line.get("end") is not None):
            case = Case(**{**line["end"], "overrides": tuple(line["end"]["overrides"])})
            found = Trial(folder / "files", room_of(folder, "again"), line["failure"]["step"]).run(case).failure
            if found is None:
                line["mended"] = True
            else:
                line |= {"mended": False, "failure": asdict(found)}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def show(folder: Path) -> int:
    """Print the counts and the failures; 1 if there is any that is not mended."""
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in read(path) if "end" in line]
    accepted = sum(line["accepted"] for line in lines)
    refused = sum(not line["accepted"] and line["failure"] is None for line in lines)
    ran = sum("train" in line["done"] for line in lines)
    kinds = Counter(line["end"]["kind"] for line in lines if line["end"])
    steps = Counter(step for line in lines for step in line["done"])
    failures: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        if line["failure"] is not None and not line.get("mended"):
            failures.setdefault((line["failure"]["step"], line["failure"]["sign"]), []).append(line)
    print(f"{len(lines):,} configs: {refused:,} refused in a sentence, {accepted:,} accepted, {ran:,} trained and used")
    print("  " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common()))
    print("  " + ", ".join(f"{step} {count:,}" for step, count in steps.most_common()))
    mended = sum(bool(line.get("mended")) for line in lines)
    print((f"{len(failures)} failures" if failures else "no failure") + (f", {mended} cases mended" if mended else ""))
    for (step, sign), found in sorted(failures.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(found)} x {step}: {sign}")
        case = found[0]["end"]
        if case is not None:
            print("  " + written(case, folder, step))
    return 1 if failures else 0


def written(case: dict[str, Any], folder: Path, step: str) -> str:
    """The command that shows a failure. A graph of its own is kept in a folder of configs."""
    words = Case(tuple(case["overrides"]), case["experiment"]).words(folder / "files")
    where = ""
    if case["experiment"] is not None:
        own = Path(tempfile.mkdtemp(dir=folder, prefix="case-"))
        (own / "experiment").mkdir()
        text = case["experiment"].replace("FILES", str(folder / "files"))
        (own / "experiment" / f"{OWN}.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
        where = f"--config-dir {own} --allow-paths "
    program = f"python -m composer {step}" if step in ("describe", "check") else "python train.py"
    return f"{program} {where}{shlex.join(words)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--keep", type=Path, help="the folder for the made files and the cases; kept afterwards")
    parser.add_argument("--again", action="store_true", help="first try the configs of --keep that have failed")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="composer-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    if options.again:
        make_files(folder / "files")
        again(folder.resolve())
    code = run(options.seconds, options.seed, options.jobs, folder.resolve())
    if options.keep is None and code == 0:
        shutil.rmtree(folder)
    sys.exit(code)
