"""A run's folder: what lies where."""

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
    run.json          command, overrides, versions, git state, times, status, the best figures and the last
    data.json         what was learned of the data: vocabularies
    graph.svg         the picture of the graph
    metrics.jsonl     a line of figures every few steps
    samples.jsonl     what the model made of some examples, at every validation
    figures/          pictures
    checkpoints/      last.pt, to go on from, and best.pt, of the lowest validation loss
    log.txt           what was said on the screen
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
    def create(cls, parent: Path, name: str | None) -> RunFolder:
        """A new folder, by default named after the time; a name that is taken is refused."""
        if name is None:
            stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
            names = (stamp if i == 1 else f"{stamp}_{i}" for i in count(1))
            path = next(parent / name for name in names if not (parent / name).exists())
        else:
            path = parent / name
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise UserError(
                    f"name={name}: there is a '{path}' already. Choose another name, or go on with resume={path}."
                )
        folder = cls(path)
        try:
            folder.checkpoints.mkdir(parents=True)
            folder.figures.mkdir()
        except OSError as error:
            raise UserError(f"cannot make the run's folder '{path}': {error.strerror}.") from error
        return folder

    @classmethod
    def find(cls, path: str | Path) -> RunFolder:
        """The folder of a run that was, or one sentence about what is there instead."""
        folder = cls(Path(path))
        if not folder.path.is_dir():
            parent = folder.path.parent
            others = [other.name for other in parent.iterdir()] if parent.is_dir() else []
            raise UserError(f"there is no run '{path}'.{did_you_mean(folder.path.name, others)}")
        if not folder.config.is_file():
            raise UserError(f"'{path}' is not the folder of a run: it has no {folder.config.name}.")
        return folder

    def newest(self) -> Path:
        """Its last checkpoint."""
        if not self.last.is_file():
            raise UserError(
                f"there is no checkpoint in '{self.path}': it was stopped before the first. "
                f"Train it with: python train.py resume={self.path}"
            )
        return self.last

    def chosen(self) -> Path:
        """The checkpoint to use unless another one is asked for: the best where there is one, or else the last."""
        return self.best if self.best.is_file() else self.newest()

    def read_facts(self) -> dict[str, Any]:
        return json.loads(self.facts.read_text(encoding="utf-8")) if self.facts.is_file() else {}

    def note(self, facts: Mapping[str, Any]) -> None:
        """Add facts to those there are."""
        write_text(self.facts, json.dumps(self.read_facts() | dict(facts), indent=2, ensure_ascii=False) + "\n")

    def clean(self) -> None:
        """Remove what a killed process may have left half-written beside the checkpoints."""
        for torn in self.checkpoints.glob(".*.pt.*"):
            torn.unlink()


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a .jsonl file; a last one that a killed process left torn is not one."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def cut_lines(path: Path, step: int) -> None:
    """Keep what was written up to a step; what came after it will come again."""
    kept = [json.dumps(row, ensure_ascii=False) for row in read_lines(path) if row["step"] <= step]
    if path.is_file():
        write_text(path, "".join(f"{line}\n" for line in kept))
