"""python -m benchmarks.fuzz [--seconds 600] [--seed 1] [--jobs 2] [--keep FOLDER]

Prints how many configs were tried, accepted and run, and every failure with the shortest command that shows it. A
process that dies or hangs is a failure, too, and another process goes on. Exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.fuzz.cases import OWN, Case, cases
from benchmarks.fuzz.made_files import make_files
from benchmarks.fuzz.shrink import shrink
from benchmarks.fuzz.trial import Failure, Result, Trial

#: The cases that one process tries with one seed before it takes the next seed.
ROUND = 200

#: The seconds that a failure may be shrunk for.
SHRINKING = 90


def try_cases(number: int, count: int, end: float, folder: Path, report: Any, known: set[tuple[str, str]]) -> None:
    """Try ``count`` random cases of one seed, or fewer where the time is up. A case is reported before and after it."""
    draw = random.Random(number)

    def attempt(case: Case) -> Result:
        return Trial(folder / "files", folder / f"room-{number}", random.Random(0)).run(case)

    @seed(number)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases())
    def one(case: Case) -> None:
        if time.time() > end:
            return
        report({"begin": asdict(case)})
        result = Trial(folder / "files", folder / f"room-{number}", draw).run(case)
        failure = result.failure
        if failure is not None and (failure.step, failure.sign) not in known:
            known.add((failure.step, failure.sign))

            def fails(shorter: Case) -> bool:
                found = attempt(shorter).failure
                return found is not None and (found.step, found.sign) == (failure.step, failure.sign)

            case = shrink(case, fails, min(SHRINKING, max(0.0, end - time.time())))
        report({"end": asdict(case), "accepted": result.accepted, "done": result.done,
                "failure": None if failure is None else asdict(failure)})  # fmt: skip

    one()


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
    make_files(folder / "files")
    context, end = multiprocessing.get_context("spawn"), time.time() + seconds
    workers: dict[int, Any] = {}
    following, died = number * 100, []
    while time.time() < end + 300 and (workers or time.time() < end):
        for key, process in list(workers.items()):
            if not process.is_alive():
                if process.exitcode:
                    died.append((key, process.exitcode))
                del workers[key]
        while len(workers) < jobs and time.time() < end:
            workers[following] = context.Process(target=work, args=(following, end, folder))
            workers[following].start()
            following += 1
        time.sleep(1)
    for process in workers.values():
        process.kill()
    return show(folder, died + [(key, "did not end") for key in workers])


def show(folder: Path, died: list[tuple[int, Any]]) -> int:
    """Print the counts and the failures; 1 if there is any."""
    tried, accepted, ran, refused, failures = 0, 0, 0, 0, {}
    kinds: Counter[str] = Counter()
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        ends = [line for line in lines if "end" in line]
        tried += len(ends)
        accepted += sum(line["accepted"] for line in ends)
        refused += sum(not line["accepted"] and line["failure"] is None for line in ends)
        ran += sum("train" in line["done"] for line in ends)
        kinds.update(line["end"]["kind"] for line in ends if line["end"])
        for line in ends:
            if line["failure"] is not None:
                failures.setdefault((line["failure"]["step"], line["failure"]["sign"]), []).append(line)
        code = next((code for key, code in died if path.stem == str(key)), None)
        if code is not None and lines and "begin" in lines[-1]:
            sign = f"the process ended with {code}"
            failures.setdefault(("crash", sign), []).append({"end": lines[-1]["begin"], "failure": {"details": sign}})
    print(f"{tried:,} configs: {refused:,} refused in a sentence, {accepted:,} accepted, {ran:,} trained and used")
    print("  " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common()))
    print(f"{len(failures)} failures" if failures else "no failure")
    for (step, sign), lines in sorted(failures.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(lines)} x {step}: {sign}")
        case = lines[0]["end"]
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
        where = f"--config-dir {own} "
    program = f"python -m composer {step}" if step in ("describe", "check") else "python train.py"
    return f"{program} {where}{shlex.join(words)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--keep", type=Path, help="the folder for the made files and the cases; kept afterwards")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="composer-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    code = run(options.seconds, options.seed, options.jobs, folder.resolve())
    if options.keep is None and code == 0:
        shutil.rmtree(folder)
    sys.exit(code)
