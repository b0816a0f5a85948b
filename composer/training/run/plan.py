"""The plan of a run: its whole config, checked before weights or files are made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from composer.config.assembly import load_plugins
from composer.config.composition import Composed
from composer.core.binding import bind_section
from composer.core.capabilities import offers, said
from composer.core.plugin_identity import identities
from composer.core.problems import ConfigError, Invalid, Problem, Report, UserError
from composer.data import SPLITS, load_source
from composer.graph.describe import summarise
from composer.graph.graph import Graph
from composer.metrics import metrics_for
from composer.objectives import Objective
from composer.training.freezing import frozen_until
from composer.training.hardware import check_hardware
from composer.training.loggers import Loggers, load_loggers
from composer.training.optimisers import MakeOptimiser, bind_groups, bind_optimiser
from composer.training.ownership import sign
from composer.training.run.init import Transfer, compile_run
from composer.training.run.init.settings import bind_init
from composer.training.schedules import MakeSchedule, bind_schedule
from composer.training.settings import Hardware, Training
from composer.training.truncated_bptt import check_carry

#: Rows of a split whose lengths are checked before training.
MEASURED = 100_000


@dataclass(frozen=True)
class TrainingPlan:
    """
    taken: the weights that the run takes from another run, by name; a resumed run has them already
    taken_from: where they came from, as plain data; None if the run has taken none
    frozen_until: the number of steps for which each frozen node stays frozen
    """

    composed: Composed
    meta: Graph
    objective: Objective
    training: Training
    hardware: Hardware
    optimiser: MakeOptimiser
    schedule: MakeSchedule
    loggers: Loggers
    taken: Mapping[str, torch.Tensor]
    taken_from: Mapping[str, Any] | None
    frozen_until: Mapping[str, float]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The summary of the graph: its shapes, parameters, FLOPs and size of the state."""
        return summarise(self.meta)

    @property
    def identity(self) -> dict[str, Any]:
        """The config and the data's state, from which a model is rebuilt, and where its first weights came from.

        Every checkpoint holds them.
        """
        values = {key: value for key, value in self.composed.written().items() if key != "resume"}
        for name, module in self.meta.nodes.items():
            if offers(module, "portable"):  # the block was built from a file, which may be missing at the rebuild
                values["model"]["nodes"][name] |= module.portable()  # type: ignore[operator]
        identity: dict[str, Any] = {"config": values, "source": self.objective.source.state()}
        identity |= {"plugins": identities(values.get("plugins") or []), "signature": sign(values.get("data"))}
        return identity | ({"init": self.taken_from} if self.taken_from else {})


def prepare(
    composed: Composed,
    saved: Mapping[str, Any] | None = None,
    compiled: tuple[Graph, Objective, Transfer | None] | None = None,
) -> TrainingPlan:
    """Check the whole config before training.

    saved: the checkpoint that a run resumes from
    compiled: the result of ``compile_run``, where the caller has it already
    """
    values, locate = composed.values, composed.locate
    load_plugins(composed)
    check_names(composed)
    check_one_run(composed)
    training = bind_section("training", Training, values["training"], "training", locate)()
    hardware = bind_section("trainer", Hardware, values["trainer"], "trainer", locate)()
    check_hardware(hardware)
    bind_optimiser(values["optimiser"], locate)  # reports its problems; it is made below, when the nodes are known
    schedule = bind_schedule(values["schedule"], locate)
    loggers = load_loggers(values.get("logger"), locate)
    init = bind_init(values.get("init"), locate)
    meta, objective, transfer = compiled or compile_run(composed, saved)
    metrics_for(meta)  # a head that names an unknown metric fails here, not at the first validation
    if saved is not None:
        check_same_data(objective, saved)
    try:
        if training.carry:
            check_carry(meta)
            if hardware.strategy == "fsdp":
                raise Invalid("carry", "does not go with trainer=fsdp. Use trainer=ddp.")
    except Invalid as error:
        raise ConfigError([Problem(f"training.{error.parameter}", error.message)], locate) from error
    report = Report()
    optimiser = bind_optimiser(values["optimiser"], locate, meta)
    until = frozen_until(init.freeze or [], init.unfreeze_after, meta, report)
    bind_groups(values["optimiser"], locate).check(meta, [n for n, end in until.items() if end == math.inf], report)
    taken = transfer.match(meta, objective, report) if transfer is not None else {}
    if report.problems:
        raise ConfigError(report.problems, locate)
    check_lengths(meta, objective)
    origin = transfer.record() if transfer is not None else (saved or {}).get("init")
    return TrainingPlan(
        composed, meta, objective, training, hardware, optimiser, schedule, loggers, taken, origin, until
    )


def check_names(composed: Composed) -> None:
    """Raise an error for a folder, name, group or arm that is a list or a mapping; a number is a name, too."""
    names = ("runs", "name", "group", "arm")
    wrong = [key for key in names if isinstance(composed.values.get(key), list | dict)]  # old runs have no arm
    if wrong:
        problems = [Problem(key, f"expected a name, found {composed.values[key]!r}.") for key in wrong]
        raise ConfigError(problems, composed.locate)


def check_one_run(composed: Composed) -> None:
    """Raise an error for a study or a search that is started as one run; a run of a study has an ``arm``."""
    if composed.values.get("search") is not None:
        message = "a search is many runs, one for every trial. Start it with -m: python train.py -m search=..."
        raise ConfigError([Problem("search", message)], composed.locate)
    if composed.values.get("study") is not None and composed.values.get("arm") is None:
        message = "a study is many runs, one for every arm and seed. Start it with -m: python train.py -m study=..."
        raise ConfigError([Problem("study", message)], composed.locate)


def check_same_data(objective: Objective, saved: Mapping[str, Any]) -> None:
    """Raise an error if the data of a resumed run has changed, because its weights belong to the old vocabulary."""
    if objective.source.state() == saved["source"]:
        return
    before = load_source(saved["config"]["data"], state=saved["source"]).fields
    now = objective.source.fields
    for name, field in before.items():
        if field.vocabulary != now[name].vocabulary:
            what = f"its vocabulary had {field.vocabulary} entries, now it has {now[name].vocabulary}"
            break
        if field.tokens != now[name].tokens:
            what = "its vocabulary has as many entries, but others"
            break
    else:
        name, what = "data", "what was learned of it differs"
    raise UserError(
        f"the data has changed since the run began: '{name}': {what}. "
        "Put the data back as it was, or start a new run with it."
    )


def check_lengths(meta: Graph, objective: Objective) -> None:
    """Raise an error if a sequence is longer than the ``limit`` of a block, such as its number of learned positions."""
    limits = {
        node: limit
        for node, part in meta.nodes.items()
        for module in part.modules()
        if isinstance(limit := said(module, "limit"), int)
    }
    if not limits:
        return
    node, limit = min(limits.items(), key=lambda item: item[1])
    for split in SPLITS:
        for name, start, lengths in _lengths(objective, split):
            if int(lengths.max()) > limit:
                row = start + int(lengths.argmax())
                raise UserError(
                    f"'{name}' of example {row} of the split '{split}' has {int(lengths.max())} steps, but node "
                    f"'{node}' has positions for {limit}. Raise its limit, shorten the sequences, or use a position "
                    "without a limit, e.g. sinusoidal."
                )


def _lengths(objective: Objective, split: Any, at_once: int = 10_000) -> Iterator[tuple[str, int, torch.Tensor]]:
    size = min(objective.source.size(split), MEASURED)
    for start in range(0, size, at_once):
        rows = torch.arange(start, min(start + at_once, size))
        for name, lengths in objective.source.lengths(split, rows).items():
            yield name, start, lengths
