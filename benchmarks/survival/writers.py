"""Two processes that want the same run."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.survival.programs import CONFIG, Baseline, Tally, one_sentence, run, start


def writers(place: Path, baseline: Baseline, times: int) -> Tally:
    """Resume a run that is being trained, and begin two runs of one name: one has its way, the other a sentence."""
    tally = Tally("two writers")
    for number in range(times):
        folder = place / f"written{number}"
        arguments = [*CONFIG, f"runs={place}", f"name={folder.name}"]
        first = start(arguments)
        if number % 2:
            second = start(arguments)
            codes = sorted([first.wait(), second.wait()])
            tally.expect(codes == [0, 2], f"{folder.name}: exit codes {codes}")
            loser = next((program for program in (first, second) if program.errors), first)
            tally.expect(one_sentence(loser), f"{folder.name}: {loser.errors[-3:]}")
            tally.count("one of one name")
        else:
            while not (folder / "run.json").exists() and not first.ended():
                time.sleep(0.01)
            code, second = run([f"resume={folder}"])
            said = one_sentence(second) and f"process {first.pid} on" in second.errors[0]
            tally.expect(code == 2 and said, f"{folder.name}: code {code}: {second.errors[-3:]}")
            tally.expect(first.wait() == 0, f"{folder.name}: the first has failed: {first.errors[-3:]}")
            tally.count("the second was refused")
        tally.expect(baseline.same(folder), f"{folder.name}: other weights")
    return tally
