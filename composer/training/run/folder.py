"""A run's folder and the paths of its files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from composer.core.files import write_text
from composer.core.problems import UserError, did_you_mean


class RunFolder:
    """
    config.yaml       the resolved config
    run.json          command, overrides, seed, arm, budget, size of the model, versions, git state, times, peak memory,
                      status, the best figures and the last; with ``init``, where its first weights came from
    data.json         what was fitted to the data: vocabularies, scales
    graph.svg         the drawing of the model's graph
    metrics.jsonl     a line of metrics every ``log_every`` steps and at every validation
    samples.jsonl     the model's predictions for some examples, at every validation
    figures/          learning curves, throughput, and figures of the best checkpoint
    checkpoints/      last.pt, to resume from, and best.pt, with the lowest validation loss
    log.txt           the screen output
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"
        self.facts = path / "run.json"
        self.data = path / "data.json"
        self.graph = path / "graph.svg"
        self.metrics = path / "metrics.jsonl"
        self.samples = path / "samples.jsonl"
        self.figures = path / "figures"
        self.checkpoints = path / "checkpoints"
        self.log = path / "log.txt"

    @property
    def last(self) -> Path:
        return self.checkpoints / "last.pt"

    @property
    def best(self) -> Path:
        return self.checkpoints / "best.pt"

    @classmethod
    def create(cls, parent: Path, name: str | float | None) -> RunFolder:
        """Make a new folder, by default named after the time. A name that is already used is an error."""
        if name is None:
            stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
            names = (stamp if i == 1 else f"{stamp}_{i}" for i in count(1))
            path = next(parent / name for name in names if not (parent / name).exists())
        else:
            path = parent / str(name)
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise UserError(
                    f"name={name}: there is a '{path}' already. Choose another name, or go on with resume={path}."
                )
        folder = cls(path)
        folder.make()
        return folder

    def make(self) -> None:
        """Make the folder and those inside it, unless they exist."""
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self.figures.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot make the run's folder '{self.path}': {error.strerror}.") from error

    @classmethod
    def find(cls, path: str | Path) -> RunFolder:
        """The folder of an existing run. A path without a run is an error that names similar folders."""
        folder = cls(Path(path))
        if not folder.path.is_dir():
            parent = folder.path.parent
            others = [other.name for other in parent.iterdir()] if parent.is_dir() else []
            raise UserError(f"there is no run '{path}'.{did_you_mean(folder.path.name, others)}")
        if not folder.config.is_file():
            raise UserError(f"'{path}' is not the folder of a run: it has no {folder.config.name}.")
        return folder

    def newest(self) -> Path:
        """The path of the run's last checkpoint, which has to exist."""
        if not self.last.is_file():
            raise UserError(
                f"there is no checkpoint in '{self.path}': it was stopped before the first. "
                f"Train it with: python train.py resume={self.path}"
            )
        return self.last

    def chosen(self) -> Path:
        """The path of the checkpoint to use by default: the best one if the run was validated, otherwise the last."""
        return self.best if self.best.is_file() else self.newest()

    def read_facts(self) -> dict[str, Any]:
        return json.loads(self.facts.read_text(encoding="utf-8")) if self.facts.is_file() else {}

    def note(self, facts: Mapping[str, Any]) -> None:
        """Add facts to run.json."""
        write_text(self.facts, json.dumps(self.read_facts() | dict(facts), indent=2, ensure_ascii=False) + "\n")

    def clean(self) -> None:
        """Remove temporary files of checkpoints that a killed process did not finish writing."""
        for incomplete in self.checkpoints.glob(".*.pt.*"):
            incomplete.unlink()


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl file, without a last line that a killed process left incomplete."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def cut_lines(path: Path, step: int) -> None:
    """Remove the lines of later steps from a .jsonl file: a resumed run writes them again."""
    kept = [json.dumps(row, ensure_ascii=False) for row in read_lines(path) if row["step"] <= step]
    if path.is_file():
        write_text(path, "".join(f"{line}\n" for line in kept))
