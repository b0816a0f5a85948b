"""What happens between optimiser steps, always in this order: logging, validation, early stopping, checkpoint.

A checkpoint therefore holds the state after a complete step and its validation, and a resumed run continues exactly as
the uninterrupted run would have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

import torch
import torch.distributed
from lightning import Callback, Trainer
from torch import Tensor

from composer.core.bounds import Bounds
from composer.core.capabilities import declared
from composer.core.problems import UserError
from composer.data.counter_random import mix
from composer.metrics import LOSS, Evaluation, direction
from composer.objectives import Batch
from composer.runs import tensors
from composer.runs.checkpoint_content import LoggingWindow, RankState, RunProgress, TrainingState
from composer.training.baseline import squared_errors, within_chance
from composer.training.interruption import Interruption
from composer.training.micro_batches import MicroBatch
from composer.training.module import TrainingModule
from composer.training.schedules import Schedule
from composer.training.screen import Screen
from composer.training.settings import Training
from composer.training.weight_average import Average


class Recorder(Protocol):
    """Receives a run's logged values, validations and checkpoints."""

    def logged(self, step: int, values: Mapping[str, float]) -> None: ...

    def validated(self, step: int, evaluation: Evaluation, *, best: bool) -> None: ...

    def save(self, content: Mapping[str, Any], *, best: bool) -> None: ...


#: Receives the step and the metrics of a validation, and returns whether a search ends the run early.
Prune = Callable[[int, Mapping[str, float]], bool]

#: What every process has of its own.
Own = TypeVar("Own")

#: Yields the batches that it is given, and may raise ``Interrupted`` between two of them.
PassThrough = Callable[[Iterable[Batch]], Iterator[Batch]]


class Interrupted(Exception):
    """A signal interrupted a validation before its end."""


class Loop(Callback):
    """The Lightning callback around every optimiser step.

    steps: optimiser steps of the whole run
    recorder: receives the results
    evaluate: evaluates the current model on the validation split, passing its batches through the given function so
        that a signal can interrupt it; None if there is no validation split
    ema: decay of the exponential moving average of the weights; None for no average
    prune: called by the first process after every validation; None outside of a search
    saved: the checkpoint to resume from
    """

    def __init__(
        self,
        settings: Training,
        steps: int,
        schedule: Schedule,
        recorder: Recorder,
        screen: Screen,
        *,
        seed: int,
        evaluate: Callable[[PassThrough], Evaluation] | None,
        ema: float | None = None,
        prune: Prune | None = None,
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings, self.steps, self.schedule = settings, steps, schedule
        self.recorder, self.screen = recorder, screen
        self.seed, self.evaluate, self.ema, self.prune, self.saved = seed, evaluate, ema, prune, saved
        self.average: Average | None = None
        self.stopped = False
        self.progress = RunProgress(**saved["progress"]) if saved is not None else RunProgress()
        self.monitor = self.progress.monitor = settings.monitor or LOSS
        self.bounds: dict[str, dict[str, Tensor]] = (saved or {}).get("bounds") or {}
        self.untrained: dict[str, Tensor] = (saved or {}).get("untrained") or {}  # squared errors of every row, by head
        self.interruption = Interruption()
        self.loss: float | None = None  # the mean training loss of the last logging window

    # Hooks that Lightning calls

    def on_train_start(self, trainer: Trainer, module: TrainingModule) -> None:  # type: ignore[override]
        self.trainer, self.module = trainer, module
        self.optimiser = trainer.optimizers[0]
        if self.ema is not None:
            self.average = Average(module.graph, self.ema)
        self.peaks = [group["lr"] for group in self.optimiser.param_groups]
        torch.manual_seed(int(mix(torch.tensor(self.seed * 1009 + trainer.global_rank))))
        self.window = LoggingWindow()
        if self.saved is not None:
            self.agree_on_start()
            self.restore(self.saved)
        self.rate = 0.0  # tokens per second
        self.interruption.install()
        self.screen.begin(self.progress.step, self.steps)
        if self.validation_due() and self.progress.validated != self.progress.step:
            self.validate()  # of an untrained baseline, or the run was interrupted before or during this validation
            self.stopped = self.progress.validated != self.progress.step  # interrupted again
            if self.over() or self.stopped:
                self.save()
                trainer.should_stop = True
        self.window.resume()

    def on_train_batch_start(self, trainer: Trainer, module: TrainingModule, part: MicroBatch, index: int) -> None:  # type: ignore[override]
        if part.index == 0:
            module.current.stop = self.interruption.signal is not None
            module.current.number = self.progress.step + 1
            share = self.schedule.factor(self.progress.step)
            for group, peak in zip(self.optimiser.param_groups, self.peaks, strict=True):
                group["lr"] = peak * share
            if module.freezing is not None:
                module.freezing.before_step(self.progress.step)

    def on_train_batch_end(  # type: ignore[override]
        self, trainer: Trainer, module: TrainingModule, outputs: Any, part: MicroBatch, index: int
    ) -> None:
        self.window.count_batch(*part.tokens, part.batch.rows)
        if part.last:
            if self.average is not None:
                self.average.update(self.progress.step + 1)
            self.window.count_step()
            self.progress.step += 1
            self.progress.place = part.place
            trainer.should_stop = self.between_steps(stopping=module.current.stopping)
            self.window.resume()

    # What happens between steps

    def between_steps(self, *, stopping: bool) -> bool:
        """Log, validate and save where this is due after the step just taken. Returns whether the run is over.

        stopping: whether a process received a signal to stop before the step
        """
        settings, step = self.settings, self.progress.step
        last = step >= self.steps
        if last or step % settings.log_every == 0:
            self.report()
        if self.screen.due():
            self.show()
        if not stopping and (last or self.validation_due()):
            self.validate()
        over = self.over()
        # A signal during the step reaches the processes of a distributed run at different instants. They stop after the
        # next step, before which they agree on it.
        stopping = stopping or (self.trainer.world_size == 1 and self.interruption.signal is not None)
        self.stopped = stopping and not over
        if over or self.stopped or step % settings.checkpoint_every == 0:
            self.save()
        return over or self.stopped

    def over(self) -> bool:
        """Whether the run has taken all its steps, or was stopped early by its validations."""
        progress, patience = self.progress, self.settings.patience
        return progress.step >= self.steps or progress.pruned or (patience is not None and progress.stale >= patience)

    def validation_due(self) -> bool:
        every, step = self.settings.validate_every, self.progress.step
        return self.evaluate is not None and every is not None and step % every == 0 and (step > 0 or self.baseline)

    @property
    def baseline(self) -> bool:
        """Whether a head predicts a baseline before it is trained."""
        graph = self.module.graph
        return any(declared(graph.nodes[head.name], "baseline") for head in graph.heads)

    def report(self) -> None:
        """Log the means over the logging window, and start a new window."""
        progress, window = self.progress, self.window
        losses = self.module.totals.take(window.steps, self.module.sum_over_processes)
        counts = torch.tensor([window.tokens, window.padded, window.examples], dtype=torch.float64)
        tokens, padded, examples = (int(count) for count in self.module.sum_over_processes(counts))
        progress.tokens += tokens
        progress.padded += padded
        progress.examples += examples
        progress.seconds += window.seconds
        norm = self.module.current.norm
        self.loss, self.rate = losses["loss"], tokens / max(window.seconds, 1e-9)
        values = {
            **losses,
            "learning_rate": self.optimiser.param_groups[0]["lr"],
            "gradient_norm": float(norm) if norm is not None else math.nan,
            "tokens_per_second": self.rate,
            "padding": 1 - tokens / padded,
            "tokens": progress.tokens,
            "examples": progress.examples,
            "epoch": progress.place["epoch"],
            "seconds": progress.seconds,
        }
        self.recorder.logged(progress.step, values)
        self.window = LoggingWindow()

    def show(self) -> None:
        """Update the screen. Within a logging window, the rate is that of this process so far."""
        if self.window.seconds > 0:
            self.rate = self.window.tokens / self.window.seconds
        loss = f"loss {self.loss:.4g}  " if self.loss is not None else ""
        best = f"best {self.progress.best:.4g}  " if self.progress.best is not None else ""
        self.screen.update(self.progress.step, f"{loss}{best}{self.rate:,.0f} tokens/s")

    def validate(self) -> None:
        if self.evaluate is None:
            return
        with self.averaged(), tensors.gathered(self.module.graph), self.trainer.precision_plugin.forward_context():
            try:
                evaluation = self.evaluate(self.unless_interrupted)
            except Interrupted:
                return  # a resumed run starts with this validation
        self.progress.validated = self.progress.step
        self.calibrate(evaluation)
        if self.by_chance(evaluation):
            better, self.progress.stale = False, self.progress.stale + 1
        else:
            value, loss = (evaluation.values[name] for name in (self.monitor, LOSS))
            better = self.progress.improved(value, loss, direction(self.monitor))
        self.schedule.validated(better)
        self.recorder.validated(self.progress.step, evaluation, best=better)
        if better:
            self.save(best=True)
        if self.prune is not None and self.progress.step:
            ended = self.trainer.is_global_zero and self.prune(self.progress.step, evaluation.values)
            votes = self.module.sum_over_processes(torch.tensor([float(ended)], dtype=torch.float64))
            self.progress.pruned = bool(votes.item() > 0) and not self.over()

    def calibrate(self, evaluation: Evaluation) -> None:
        """Compute the bounds of real-valued predictions from the errors of a validation on all processes."""
        every = self.gather(evaluation.errors)
        self.errors = {head: [part for process in every for part in process[head]] for head in evaluation.errors}
        found = {head: Bounds.of(parts) for head, parts in self.errors.items()}
        self.bounds = {head: vars(bounds) for head, bounds in found.items() if bounds is not None}

    def by_chance(self, evaluation: Evaluation) -> bool:
        """Whether the untrained baseline is the best so far, and what is better about this model may be chance."""
        squares = squared_errors({head: parts for head, parts in self.errors.items() if parts})
        if self.progress.step == 0:
            self.untrained = squares
        if self.progress.best_step or not self.progress.step or not self.untrained.keys() <= self.bounds.keys():
            return False
        return bool(self.untrained) and all(
            within_chance(squares[head], before, evaluation.examples, len(self.bounds[head]["scale"]))
            for head, before in self.untrained.items()
        )

    def unless_interrupted(self, examples: Iterable[Batch]) -> Iterator[Batch]:
        for batch in examples:
            if self.interruption.signal is not None and self.trainer.world_size == 1:
                raise Interrupted
            yield batch

    def averaged(self) -> Any:
        return self.average.applied() if self.average is not None else nullcontext()

    def save(self, *, best: bool = False) -> None:
        content = self.content()
        if self.trainer.is_global_zero:
            self.recorder.save(content, best=best)

    # The content of a checkpoint

    def content(self) -> TrainingState:
        return {
            "step": self.progress.step,
            "progress": asdict(self.progress),
            "model": tensors.all_whole(self.module.graph.state_dict()),
            "average": tensors.all_whole(self.average.state_dict()) if self.average is not None else None,
            "optimiser": tensors.optimiser_state(self.optimiser, self.module.graph),
            "schedule": self.schedule.state_dict(),
            "ranks": self.gather(self.own_content()),
            "bounds": self.bounds,
            "untrained": self.untrained,
        }

    def own_content(self) -> RankState:
        """What every process has of its own: random numbers, carried states, and what is not yet logged."""
        carried = self.module.carried
        return {
            "random": tensors.random_state(),
            "carried": carried.kept if carried is not None else [],
            "window": asdict(self.window),
            "losses": self.module.totals.state_dict(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        tensors.restore_optimiser(self.optimiser, self.module.graph, saved["optimiser"])
        self.schedule.load_state_dict(saved["schedule"])
        if self.average is not None and saved["average"] is not None:
            self.average.load_state_dict(saved["average"])
        ranks = saved["ranks"]
        if len(ranks) == self.trainer.world_size:  # with another number of processes, random numbers start anew
            own = ranks[self.trainer.global_rank]
            tensors.restore_random_state(own["random"])
            carried = self.module.carried
            if carried is not None and len(own["carried"]) == len(carried.kept):
                carried.kept = own["carried"]
            if "window" in own:  # older checkpoints do not have it
                self.window = LoggingWindow(**own["window"])
                self.module.totals.load_state_dict(own["losses"])

    def agree_on_start(self) -> None:
        """Every process goes on from where the first one does, which may have found a checkpoint damaged."""
        if self.trainer.world_size > 1:
            first = RunProgress(**self.trainer.strategy.broadcast(asdict(self.progress)))
            if first.step != self.progress.step:
                raise UserError("the processes have read different checkpoints of this run. Resume it once more.")
            self.progress = first

    def gather(self, own: Own) -> list[Own]:
        """The values of all processes, in the order of their ranks."""
        if self.trainer.world_size == 1:
            return [own]
        everyone: list[Any] = [None] * self.trainer.world_size
        torch.distributed.all_gather_object(everyone, own)
        return everyone
