"""What run.json and sweep.json say, as typed records. The only module that reads and writes the two files.

A file is changed key by key, so that keys which this version does not know, of a later version or an earlier one, stay.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from composer.core.storage import plain_data
from composer.core.storage.atomic_files import write_json


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What run.json says of a run. A field that nobody has written yet has its default.

    Written when a sweep plans the run (``Trial``), and kept from then on:

    trial: its ``number``, its ``phase`` (grid, tuning or final), and the ``parameters`` that the sweep varies
    tuning: the tuning of the study that a tuning run belongs to
    untuned: of a final run of a study, why its arm is not tuned; empty if it is

    Written when the run begins (``training.run.identity``):

    identifier: unique, and the same before and after a resume
    overrides: of the command line
    group, seed, arm, budget: of the config; the group is the sweep or study
    monitor: the metric that chooses the best checkpoint (earlier versions: ``judge``)
    steps: all that it is to take
    size: of the model: ``parameters``, ``flops_per_token`` and ``train_flops_per_example``
    began, command, versions, git: when, how and with what the run was begun; git is None outside of a repository
    init: where the first weights came from, if the run took some from other runs
    resumed: of every resume, ``at``, ``step`` and ``command``

    Written while the run trains (``RunRecorder``) and when it ends (``training.run``):

    status: waiting, running, finished, failed, stopped or pruned
    reason: of a run that has failed, in a sentence
    saved: whether the run has had a checkpoint
    seconds: of all starts of the run
    peak_memory: of training, in bytes
    ended: when
    result, result_step: the metrics of the best checkpoint, or the last ones if nothing was validated
    last, last_step: the last metrics of training and of validation
    test, test_step: the metrics of the test split: ``value``, ``low`` and ``high``, by name
    """

    trial: dict[str, Any] = field(default_factory=dict)
    tuning: dict[str, Any] | None = None
    untuned: str | None = None
    identifier: str | None = None
    overrides: list[str] = field(default_factory=list)
    group: str | float | None = None
    seed: int | None = None
    arm: str | float | None = None
    budget: dict[str, Any] | None = None
    monitor: str | None = None
    steps: int | None = None
    size: dict[str, float] = field(default_factory=dict)
    began: str | None = None
    command: str | None = None
    versions: dict[str, str | None] = field(default_factory=dict)
    git: dict[str, Any] | None = None
    init: dict[str, Any] | None = None
    resumed: list[dict[str, Any]] = field(default_factory=list)
    status: str | None = None
    reason: str | None = None
    saved: bool = False
    seconds: float | None = None
    peak_memory: int | None = None
    ended: str | None = None
    result: dict[str, float | None] = field(default_factory=dict)
    result_step: int | None = None
    last: dict[str, float | None] = field(default_factory=dict)
    last_step: int | None = None
    test: dict[str, dict[str, float | None]] = field(default_factory=dict)
    test_step: int | None = None

    @property
    def phase(self) -> str | None:
        """Of a sweep's trial: grid, tuning or final."""
        return self.trial.get("phase")

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The values that the sweep varies, of a sweep's trial."""
        return self.trial.get("parameters") or {}

    def judged(self, metric: str) -> float:
        """The metric of the best checkpoint, or of the last step if nothing was validated; NaN without one."""
        value = self.result.get(metric, self.result.get(metric.removeprefix("valid/")))
        return math.nan if value is None or self.status == "failed" else float(value)


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """What sweep.json says of a sweep.

    format: raised when the meaning of the file changes
    kind: grid, search or study
    arguments: of the command line
    trials: how many there are; in a search or a study, there may be fewer
    search, study: the plan of a search or a study as plain data
    judged, direction: the metric that judges the trials, and whether a low value is better (min) or a high one (max)
    began, status, ended: as of a run
    """

    format: int = 0
    kind: str = "grid"
    arguments: list[str] = field(default_factory=list)
    trials: int | None = None
    search: dict[str, Any] | None = None
    study: dict[str, Any] | None = None
    judged: str = ""
    direction: str = ""
    began: str | None = None
    status: str | None = None
    ended: str | None = None


Record = TypeVar("Record", RunRecord, SweepRecord)

#: What earlier versions called a key, in the files of a run and in its config.
EARLIER = {"course": "progress", "judge": "monitor"}


def with_present_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the keys of this version, whichever version wrote them; where both are set, the present one counts."""
    old = {EARLIER[key]: value for key, value in values.items() if key in EARLIER and value is not None}
    new = {key: value for key, value in values.items() if key not in EARLIER}
    return new | {key: value for key, value in old.items() if new.get(key) is None}


def read(path: Path, form: type[Record]) -> Record:
    """The record in a file: empty without the file. A ``ValueError`` says what is wrong with one that is torn.

    A metric of ``result`` and ``last`` that was NaN or infinite, which JSON has not, is NaN.
    """
    if not path.is_file():
        return form()
    content = json.loads(path.read_bytes())
    if not isinstance(content, dict):
        raise ValueError("it holds no mapping")
    known = with_present_keys(content)
    found = {each.name: known[each.name] for each in fields(form) if known.get(each.name) is not None}
    if (problem := plain_data.misfit(found, form)) is not None:
        raise ValueError(problem)
    for key in found.keys() & {"result", "last"}:
        found[key] = {name: math.nan if value is None else value for name, value in found[key].items()}
    return form(**found)


def update(path: Path, form: type[Record], changes: Mapping[str, Any]) -> None:
    """Write some fields of a record that can be read. The others stay, as do keys that the record does not have."""
    problem = plain_data.misfit({key: value for key, value in changes.items() if value is not None}, form)
    assert problem is None, problem
    content = json.loads(path.read_bytes()) if path.is_file() else {}
    write_json(path, content | dict(changes))


def chosen(overrides: Iterable[str]) -> list[str]:
    """The user's overrides, without those that a sweep adds and those that only name the run's folder."""
    return [override for override in overrides if not override.startswith(("hydra.", "runs=", "name=", "group="))]


def now() -> str:
    """The time, as the records have it."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
