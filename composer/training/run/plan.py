"""The plan of a run: its whole config, checked before weights or files are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import torch

from composer.batching import Batches, Loader
from composer.config.assembly import check_seed, compile_model, load_plugins
from composer.config.composition import Composed
from composer.core.binding import bind_section
from composer.core.capabilities import declared, offers
from composer.core.plugin_identity import identities
from composer.core.problems import ConfigError, Invalid, Problem, Report, UserError, did_you_mean, listed
from composer.data import SPLITS, load_source
from composer.graph.describe import summarise
from composer.graph.graph import Graph
from composer.metrics import LOSS, monitor_for, scores_for
from composer.metrics.evaluation import Score
from composer.objectives import Objective
from composer.runs.checkpoint import check_weights
from composer.runs.ownership import sign
from composer.runs.record import with_present_keys
from composer.training.callbacks.configured import Configured, load_callbacks
from composer.training.hardware import check_hardware
from composer.training.loggers import Loggers, load_loggers
from composer.training.optimisation.frozen_nodes import frozen_until
from composer.training.optimisation.optimisers import MakeOptimiser, bind_optimiser
from composer.training.optimisation.schedules import MakeSchedule, bind_schedule
from composer.training.run.init import Transfers, open_run_objective
from composer.training.run.init.settings import bind_init
from composer.training.scheduled_sampling import sampled_heads
from composer.training.settings import Hardware, Training, bind_training
from composer.training.truncated_bptt import check_carry

#: Rows of a split whose lengths are checked before training.
MEASURED = 100_000


@dataclass(frozen=True)
class TrainingPlan:
    """
    saved: the checkpoint that a run resumes from
    taken: the weights that the run takes from other runs, by name; a resumed run has them already
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
    callbacks: Configured
    saved: Mapping[str, Any] | None
    taken: Mapping[str, torch.Tensor]
    taken_from: Mapping[str, Any] | None
    frozen_until: Mapping[str, float]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The summary of the graph: its shapes, parameters, FLOPs and size of the state."""
        return summarise(self.meta)

    @property
    def unread(self) -> list[str]:
        """The fields of the data that the graph neither reads nor predicts."""
        needed = self.objective.needs({*self.meta.plan.inputs, *self.meta.plan.targets})
        return [name for name in self.objective.source.fields if name not in needed]

    def loader(self, rank: int = 0, world: int = 1) -> Loader:
        """The training data of a process."""
        training = self.training
        batches = Batches(
            self.objective, "train", rows=training.batch, tokens=training.batch_tokens, sort=training.sort,
            seed=self.seed, streams=training.carry, rank=rank, world=world, parts=training.accumulate,
        )  # fmt: skip
        return Loader(self.objective, batches)

    @property
    def seed(self) -> int:
        return int(self.composed.values["seed"])

    def total_steps(self, length: Mapping[str, Any] | None = None) -> int:
        """The optimiser steps of the whole run: given, or those of so many epochs.

        length: other ``steps`` and ``epochs`` than those of the config
        """
        length = length or {"steps": self.training.steps, "epochs": self.training.epochs}
        return length["steps"] or max(1, round(float(length["epochs"] or 1) * len(self.loader().batches)))

    @property
    def identity(self) -> dict[str, Any]:
        """The config and the data's state, from which a model is rebuilt, and where its first weights came from.

        Every checkpoint holds them.
        """
        values = {key: value for key, value in self.composed.written().items() if key != "resume"}
        for name, module in self.meta.nodes.items():
            if offers(module, "portable"):  # the block was built from a file, which may be missing at the rebuild
                values["model"]["nodes"][name] |= module.portable()
        source = self.objective.source
        identity: dict[str, Any] = {"config": values, "source": source.state()}
        if (file := source.trained_file()) is not None:
            identity["file"] = asdict(file)
        identity |= {"plugins": identities(values.get("plugins") or []), "signature": sign(values.get("data"))}
        return identity | ({"init": self.taken_from} if self.taken_from else {})


def prepare(
    composed: Composed,
    saved: Mapping[str, Any] | None = None,
    opened: tuple[Objective, Transfers] | None = None,
) -> TrainingPlan:
    """Check the whole config before training, and that this machine and this data can train it.

    saved: the checkpoint that a run resumes from
    opened: the objective and what the run takes from other runs, where the caller has them already
    """
    check_one_run(composed)
    plan = check_config(composed, saved, opened)
    check_hardware(plan.hardware)
    if saved is not None:
        check_same_data(plan.objective, saved)
        check_weights(plan.meta, saved)  # before a config of another width allocates anything
    if plan.training.monitor != LOSS and not plan.objective.size("valid"):
        message = "has no effect: the data has no validation split, so the last checkpoint is used. Set data.valid."
        raise ConfigError([Problem("training.monitor", message)], composed.locate)
    check_lengths(plan.meta, plan.objective)
    return plan


def check_config(
    composed: Composed,
    saved: Mapping[str, Any] | None = None,
    opened: tuple[Objective, Transfers] | None = None,
) -> TrainingPlan:
    """Check every section of a config, the graph included, and raise one error with the problems of all of them.

    Every command that takes a config checks it here, so that all commands refuse the same configs.
    """
    values, locate = composed.values, composed.locate
    sections: dict[str, Callable[[], Any]] = {
        "training": lambda: bind_training(values.get("training"), locate),
        "hardware": lambda: bind_section("trainer", Hardware, values.get("trainer"), "trainer", locate)(),
        "optimiser": lambda: bind_optimiser(values.get("optimiser") or {}, locate),
        "schedule": lambda: bind_schedule(values.get("schedule") or {}, locate),
        "loggers": lambda: load_loggers(values.get("logger"), locate),
        "callbacks": lambda: load_callbacks(values.get("callbacks"), locate),
        "init": lambda: bind_init(values.get("init"), locate),
    }
    bound: dict[str, Any] = {}
    with composed.reporting():
        load_plugins(composed)
        with Report.raised(locate) as report:
            for name, bind in sections.items():
                with report.collecting():
                    bound[name] = bind()
            with report.collecting():
                check_seed(composed)
                objective, transfers = opened or open_run_objective(composed, saved)
                meta = compile_model(composed, objective)
        training, hardware, init = bound["training"], bound["hardware"], bound["init"]
        with Report.raised(locate) as report:
            with report.collecting("training"):
                training = replace(training, monitor=find_monitor(meta, objective, training, saved))
            if training.carry:
                with report.collecting("training"):
                    check_carry(meta)
                    check_streams(objective, training, hardware)
                    check_unsharded("carry", hardware)
            if training.scheduled_sampling.rate:
                with report.collecting("training.scheduled_sampling"):
                    sampled_heads(meta, training.scheduled_sampling)
                    check_unsharded("rate", hardware)
            until = frozen_until(init.freeze or [], init.unfreeze_after, meta, report)
            never = [node for node, end in until.items() if end == math.inf]
            bound["optimiser"].settings.check(meta, never, report)
            taken = transfers.match(meta, objective, report)
        origin = transfers.record() if saved is None else saved.get("init")
        return TrainingPlan(
            composed, meta, objective, training, hardware, bound["optimiser"].over(meta), bound["schedule"],
            bound["loggers"], bound["callbacks"], saved, taken, origin, until,
        )  # fmt: skip


def find_monitor(meta: Graph, objective: Objective, training: Training, saved: Mapping[str, Any] | None) -> str:
    """The metric of the best checkpoint: that of the config, or else of the head; a resumed run keeps its own.

    Raises an error if this is no metric of the model, or is of texts that are never decoded. A head that names an
    unknown metric fails here, too, and not at the first validation.
    """
    scores, name = scores_for(meta), training.monitor
    if saved is not None:
        configured = with_present_keys(saved["config"].get("training") or {}).get("monitor")
        before = saved["progress"].get("monitor") or configured or LOSS
        if name not in (None, before):
            raise Invalid(
                "monitor",
                f"the best checkpoint of this run was chosen by '{before}'. Leave the key out, or start a new run.",
            )
        return before
    if name is None:
        name = monitor_for(meta)
        return name if objective.size("valid") and not undecoded(meta, scores[name], training) else LOSS
    if name not in scores:
        message = f"this model has no metric '{name}'.{did_you_mean(name, scores)}  (metrics: {listed(scores, 40)})"
        raise Invalid("monitor", message)
    if undecoded(meta, scores[name], training):
        raise Invalid("monitor", f"'{name}' is of decoded sequences, but decode_rows=0 decodes none. Set decode_rows.")
    return name


def undecoded(meta: Graph, score: Score, training: Training) -> bool:
    """Whether a metric is of decoded sequences, and validations decode none."""
    decodes = any(meta.target(head).decodes for head in meta.heads if head.name in score.metrics)
    return score.whole and decodes and training.decode_rows == 0


def check_streams(objective: Objective, training: Training, hardware: Hardware) -> None:
    """Raise an error if the examples of the data do not continue each other, or are too few for the rows of a batch."""
    world = hardware.nodes * (hardware.devices if isinstance(hardware.devices, int) else 1)
    try:
        Batches(objective, "train", rows=training.batch, streams=True, world=world, parts=training.accumulate)
    except Invalid as error:
        raise Invalid({"streams": "carry", "rows": "batch"}[error.parameter], error.message) from error


def check_unsharded(key: str, hardware: Hardware) -> None:
    if hardware.strategy == "fsdp":
        raise Invalid(key, "does not go with trainer=fsdp. Use trainer=ddp.")


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
        if field.contents.tokens != now[name].contents.tokens:
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
        if isinstance(limit := declared(module, "limit"), int)
    }
    if not limits:
        return
    node, limit = min(limits.items(), key=lambda item: item[1])
    for split in filter(objective.source.size, SPLITS):
        for rows in torch.arange(min(objective.source.size(split), MEASURED)).split(10_000):
            for name, lengths in objective.source.lengths(split, rows).items():
                if int(lengths.max()) > limit:
                    raise UserError(
                        f"'{name}' of example {int(rows[lengths.argmax()])} of the split '{split}' has "
                        f"{int(lengths.max())} steps, but node '{node}' has positions for {limit}. Raise its limit, "
                        "shorten the sequences, or use a position without a limit, e.g. sinusoidal."
                    )
