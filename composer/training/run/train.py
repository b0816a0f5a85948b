"""A training run: check the config, train and validate, save the results, draw the figures."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import lightning
import torch
from lightning import Callback
from lightning.pytorch.profilers import AdvancedProfiler, Profiler, PyTorchProfiler, SimpleProfiler

from composer.batching import drawn_rows
from composer.config.composition import Composed
from composer.core.problems import UserError
from composer.core.showing.short_table import ShortTable, ShownAsTable
from composer.data import Split
from composer.graph.graph import Graph
from composer.metrics.outcomes import class_outcomes
from composer.runs import checkpoint
from composer.runs.folder import RunFolder, present, read_metrics
from composer.runs.record import now
from composer.runs.resume import ResumePoint, only_writer, resumed
from composer.runs.staging import create_run_folder, reserve
from composer.training.callbacks.exact_resume import ExactResume
from composer.training.callbacks.interruption import Interrupted, Interruption
from composer.training.callbacks.progress import ScreenProgress
from composer.training.callbacks.pruning import Prune, PruneCallback
from composer.training.callbacks.run_folder import RunFolderCallback, RunLogger
from composer.training.callbacks.validation_samples import ValidationSamples
from composer.training.callbacks.validation_steps import ValidationSteps
from composer.training.data_module import DataModule
from composer.training.faults import memory_errors, storage_errors
from composer.training.hardware import chosen, trainer_options
from composer.training.memory import recompute_sublayers
from composer.training.module import TrainingModule
from composer.training.run.final_test import final_test
from composer.training.run.identity import prepare_folder, run_info, write_identity
from composer.training.run.init.transfer import load_taken
from composer.training.run.peak_memory import peak_memory, reset_peak_memory
from composer.training.run.plan import TrainingPlan, prepare
from composer.training.run.processes import process_rank, together
from composer.training.run.record import RunRecorder
from composer.training.run.show import show_end, show_signals, show_start
from composer.training.screen import Screen
from composer.views.figures import judged_batches, lacking, write_figures

#: Lightning's profilers, by the names of ``trainer.profiler``.
PROFILERS: dict[str, Callable[..., Profiler]] = {
    "simple": SimpleProfiler, "advanced": AdvancedProfiler, "pytorch": PyTorchProfiler,
}  # fmt: skip
#: The number of examples that the figures show.
PICTURED = 16


@dataclass(frozen=True, repr=False)
class Outcome(ShownAsTable):
    """The outcome of a run that did not fail. It stands for the run's folder where a path does: ``composer.load``.

    folder: None on every process but the first
    values: the metrics of the best checkpoint, or the last metrics if nothing was validated
    exit_code: the exit code for the program
    """

    folder: RunFolder | None
    status: Literal["finished", "stopped", "pruned"]
    values: dict[str, float]
    exit_code: int

    def __fspath__(self) -> str:
        if self.folder is None:
            raise UserError("only the first process of a run has its folder.")
        return str(self.folder.path)

    def short_table(self) -> ShortTable:
        title = self.status if self.folder is None else f"{self.folder.path}: {self.status}"
        return ShortTable(title, ("metric", "value"), [(n, f"{v:.4g}") for n, v in self.values.items()], ("value",))


def train(
    composed: Composed,
    *,
    folder: RunFolder | None = None,
    brief: bool = False,
    quiet: bool = False,
    signals: bool = False,
    prune: Prune | None = None,
) -> Outcome:
    """Start a new run, or resume an old one. Errors of the config are raised before any file is written.

    folder: the folder of a new run; None to make one
    brief: print only the run's folder and its validations, as for the runs of a sweep
    quiet: print nothing; what would be printed is only written to the run's log
    signals: measure activations and gradients at initialisation, and print those beyond their limits
    prune: decides after every validation whether the run ends early
    """
    with ExitStack() as locks:
        first, point = process_rank() == 0, None
        if composed.values.get("resume"):
            locked_by_caller = folder is not None
            folder = RunFolder.find(composed.values["resume"])
            folder.check_links()
            if first and not locked_by_caller:
                locks.enter_context(only_writer(folder))
            point = ResumePoint.find(folder)
            composed = resumed(composed, point.config, (point.saved or {}).get("plugins"))
        plan = prepare(composed, point.saved if point is not None else None)
        if not first:
            return fit(plan, Screen(quiet=True), None, prune)
        notes: list[str] = []
        if folder is None:
            name = composed.values["name"]
            folder, lock = create_run_folder(Path(str(composed.values["runs"])), name, partial(write_identity, plan))
            locks.enter_context(lock)
        else:
            check_not_spent(plan, folder)
            notes = prepare_folder(plan, folder, point)
        screen = Screen(folder.log, quiet=quiet, silent=brief)
        with recording(plan, folder, screen) as record:
            screen.event("started", **beginning(plan, folder))
            show_start(screen, plan, folder, brief=brief or plan.saved is not None)
            for note in [*notes, *extension(plan)]:
                screen.say(f"note      {note}")
                screen.event("note", message=note)
            if signals:
                show_signals(screen, plan)
            on_gpu = chosen(plan.hardware) == "gpu"
            reset_peak_memory(on_gpu)
            outcome = fit(plan, screen, record, prune)
            folder.update_record(peak_memory=peak_memory(on_gpu))  # of training alone: the figures come later
            record.status = outcome.status
            screen.end()
            if outcome.status == "finished":
                final_test(record)
                write_artifacts(record)
        show_end(record, brief=brief)
        screen.event(outcome.status, **ending(record), exit_code=outcome.exit_code)
        return outcome


def beginning(plan: TrainingPlan, folder: RunFolder) -> dict[str, Any]:
    """What an event says of a run that begins."""
    return {
        "folder": str(folder.path), "overrides": folder.read_record().overrides,
        "step": plan.saved["step"] if plan.saved is not None else 0, "steps": plan.total_steps(),
        "parameters": plan.summary["totals"]["parameters"], "monitor": plan.training.monitor,
    }  # fmt: skip


def ending(record: RunRecorder) -> dict[str, Any]:
    """What an event says of a run that has ended."""
    result = record.result()
    return {
        "folder": str(record.folder.path), "step": record.steps, "seconds": record.seconds,
        "result": result.values, "result_step": result.step, "test": record.test,
    }  # fmt: skip


@contextmanager
def recording(plan: TrainingPlan, folder: RunFolder, screen: Screen) -> Iterator[RunRecorder]:
    """A recorder for a ``with`` block. At its end, also after an error, status and result are written to run.json."""
    record = RunRecorder(plan, folder, screen)
    reason: str | None = "an error in the program"
    reserved, is_logged = ExitStack(), False
    try:
        with storage_errors(folder.path):
            reserved.enter_context(reserve(folder.path))
            plan.loggers.open(run_info(plan, folder))
            is_logged = True
            yield record
        reason = None
    except UserError as error:
        reason = str(error)
        raise
    except (KeyboardInterrupt, SystemExit):  # a signal outside of the training loop
        record.status, reason = "stopped", None
        raise
    finally:
        screen.end()
        result = record.result()
        reserved.close()
        try:
            folder.update_record(
                status=record.status, reason=reason, ended=now(), seconds=record.seconds, result=result.values,
                result_step=result.step, last=record.last, last_step=record.steps,
            )  # fmt: skip
        finally:
            if is_logged:
                with storage_errors(folder.path):
                    plan.loggers.finish(record.status, record.summary())


def write_artifacts(record: RunRecorder) -> None:
    """At the end of a run, draw the figures of the best checkpoint, and pass figures and checkpoints to the loggers."""
    plan, folder = record.plan, record.folder
    if plan.training.figures:
        graph, objective = checkpoint.materialise(plan.meta, checkpoint.load(folder.chosen())), plan.objective
        split: Split = "valid" if objective.size("valid") else "train"
        batch = objective.batch(split, drawn_rows(objective.size(split), PICTURED))
        outcomes = class_outcomes(graph, objective, judged_batches(objective, split))
        rows = list(read_metrics(folder.metrics))
        for name, path in write_figures(folder.figures, graph, batch, rows, outcomes).items():
            record.logger.figure(name, path, record.steps)
        if (boxes := lacking()) is not None:
            record.screen.say(f"note      {boxes}")
    for path, alias in ((folder.last, "last"), (folder.best, "best")):
        if present(path).is_file():
            record.logger.checkpoint(present(path), [alias])


def check_not_spent(plan: TrainingPlan, folder: RunFolder) -> None:
    """Raise an error if a run that has ended is resumed with nothing left to do."""
    if plan.saved is None or not folder.ended():
        return
    steps, patience, progress = plan.total_steps(), plan.training.patience, plan.saved["progress"]
    if progress["step"] >= steps:
        raise UserError(f"this run has taken its {steps:,} steps. To go on: training.steps={2 * steps}")
    if progress.get("pruned"):
        raise UserError("a search ended this run early, because others did better. Train its config as a new run.")
    if patience is not None and progress["stale"] >= patience:
        raise UserError(
            f"this run ended after {patience} validations without a better {plan.training.monitor}. "
            f"To go on: training.patience={2 * patience}"
        )


def fit(
    plan: TrainingPlan, screen: Screen, record: RunRecorder | None, prune: Prune | None, *more: Callback
) -> Outcome:
    """Train on this process, which may be one of several.

    record: of the run, on the first process
    more: callbacks after those of every run
    """
    interruption, stopped = Interruption(), False
    with memory_errors(plan.meta):
        module = TrainingModule(plan, materialise(plan), steps=plan.total_steps())
        callbacks = [
            *module.own_callbacks,
            *([RunFolderCallback(record)] if record is not None else []),
            *([PruneCallback(prune)] if prune is not None else []),
            *plan.callbacks.values(),
            ExactResume(record),
            ScreenProgress(screen),
            ValidationSamples(),
            interruption,  # after the callbacks that finish a step, and before those that begin a validation
            ValidationSteps(),
            *more,
        ]
        if not module.over:  # otherwise the run was killed between its last step and its end
            stopped = not take_steps(plan, module, callbacks, record)
    folder, result = (record.folder, record.result().values) if record is not None else (None, {})
    if stopped:
        return Outcome(folder, "stopped", result, interruption.exit_code)
    return Outcome(folder, "pruned" if module.progress.pruned else "finished", result, 0)


def take_steps(
    plan: TrainingPlan, module: TrainingModule, callbacks: Sequence[Callback], record: RunRecorder | None = None
) -> bool:
    """Take the steps of a run that are left on this process; False if a signal has ended them.

    Lightning's own bar and checkpoints are switched off, because the callbacks are those of a run.

    record: of the run, on the first process
    """
    if plan.hardware.threads is not None:
        torch.set_num_threads(plan.hardware.threads)
    validates = any(isinstance(callback, ValidationSteps) for callback in callbacks)
    with lightning_noise():
        trainer = lightning.Trainer(
            **trainer_options(plan.hardware, module.graph), max_steps=module.steps, max_epochs=-1,
            callbacks=list(callbacks), logger=RunLogger(record), log_every_n_steps=plan.training.log_every,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            use_distributed_sampler=False, num_sanity_val_steps=0, limit_val_batches=1.0 if validates else 0,
            val_check_interval=1, check_val_every_n_epoch=None, profiler=profiler(plan, record),
        )  # fmt: skip
        with together(trainer, record.folder if record is not None else None):
            try:
                trainer.fit(module, DataModule(plan))
            except Interrupted:
                return False
    return True


def profiler(plan: TrainingPlan, record: RunRecorder | None) -> Profiler | None:
    """The profiler of the config, which writes its report at the end of training. On the first process only."""
    kind = plan.hardware.profiler
    if kind is None or record is None:
        return None
    return PROFILERS[kind](dirpath=record.folder.place("profile"), filename=kind)


def extension(plan: TrainingPlan) -> list[str]:
    """What becomes of the learning rate of a run that is resumed with another number of steps, in a sentence."""
    if plan.saved is None:
        return []
    before, step = plan.saved["config"].get("training") or {}, plan.saved["step"]
    if not {"steps", "epochs"} <= before.keys():
        return []
    steps, old = plan.total_steps(), plan.total_steps(before)
    rates = [plan.schedule(count).factor(step) for count in (old, steps)]
    if steps == old or rates[0] == rates[1]:
        return []
    return [
        f"from step {step:,} on, the schedule is that of a run of {steps:,} steps instead of {old:,}: the learning "
        f"rate goes on at {rates[1]:.3g} of its peak instead of {rates[0]:.3g}."
    ]


def materialise(plan: TrainingPlan) -> Graph:
    graph = plan.meta.materialise(plan.seed)
    if plan.saved is not None:
        graph.load_state_dict(plan.saved["model"])
    else:
        load_taken(graph, plan.taken)
    if plan.hardware.recompute:
        recompute_sublayers(graph)
    if plan.hardware.compile:
        graph.compile(dynamic=True)
    return graph


@contextmanager
def lightning_noise() -> Iterator[None]:
    """Silence Lightning's notices, and warnings that do not concern the user."""
    with ExitStack() as levels, warnings.catch_warnings():
        for logger in map(logging.getLogger, ("lightning.pytorch", "lightning.fabric")):
            levels.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.WARNING)
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")  # a batch takes microseconds
        warnings.filterwarnings("ignore", message=".*smaller than the logging interval.*")  # counted over epochs
        warnings.filterwarnings("ignore", message=".*in eval mode at the start.*")  # frozen graphs inside nodes
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # a deprecation inside torch
        warnings.filterwarnings("ignore", message=".*returned a view tensor.*")  # never changed in place
        warnings.filterwarnings("ignore", message=".*broadcast_buffers. is deprecated.*")  # buffers are constants
        yield
