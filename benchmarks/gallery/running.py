"""Training and evaluation of an arm by the commands that a user types."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gallery.results import Result
from benchmarks.gallery.system import Arm, System

ROOT = Path(__file__).resolve().parents[2]

#: The number of samples that are kept, and the most characters of one.
SAMPLES, LONGEST = 4, 400


def run_arm(system: System, arm: Arm, folder: Path, data: Path, steps: int | None = None) -> Result:
    """Train an arm, unless its run has finished before, evaluate it and look into it.

    steps: of every run instead of its own, to try everything quickly
    """
    name, typed = system.run_name(arm), arm.typed(system.name)
    places = {"files": "files", "data": str(data)}
    if arm.before is not None:
        trained(folder, arm.before.name, arm.before.overrides, places, steps)
    run = trained(folder, name, typed, places, steps)
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    quick = () if steps is None else ("--rows", "20", "--decode-rows", "4")
    figures, intervals = {}, {}
    for label, options in (("", arm.evaluation), *arm.also):
        words_of_evaluation = [word.format_map(places) for word in options]
        metrics = evaluated(folder, name, arm.split, *words_of_evaluation, *quick)
        for key in arm.figures:
            quoted = f"{key}, {label}" if label else key
            figures[quoted] = metrics[key]["value"]
            intervals[quoted] = [metrics[key]["low"], metrics[key]["high"]]
    return Result(
        system.name,
        arm.name,
        command(typed),
        arm.split,
        steps=max(row["step"] for row in lines(run / "metrics.jsonl")),
        parameters=facts["size"]["parameters"],
        minutes=round(facts["seconds"] / 60, 1),
        figures=figures,
        intervals=intervals,
        samples=generated(folder, name, arm.prompts)
        if arm.prompts
        else last_samples(run, own=not any("{" in word for word in arm.overrides)),
        before="" if arm.before is None else command((*arm.before.overrides, f"name={arm.before.name}")),
        looked=looked(folder, name, arm.looked) if arm.looked else "",
    )


def trained(folder: Path, name: str, typed: Sequence[str], places: Mapping[str, str], steps: int | None) -> Path:
    """The folder of a run, which is trained or resumed unless it has finished."""
    words = [word.format_map(places) for word in typed]
    if steps is not None:
        words += [
            f"training.steps={steps}",
            "training.epochs=null",
            "training.validate_rows=20",
            "training.decode_rows=4",
        ]
    run = folder / "runs" / name
    if not finished(run):
        resumed = (run / "checkpoints").is_dir()
        python(folder, "train.py", *([f"resume=runs/{name}"] if resumed else [*words, f"name={name}"]))
    return run


def command(typed: Sequence[str]) -> str:
    """As a user types it."""
    return "python train.py " + shlex.join(word.format_map({"files": "files", "data": "data"}) for word in typed)


def looked(folder: Path, name: str, options: Sequence[str]) -> str:
    """The answers of `composer inspect`, a line each, without the place of the page."""
    said = python(folder, "-m", "composer", "inspect", f"runs/{name}", *options)
    return "\n".join(line for line in said.splitlines() if not line.startswith("wrote "))


def evaluated(folder: Path, name: str, split: str, *options: str) -> dict[str, dict[str, float]]:
    said = python(folder, "-m", "composer", "evaluate", f"runs/{name}", "--split", split, "--json", *options)
    return json.loads(said)["metrics"]


def finished(run: Path) -> bool:
    facts = run / "run.json"
    return facts.is_file() and json.loads(facts.read_text(encoding="utf-8")).get("status") == "finished"


def last_samples(run: Path, own: bool) -> list[dict[str, str]]:
    """Samples of the last validation. Of data that is not this project's (``own``), generated texts alone are kept."""
    rows = lines(run / "samples.jsonl")
    rows = [row for row in rows if row["step"] == rows[-1]["step"]]
    short = [row for row in rows if all(len(str(text)) <= LONGEST for text in row.values())]
    return [row for row in short if own or "wanted" not in row][:SAMPLES]


def generated(folder: Path, name: str, prompts: Sequence[str]) -> list[dict[str, str]]:
    """What a model generates by beam search from prompts of our own."""
    said = python(folder, "-m", "composer", "generate", f"runs/{name}", *prompts, "--beams", "4", "--json")
    texts = [json.loads(line)["text"] for line in said.splitlines()]
    return [{"source": prompt, "found": text} for prompt, text in zip(prompts, texts, strict=True)]


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a .jsonl file; none without the file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def python(folder: Path, program: str, *arguments: str) -> str:
    """What a Python process in the folder writes to its standard output; its errors stay visible."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    called: Sequence[str] = [str(ROOT / program)] if program.endswith(".py") else [program]
    return subprocess.run(
        [sys.executable, *called, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip
