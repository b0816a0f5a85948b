"""What happens between optimiser steps, always in this order: logging, validation, early stopping, checkpoint.

A checkpoint therefore holds the state after a complete step and its validation, and a resumed run continues exactly as
the uninterrupted run would have.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import torch
import torch.distributed
from lightning import Callback, Trainer

from composer.data.counter_random import mix
from composer.metrics import Evaluation
from composer.objectives import Batch
from composer.training import state as tensors
from composer.training.interruption import Interruption
from composer.training.micro_batches import MicroBatch
from composer.training.module import TrainingModule
from composer.training.progress import Screen
from composer.training.schedules import Schedule
from composer.training.settings import Training
from composer.training.weight_average import Average


@dataclass
class RunProgress:
    """How far a run has come.

    step: optimiser steps taken
    tokens, padded: time steps of all sequences read so far, without padding and with padding
    seconds: time spent in training steps, without validation and checkpoints
    place: the position in the training data, as epoch and position within the epoch
    best, best_step: the lowest validation loss, and the step at which it was measured
    stale: validations since the best one, which early stopping compares with ``training.patience``
    validated: the step of the last validation
    """

    step: int = 0
    tokens: int = 0
    padded: int = 0
    seconds: float = 0.0
    place: dict[str, int] = field(default_factory=lambda: {"epoch": 0, "position": 0})
    best: float | None = None
    best_step: int = 0
    stale: int = 0
    validated: int = 0


class Recorder(Protocol):
    """Receives a run's logged values, validations and checkpoints."""

    def logged(self, step: int, values: Mapping[str, float]) -> None: ...

    def validated(self, step: int, evaluation: Evaluation, *, best: bool) -> None: ...

    def save(self, content: Mapping[str, Any], *, best: bool) -> None: ...


#: Yields the batches that it is given, and may raise ``Interrupted`` between two of them.
PassThrough = Callable[[Iterable[Batch]], Iterator[Batch]]


class Interrupted(Exception):
    """A signal interrupted a validation before its end."""


class Loop(Callback):
    """The Lightning callback around every optimiser step.

    steps: optimiser steps of the whole run
    keeper: receives the results
    evaluate: evaluates the current model on the validation split, passing its batches through the given function so
        that a signal can interrupt it; None if there is no validation split
    ema: decay of the exponential moving average of the weights; None for no average
    saved: the checkpoint to resume from
    """

    def __init__(
        self,
        settings: Training,
        steps: int,
        schedule: Schedule,
        keeper: Recorder,
        screen: Screen,
        *,
        seed: int,
        evaluate: Callable[[PassThrough], Evaluation] | None,
        ema: float | None = None,
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings, self.steps, self.schedule, self.keeper, self.screen = settings, steps, schedule, keeper, screen
        self.seed, self.evaluate, self.ema, self.saved = seed, evaluate, ema, saved
        self.average: Average | None = None
        self.stopped = False
        self.course = RunProgress(**saved["course"]) if saved is not None else RunProgress()
        self.interruption = Interruption()
        self.loss: float | None = None  # mean training loss of the last logging window

    # Hooks that Lightning calls

    def on_train_start(self, trainer: Trainer, module: TrainingModule) -> None:  # type: ignore[override]
        self.trainer, self.module = trainer, module
        self.optimiser = trainer.optimizers[0]
        if self.ema is not None:
            self.average = Average(module.graph, self.ema)
        self.peaks = [group["lr"] for group in self.optimiser.param_groups]
        torch.manual_seed(int(mix(torch.tensor(self.seed * 1009 + trainer.global_rank))))
        if self.saved is not None:
            self.restore(self.saved)
        self.look_anew()
        self.rate = 0.0
        self.interruption.install()
        self.screen.begin(self.course.step, self.steps)
        if self.validation_due() and self.course.validated != self.course.step:
            self.validate()  # the run was interrupted before or during this validation
        self.clock = time.perf_counter()

    def on_train_batch_start(self, trainer: Trainer, module: TrainingModule, part: MicroBatch, index: int) -> None:  # type: ignore[override]
        if part.index == 0:
            module.stop = self.interruption.signal is not None
            module.number = self.course.step + 1
            share = self.schedule.factor(self.course.step)
            for group, peak in zip(self.optimiser.param_groups, self.peaks, strict=True):
                group["lr"] = peak * share

    def on_train_batch_end(  # type: ignore[override]
        self, trainer: Trainer, module: TrainingModule, outputs: Any, part: MicroBatch, index: int
    ) -> None:
        self.window_tokens += part.tokens[0]
        self.window_padded += part.tokens[1]
        if not part.last:
            return
        course = self.course
        course.step += 1
        course.place = part.place
        self.window += 1
        if self.average is not None:
            self.average.update(course.step)
        self.window_seconds += time.perf_counter() - self.clock
        over = course.step >= self.steps
        if over or module.stopping or course.step % self.settings.log_every == 0:
            self.look()
        elif self.screen.due():
            self.screen.update(course.step, self.figures())
        if not module.stopping and (over or self.validation_due()):
            self.validate()
        over = over or (self.settings.patience is not None and course.stale >= self.settings.patience)
        self.stopped = not over and (module.stopping or self.interruption.signal is not None)
        over = over or self.stopped
        if over or course.step % self.settings.checkpoint_every == 0:
            self.save()
        trainer.should_stop = over
        self.clock = time.perf_counter()

    # What happens between steps

    def validation_due(self) -> bool:
        every = self.settings.validate_every
        return every is not None and self.course.step > 0 and self.course.step % every == 0

    def look(self) -> None:
        """Log the means over the window: the steps since the last call."""
        losses = self.reduce(self.module.losses.double()) / self.window
        self.module.losses = torch.zeros_like(self.module.losses)
        self.loss = float(losses.sum())
        own = {name: float(self.reduce(value.double()) / self.window) for name, value in self.module.own.items()}
        self.module.own = {}
        heads = self.module.graph.heads
        each = {f"{head.name}/loss": float(loss) for head, loss in zip(heads, losses, strict=True)}
        counts = torch.tensor([self.window_tokens, self.window_padded], dtype=torch.float64)
        tokens, padded = (int(count) for count in self.reduce(counts))
        self.course.tokens += tokens
        self.course.padded += padded
        self.course.seconds += self.window_seconds
        values = {
            "loss": self.loss,
            **(each if len(heads) > 1 else {}),
            **own,
            "learning_rate": self.optimiser.param_groups[0]["lr"],
            "gradient_norm": float(self.module.norm) if self.module.norm is not None else float("nan"),
            "tokens_per_second": tokens / max(self.window_seconds, 1e-9),
            "padding": 1 - tokens / padded,
            "tokens": self.course.tokens,
            "epoch": self.course.place["epoch"],
            "seconds": self.course.seconds,
        }
        self.rate = values["tokens_per_second"]
        self.keeper.logged(self.course.step, values)
        self.look_anew()
        if self.screen.due():
            self.screen.update(self.course.step, self.figures())

    def look_anew(self) -> None:
        """Start a new logging window: set the counters that ``look`` averages to zero."""
        self.window = self.window_tokens = self.window_padded = 0
        self.window_seconds = 0.0

    def figures(self) -> str:
        if self.window_seconds > 0:
            self.rate = self.window_tokens / self.window_seconds
        loss = f"loss {self.loss:.4g}  " if self.loss is not None else ""
        best = f"best {self.course.best:.4g}  " if self.course.best is not None else ""
        return f"{loss}{best}{self.rate:,.0f} tokens/s"

    def validate(self) -> None:
        if self.evaluate is None:
            return
        with self.averaged(), tensors.gathered(self.module.graph), self.trainer.precision_plugin.forward_context():
            try:
                evaluation = self.evaluate(self.unless_interrupted)
            except Interrupted:
                return  # a resumed run starts with this validation
        loss = evaluation.values["loss"]
        self.course.validated = self.course.step
        self.schedule.validated(loss)
        best = self.course.best
        better = best is None or loss < best or (math.isnan(best) and not math.isnan(loss))
        if better:
            self.course.best, self.course.best_step, self.course.stale = loss, self.course.step, 0
        else:
            self.course.stale += 1
        self.keeper.validated(self.course.step, evaluation, best=better)
        if better:
            self.save(best=True)

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
            self.keeper.save(content, best=best)

    # The content of a checkpoint

    def content(self) -> dict[str, Any]:
        return {
            "step": self.course.step,
            "course": asdict(self.course),
            "model": tensors.all_whole(self.module.graph.state_dict()),
            "average": tensors.all_whole(self.average.state_dict()) if self.average is not None else None,
            "optimiser": tensors.optimiser_state(self.optimiser, self.module.graph),
            "schedule": self.schedule.state_dict(),
            "ranks": self.gather({"random": tensors.random_state(), "carried": self.module.carried}),
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
            if len(own["carried"]) == len(self.module.carried):
                self.module.carried = own["carried"]

    # Several processes

    def reduce(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all processes."""
        return self.module.sum_over_processes(values) if self.trainer.world_size > 1 else values

    def gather(self, own: dict[str, Any]) -> list[dict[str, Any]]:
        """The values of all processes, in the order of their ranks."""
        if self.trainer.world_size == 1:
            return [own]
        everyone: list[Any] = [None] * self.trainer.world_size
        torch.distributed.all_gather_object(everyone, own)
        return everyone
