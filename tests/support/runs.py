"""Run folders without training, as training leaves them."""

import json
from itertools import count
from pathlib import Path

import yaml

_numbers = count()
CONFIG = {
    "seed": 1,
    "plugins": [],
    "model": {"dim": 8},
    "data": {"type": "copy", "length": 6},
    "objective": {"type": "supervised"},
    "training": {"steps": 100},
}


def write_run(folder: Path, overrides=(), loss=1.0, seed=1, lines=1, config=(), **facts) -> Path:
    """A finished run. ``facts`` change its run.json; None removes a fact."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {
        "identifier": f"{next(_numbers):08x}",
        "group": None,
        "status": "finished",
        "overrides": [*overrides, f"seed={seed}"],
        "seed": seed,
        "arm": None,
        "budget": None,
        "size": {"parameters": 12_345, "flops_per_token": 24_000.0},
        "peak_memory": 400_000_000,
        "result": {"valid/loss": loss, "valid/accuracy": 1 - loss / 10},
        "result_step": 100,
        "last": {"loss": loss, "tokens": 5_000, "examples": 800, "seconds": 2.5},
        "last_step": 100,
    } | facts
    (folder / "run.json").write_text(json.dumps({name: fact for name, fact in known.items() if fact is not None}))
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG | {"seed": seed} | dict(config)))
    steps = [
        {"step": step, "loss": loss, "tokens": 50 * step, "seconds": step / 40, "valid/loss": loss}
        for step in range(1, lines + 1)
    ]
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in steps))
    samples = [{"step": step, "source": "1 2", "wanted": "1 2", "found": "1", "right": False} for step in (50, 100)]
    (folder / "samples.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))
    return folder


def write_grid(folder: Path, arms, **facts) -> Path:
    """A sweep over mixers and seeds: ``arms`` has the losses of seeds 1, 2, ... by the name of the mixer."""
    runs = [(mixer, seed, loss) for mixer, losses in arms.items() for seed, loss in enumerate(losses, start=1)]
    for number, (mixer, seed, loss) in enumerate(runs):
        name = f"{number}_mixer={mixer},seed={seed}"
        write_run(folder / name, ["data=copy", f"mixer={mixer}"], loss, seed, group=folder.name, **facts)
    return folder


def logged(run):
    """The lines of a run's metrics, without what depends on the clock."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: v for key, v in line.items() if key not in ("seconds", "tokens_per_second")} for line in lines]
