"""Checkpoints from which a run goes on bit for bit as one that was never stopped, and what they hold.

After a step come, always in this order: logging, validation, early stopping, checkpoint. So a checkpoint holds the
state after a complete step and its validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lightning import Callback, Trainer

from composer.core.problems import UserError
from composer.runs import tensors
from composer.runs.checkpoint_content import LoggingWindow, RankState, RunProgress, TrainingState
from composer.training.callbacks import configured
from composer.training.callbacks.interruption import Interrupted
from composer.training.validation import gather

if TYPE_CHECKING:
    from composer.training.run.record import RunRecorder


class ExactResume(Callback):
    """
    recorder: writes the checkpoints; None on every process but the first
    """

    def __init__(self, recorder: RunRecorder | None) -> None:
        self.recorder = recorder

    def setup(self, trainer: Trainer, module: Any, stage: str) -> None:
        """Restore the callbacks of the config before any of them begins."""
        configured.restore(module.plan.callbacks, (module.plan.saved or {}).get("callbacks", {}))

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        if module.plan.saved is not None:
            self.agree(trainer, module)
            self.restore(trainer, module, module.plan.saved)
        self.begun = module.progress.step

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if not module.validates:
            self.after_step(trainer, module)

    def on_validation_end(self, trainer: Trainer, module: Any) -> None:
        if trainer.sanity_checking:
            return
        if module.validations.better:
            self.save(trainer, module, best=True)
        trainer.should_stop = trainer.should_stop or module.over
        self.after_step(trainer, module)

    def on_exception(self, trainer: Trainer, module: Any, exception: BaseException) -> None:
        if isinstance(exception, Interrupted):
            module.around_evaluation.close()
            self.save(trainer, module)

    def after_step(self, trainer: Trainer, module: Any) -> None:
        step = module.progress.step
        if module.over or trainer.should_stop or (step > self.begun and step % module.settings.checkpoint_every == 0):
            self.save(trainer, module)

    def save(self, trainer: Trainer, module: Any, *, best: bool = False) -> None:
        content = self.content(trainer, module)
        if self.recorder is not None:
            self.recorder.save(content, best=best)

    # The content of a checkpoint

    def content(self, trainer: Trainer, module: Any) -> TrainingState:
        optimiser, average = trainer.optimizers[0], module.average
        return {
            "step": module.progress.step,
            "progress": asdict(module.progress),
            "model": tensors.all_whole(module.graph.state_dict()),
            "average": tensors.all_whole(average.means) if average is not None else None,
            "optimiser": tensors.optimiser_state(optimiser, module.graph),
            "schedule": module.lr_schedulers().schedule.state_dict(),
            "ranks": gather(self.own_content(module), trainer.world_size),
            "callbacks": configured.states(module.plan.callbacks),
            "bounds": module.validations.bounds,
            "untrained": module.validations.untrained,
        }

    def own_content(self, module: Any) -> RankState:
        """What every process has of its own: random numbers, carried states, and what is not yet logged."""
        return {
            "random": tensors.random_state(),
            "carried": module.carried.kept if module.carried is not None else [],
            "window": asdict(module.window),
            "losses": module.totals.state_dict(),
        }

    def restore(self, trainer: Trainer, module: Any, saved: Mapping[str, Any]) -> None:
        """Restore what the module has not read from the checkpoint itself."""
        self.count_from(trainer, module.progress)
        tensors.restore_optimiser(trainer.optimizers[0], module.graph, saved["optimiser"])
        if module.average is not None and saved["average"] is not None:
            module.average.load_state_dict({"means": saved["average"]})
        ranks = saved["ranks"]
        if len(ranks) == trainer.world_size:  # with another number of processes, random numbers start anew
            own = ranks[trainer.global_rank]
            tensors.restore_random_state(own["random"])
            carried = module.carried
            if carried is not None and len(own["carried"]) == len(carried.kept):
                carried.kept = own["carried"]
            if "window" in own:  # older checkpoints do not have it
                module.window = LoggingWindow(**own["window"])
                module.totals.load_state_dict(own["losses"])

    def count_from(self, trainer: Trainer, progress: RunProgress) -> None:
        """Let the Trainer count steps and epochs from where the run was: callbacks read them."""
        epoch_loop = trainer.fit_loop.epoch_loop
        epoch_loop.on_load_checkpoint({"_batches_that_stepped": progress.step})
        epoch_loop.manual_optimization.optim_step_progress.total.completed = progress.step
        trainer.fit_loop.epoch_progress.current.completed = progress.place["epoch"]

    def agree(self, trainer: Trainer, module: Any) -> None:
        """Every process goes on from where the first one does, which may have found a checkpoint damaged."""
        if trainer.world_size > 1:
            first = RunProgress(**trainer.strategy.broadcast(asdict(module.progress)))
            if first.step != module.progress.step:
                raise UserError("the processes have read different checkpoints of this run. Resume it once more.")
            module.progress = first
