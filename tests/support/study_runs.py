"""Folders of runs as training would leave them, with plausible curves and without any training.

``python -m tests.support.study_runs FOLDER`` writes the example study: five arms, three seeds, and their tuning.
``python -m tests.support.study_runs FOLDER --many`` writes 200 runs of 2,000 points.
``python -m tests.support.study_runs FOLDER --tuned`` writes a study whose arms are tuned by the rule of studies.
"""

import argparse
import functools
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from composer.studies.tuning.search_space import Interval
from composer.studies.tuning.tuning_rule import search

JUDGED = "valid/loss"
VERSIONS = {
    "sequence-composer": "0.1.0", "python": "3.11.7", "platform": "Linux-6.1-x86_64-with-glibc2.36",
    "torch": "2.13.0+cpu",
}  # fmt: skip
GIT = {"repository": "/home/user/sequence-composer", "commit": "3395dd7" + "0" * 33, "changed": False}


@dataclass(frozen=True)
class Character:
    """How the runs of an arm go.

    floor, rate: the validation loss at the end, and how quickly it falls
    flops, speed, memory: per token, tokens a second, bytes
    noise: the standard deviation of the loss at the end over seeds, relative to the loss
    """

    mixer: str
    floor: float
    rate: float
    parameters: int
    flops: float
    speed: float
    memory: float
    noise: float = 0.012


STUDY = {
    "lstm": Character("lstm", 0.231, 1.0, 201_480, 402e3, 41e3, 3.1e8),
    "mingru": Character("mingru", 0.256, 1.3, 200_112, 398e3, 68e3, 2.9e8, 0.04),
    "gru": Character("gru", 0.272, 1.05, 199_806, 399e3, 45e3, 3.0e8),
    "attention": Character("attention", 0.297, 0.8, 200_960, 455e3, 79e3, 4.6e8),
    "rnn": Character("rnn", 0.52, 0.55, 198_400, 391e3, 52e3, 2.7e8, 0.03),
}

#: Dates as people write them, and what they mean.
DATES = [
    ("lundi 3 mars 1975", "1975-03-03"), ("Tuesday, 14 July 2009", "2009-07-14"), ("12. November 1988", "1988-11-12"),
    ("1 gennaio 2001", "2001-01-01"), ("vrijdag 9 juni 1967", "1967-06-09"), ("26 de agosto de 1994", "1994-08-26"),
    ("den 5 maj 2018", "2018-05-05"), ("31 grudnia 1999", "1999-12-31"),
]  # fmt: skip


def config_of(mixer: str, seed: int, **data: Any) -> dict[str, Any]:
    """A config with the sections that a report reads. No graph can be compiled from it."""
    stack = {"kind": "stack", "depth": 2, "mixer": {"type": mixer}, "norm": {"type": "layer"}}
    return {
        "seed": seed, "plugins": [], "runs": "runs", "name": None, "group": None, "arm": mixer, "budget": None,
        "training": {"steps": 600, "batch": 64, "validate_every": 50},
        "data": {"type": "dates", "train_size": 20000, "valid_size": 1000, "seed": 0} | data,
        "model": {"nodes": {"encoder": stack, "decoder": {**stack, "causal": True}}},
        "objective": {"type": "supervised"}, "optimiser": {"type": "adamw", "learning_rate": 0.003},
        "schedule": {"type": "cosine"}, "trainer": {"accelerator": "cpu"}, "logger": [{"type": "csv"}], "resume": None,
    }  # fmt: skip


def metrics_of(
    character: Character, draw: random.Random, steps: int, log: int, validate: int
) -> Iterator[dict[str, Any]]:
    """The lines of metrics.jsonl."""
    level = character.floor * (1 + draw.gauss(0, character.noise))
    pace = character.speed * (1 + draw.gauss(0, 0.03))
    for step in range(log, steps + 1, log):
        share = step / steps
        fallen = math.exp(-((7 * character.rate * share) ** 0.8))
        tokens = step * 64 * 21
        yield {
            "step": step, "loss": 0.9 * level + 2.6 * fallen + abs(draw.gauss(0, 0.02 + 0.05 * fallen)),
            "learning_rate": 0.003 * min(1.0, 20 * share) * (1 + math.cos(math.pi * share)) / 2,
            "gradient_norm": 0.4 + fallen + abs(draw.gauss(0, 0.15)),
            "tokens_per_second": pace * (1 + draw.gauss(0, 0.05)), "padding": 0.21, "tokens": tokens,
            "examples": step * 64, "epoch": step * 64 // 20000, "seconds": tokens / pace,
        }  # fmt: skip
        if step % validate == 0:
            loss = level + 2.5 * fallen * (1 + draw.gauss(0, 0.03))
            yield {
                "step": step, JUDGED: loss, "valid/perplexity": math.exp(loss),
                "valid/token_accuracy": math.exp(-0.6 * loss), "valid/exact": math.exp(-3 * loss),
            }  # fmt: skip


def samples_of(character: Character, draw: random.Random, step: int) -> Iterator[dict[str, Any]]:
    for source, wanted in DATES:
        found = "".join(
            str(draw.randrange(10)) if c.isdigit() and draw.random() < character.floor / 5 else c for c in wanted
        )
        yield {"step": step, "source": source, "wanted": wanted, "found": found, "right": found == wanted}


def write_run(
    folder: Path, arm: str, seed: int, character: Character, *, steps: int = 600, log: int = 10, validate: int = 50,
    trial: dict[str, Any] | None = None, status: str = "finished", reason: str | None = None,
    config: dict[str, Any] | None = None, samples: list[dict[str, Any]] | None = None,
    about: dict[str, Any] | None = None,
) -> Path:  # fmt: skip
    """One run. Without ``status`` finished, the run ends early."""
    draw = random.Random(f"{folder.name} {arm} {seed}")
    config = config_of(character.mixer, seed) if config is None else config
    config = config | {"seed": seed, "arm": arm}
    rows = list(metrics_of(character, draw, steps if status == "finished" else steps // 4, log, validate))
    judged = [row for row in rows if JUDGED in row]
    best = min(judged, key=lambda row: row[JUDGED])
    last = {name: value for row in rows for name, value in row.items() if name != "step"}
    facts = {
        "identifier": f"{draw.getrandbits(32):08x}", "group": folder.parent.name, "status": status, "reason": reason,
        "began": "2026-11-17T06:00:00+00:00", "ended": "2026-11-17T06:01:00+00:00",
        "command": "python train.py -m study=rnn_vs_transformer",
        "overrides": [f"mixer={character.mixer}", f"seed={seed}"], "versions": VERSIONS, "git": GIT,
        "result": {name: value for name, value in best.items() if name != "step"}, "result_step": best["step"],
        "last": last, "last_step": rows[-1]["step"], "seconds": 64.6,
        "seed": seed, "arm": arm, "peak_memory": int(character.memory * (1 + draw.gauss(0, 0.01))),
        "size": {
            "parameters": character.parameters, "flops_per_token": character.flops,
            "train_flops_per_example": 3 * 21 * character.flops,
        },
        "budget": {"kind": "parameters", "target": 200_000, "reached": character.parameters},
    }  # fmt: skip
    facts |= {"trial": trial} if trial is not None else {}
    facts |= about or {}
    found = list(samples_of(character, draw, best["step"])) if samples is None else samples
    (folder / "figures").mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    (folder / "run.json").write_text(json.dumps(facts, indent=2))
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "samples.jsonl").write_text("".join(f"{json.dumps(row | {'step': best['step']})}\n" for row in found))
    return folder


def write_study(folder: Path, *, seeds: int = 3, trials: int = 8) -> Path:
    """Five arms with some seeds each, and the same number of tuning trials for each; a broken folder among them."""
    draw = random.Random(0)
    number = 0
    for arm, character in STUDY.items():
        for place in range(trials):
            rate, dropout = 10 ** draw.uniform(-4, -2), draw.choice(["0.0", "0.1", "0.2"])
            parameters = {
                "optimiser.learning_rate": rate,
                "model.dropout": dropout,
                "training.clip": draw.uniform(0.5, 2),
            }
            off = 1 + 0.4 * abs(math.log10(rate) + 2.6) + 0.1 * draw.random()
            worse = Character(**{**vars(character), "floor": character.floor * off})
            status, reason = ("pruned", "worse than the median at step 150") if place % 3 == 2 else ("finished", None)
            if arm == "rnn" and place == 4:
                status, reason = "failed", "the loss was not finite at step 210"
            trial = {"number": number, "phase": "tuning", "parameters": parameters}
            write_run(folder / f"{number}_{arm}", arm, 1000 + place, worse, trial=trial, status=status, reason=reason)
            number += 1
    for arm, character in STUDY.items():
        for seed in range(1, seeds + 1):
            trial = {"number": number, "phase": "final", "parameters": {}}
            write_run(folder / f"{number}_{arm}_seed_{seed}", arm, seed, character, trial=trial)
            number += 1
    (folder / f"{number}_broken").mkdir()
    (folder / f"{number}_broken" / "run.json").write_text("{")
    search = {"sampler": "tpe", "pruner": "median", "trials": trials} if trials else None
    facts = {
        "format": 1, "kind": "study", "arguments": ["study=rnn_vs_transformer"], "judged": JUDGED, "direction": "min",
        "began": "2026-11-17T06:00:00+00:00", "status": "finished", "search": search,
        "study": {"name": "rnn_vs_transformer", "budget": {"kind": "parameters", "target": 200_000}},
    }  # fmt: skip
    (folder / "sweep.json").write_text(json.dumps(facts, indent=2))
    return folder


#: The rates at which the arms of a tuned study are best, how fast they get worse, and where they diverge.
VALLEYS = {
    "lstm": (4e-3, 0.9, 1.0), "mingru": (9e-3, 0.5, 1.0), "gru": (6e-3, 0.7, 0.02), "attention": (1.2e-3, 1.5, 1.0),
    "rnn": (20.0, 0.1, 100.0),
}  # fmt: skip

SPACE = {"optimiser.learning_rate": "tag(log,interval(3e-4,3e-2))"}


def write_tuned(folder: Path, *, seeds: int = 3, limit: int = 9, steps: float | None = None) -> Path:
    """Five arms, each tuned by the rule of studies; the best rate of the last is far beyond what the limit reaches."""
    about = {"tuning": {"space": SPACE, "trials": limit, "seeds": [0], "steps": steps}}
    for place, arm in enumerate(VALLEYS):
        first = place * limit
        result = functools.partial(_tuning_run, folder, arm, first, about)
        found = search({"optimiser.learning_rate": Interval(3e-4, 3e-2, log=True)}, limit, result)
        for seed in range(1, seeds + 1):
            number = len(VALLEYS) * limit + place * seeds + seed - 1
            trial = {"number": number, "phase": "final", "parameters": found.best}
            name, status = f"{number}_{arm}_seed_{seed}", {"untuned": found.untuned}
            write_run(folder / name, arm, seed, STUDY[arm], trial=trial, about=status)
    facts = {"format": 1, "kind": "study", "judged": JUDGED, "direction": "min", "arguments": [], "status": "finished"}
    (folder / "sweep.json").write_text(json.dumps(facts))
    return folder


def _tuning_run(folder: Path, arm: str, first: int, about: dict[str, Any], number: int, point: dict[str, Any]) -> float:
    """Write a tuning run of an arm at a point, and return its loss."""
    rate, (optimum, slope, diverges) = point["optimiser.learning_rate"], VALLEYS[arm]
    floor = STUDY[arm].floor * (1 + slope * math.log10(rate / optimum) ** 2)
    run = write_run(
        folder / f"{first + number}_{arm}", arm, 0, replace(STUDY[arm], floor=floor, noise=0.0), about=about,
        status="finished" if rate < diverges else "failed",
        trial={"number": first + number, "phase": "tuning", "parameters": point},
    )  # fmt: skip
    return json.loads((run / "run.json").read_text())["result"][JUDGED] if rate < diverges else math.inf


def write_many(folder: Path, runs: int = 200, points: int = 2000) -> Path:
    """A grid of many long runs, five seeds an arm."""
    names = list(STUDY)
    for number in range(runs):
        arm, seed = divmod(number, 5)
        character = STUDY[names[arm % len(names)]]
        changed = Character(**{**vars(character), "floor": character.floor * (1 + 0.05 * (arm // len(names)))})
        name = f"{character.mixer} {arm // len(names)}"
        write_run(folder / f"{number}_{name}", name, seed, changed, steps=20_000, log=20_000 // points, validate=1000)
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--tuned", action="store_true")
    asked = parser.parse_args()
    print((write_many if asked.many else write_tuned if asked.tuned else write_study)(asked.folder))
