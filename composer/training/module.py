"""The LightningModule that trains any graph, under any ``lightning.Trainer``: its optimiser step, validation and test.

The module takes its optimiser steps itself (Lightning's manual optimisation), because a batch is cut into micro-batches
whose losses are divided by the weight of the whole batch. A Trainer's own accumulation and clipping do not go with it:
the config has ``training.accumulate``, ``training.clip`` and ``training.clip_value``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import lightning
import torch
import torch.distributed
from lightning import Callback
from lightning.pytorch.strategies import ParallelStrategy
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.optim import Optimizer

from composer.core.capabilities import declared
from composer.core.problems import UserError
from composer.core.recording import collect_losses
from composer.core.signals import Signal
from composer.data.counter_random import mix
from composer.graph.counted_steps import ALL_STEPS, CountedByHead, stepwise_heads
from composer.graph.graph import Graph
from composer.metrics import LOSS, Evaluation, Evaluator
from composer.runs import tensors
from composer.runs.checkpoint_content import LoggingWindow, RunProgress
from composer.training.callbacks.freezing import Freezing
from composer.training.callbacks.run_folder import RunLogger
from composer.training.callbacks.weight_average import WeightAverage
from composer.training.data_module import EvaluationBatch
from composer.training.faults import gradient_not_finite, not_finite
from composer.training.losses import LossTotals, auxiliary_loss, loss_sums
from composer.training.memory import shard_weights
from composer.training.micro_batches import MicroBatch, StepBatch
from composer.training.optimisation.schedules import ScheduledRate
from composer.training.scheduled_sampling import SampledInputs
from composer.training.truncated_bptt import CarriedStates
from composer.training.validation import Validations

if TYPE_CHECKING:
    from composer.training.run.plan import TrainingPlan


class TrainingModule(lightning.LightningModule):
    """
    graph: with its weights, of the plan's
    steps: optimiser steps of the whole run, for the schedule; None for those that the Trainer takes

    progress: how far the run has come
    report: the values of the last logged step
    evaluation: the result of the last validation or test
    stop, stopping: whether this process has received a signal to stop; whether any had before the current step
    validates: whether a validation follows the current step, where a callback decides on it
    """

    def __init__(self, plan: TrainingPlan, graph: Graph, *, steps: int | None = None) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.plan, self.graph, self.steps = plan, graph, steps or 0
        self.steps_of_trainer = steps is None
        settings = self.settings = plan.training
        self.progress = RunProgress(**plan.saved["progress"]) if plan.saved is not None else RunProgress()
        self.progress.monitor = settings.monitor or LOSS
        self.validations = Validations(plan.saved or {})
        self.freezing = Freezing(graph, plan.frozen_until) if plan.frozen_until else None
        self.average = WeightAverage(settings.ema) if settings.ema is not None else None
        self.carried = CarriedStates(settings.accumulate) if settings.carry else None
        self.sampling: SampledInputs | None = None
        self.sharded = False
        self.stop = self.stopping = self.validates = False
        self.norm: Tensor | None = None  # of the last gradient, before clipping
        self.totals, self.window = LossTotals(graph), LoggingWindow()
        self.report: dict[str, float] = {}
        self.evaluation: Evaluation | None = None
        self.evaluator: Evaluator | None = None
        self.around_evaluation = ExitStack()
        self.head_weights = graph.head_weights
        self.stepwise = stepwise_heads(graph.plan, graph.nodes)

    @property
    def world(self) -> int:
        return int(self.trainer.world_size)

    # Setting up

    def configure_callbacks(self) -> list[Callback]:
        """The callbacks that are part of the training itself, unless the Trainer has them in a place of its own."""
        accumulated = self.trainer.accumulate_grad_batches
        if accumulated != 1:
            raise UserError(
                f"Trainer(accumulate_grad_batches={accumulated}): the module cuts a batch into micro-batches itself. "
                f"Leave it out, and compose with training.accumulate={accumulated}."
            )
        if self.trainer.gradient_clip_val:
            by_value = self.trainer.gradient_clip_algorithm == "value"
            instead = "training.clip=null training.clip_value" if by_value else "training.clip"
            raise UserError(
                f"Trainer(gradient_clip_val={self.trainer.gradient_clip_val}): the module clips its gradients itself. "
                f"Leave it out, and compose with {instead}={self.trainer.gradient_clip_val}."
            )
        return [callback for callback in self.own_callbacks if callback not in cast(Any, self.trainer).callbacks]

    @property
    def own_callbacks(self) -> list[Callback]:
        return [callback for callback in (self.freezing, self.average) if callback is not None]

    def configure_model(self) -> None:
        if self.device_mesh is not None and not self.sharded:  # Lightning may call this hook twice
            self.sharded = True
            shard_weights(self.graph, self.device_mesh["data_parallel"])

    def configure_optimizers(self) -> OptimizerLRScheduler:
        if self.steps_of_trainer:
            planned = self.trainer.estimated_stepping_batches
            before = self.trainer.ckpt_path is not None  # the Trainer goes on to count from there, but does not yet
            begun = 0 if before else self.progress.step - self.trainer.global_step
            self.steps = begun + int(planned) if math.isfinite(planned) else self.plan.total_steps()
        if self.settings.scheduled_sampling.rate:
            self.sampling = SampledInputs(self.graph, self.settings.scheduled_sampling, self.steps, self.plan.seed)
        optimiser = self.plan.optimiser(self.graph.named_parameters())
        schedule = self.plan.schedule(self.steps)
        if self.plan.saved is not None:
            schedule.load_state_dict(self.plan.saved["schedule"])
        rate = ScheduledRate(optimiser, schedule, self.progress.step)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": rate, "interval": "step"}}

    def on_fit_start(self) -> None:
        torch.manual_seed(int(mix(torch.tensor(self.plan.seed * 1009 + self.global_rank))))

    def on_train_start(self) -> None:
        self.window.resume()

    # An optimiser step

    def training_step(self, batch: StepBatch, batch_idx: int) -> Tensor:
        """The gradient of every micro-batch, then the clipped step of the optimiser, and that of its rate."""
        optimiser, rates = cast(Any, self.optimizers()), cast(Any, self.lr_schedulers())
        optimiser.zero_grad()
        weights = self.agree(batch.weights)
        losses = []
        for index, part in enumerate(batch.micro_batches):
            loss = self.loss(part, index, batch.place["epoch"], weights)
            with self.accumulating(last=index == len(batch.micro_batches) - 1), self.without_autocast():
                self.manual_backward(loss * self.world)  # of which DDP takes the mean over the processes
            losses.append(loss.detach())
        with self.without_autocast():
            optimiser.step()  # which calls on_before_optimizer_step
        rate = optimiser.param_groups[0]["lr"]
        rates.step()
        self.count(batch, rate)
        return torch.stack(losses).sum()

    def loss(self, part: MicroBatch, index: int, epoch: int, weights: Tensor) -> Tensor:
        """The share of a micro-batch in the loss of its batch.

        weights: (heads + 1,), each head's weight in the batch of all processes, then the batch's rows
        """
        inputs = self.graph.read(part.batch.signals)  # teacher forcing: generated fields are shifted by one step
        number = self.progress.step + 1
        if self.sampling is not None:
            inputs = self.sampling.mixed(self.graph, inputs, number, self.places(part, index))
        counted: CountedByHead = ALL_STEPS
        with collect_losses() as own:
            if self.carried is not None:
                outputs = self.carried.forward(self.graph, inputs, part.batch, index, epoch)
            else:
                outputs, counted = self.outputs(inputs, part)
        means = loss_sums(self.graph, outputs, part.batch, counted) / weights[:-1]  # (heads,)
        if means.device.type == "cpu" and not math.isfinite(float(means.detach().sum())):
            raise not_finite(self.graph, inputs, number)
        self.totals.add(means, own, weights[-1])
        loss = (means * self.head_weights.to(means.device)).sum()
        return loss + auxiliary_loss(own, weights[-1]) if own else loss

    def outputs(self, inputs: dict[str, Signal], part: MicroBatch) -> tuple[dict[str, Signal], CountedByHead]:
        """Every head's output, and the steps that a head's output has, where the head left out steps without weight."""
        counted = {head: part.counted[target] for head, target in self.stepwise.items() if target in part.counted}
        return self.graph(inputs, counted=counted)[0], counted

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Check and clip the gradient, after callbacks have dropped that of frozen nodes."""
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in parameters])
        self.norm = tensors.whole(norm)
        if self.norm.device.type == "cpu" and not math.isfinite(float(self.norm)):
            raise gradient_not_finite(self.graph, self.progress.step + 1)
        if self.settings.clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self.settings.clip, norm)
        if self.settings.clip_value is not None:
            nn.utils.clip_grad_value_(parameters, self.settings.clip_value)

    def agree(self, weights: Tensor) -> Tensor:
        """The weights of the whole batch, summed over the processes. The same all-reduce shares the request to stop."""
        if self.world > 1:
            both = torch.cat([weights, weights.new_tensor([float(self.stop)])])
            torch.distributed.all_reduce(both)
            weights, self.stopping = both[:-1], bool(both[-1] > 0)
        elif self.stopping != self.stop:
            self.stopping = self.stop
        return weights.clamp(min=1.0)

    def accumulating(self, *, last: bool) -> AbstractContextManager[None]:
        """Around the gradient of a micro-batch: the processes of DDP share their sum with the last one."""
        strategy = self.trainer.strategy
        if last or not isinstance(strategy, ParallelStrategy):
            return nullcontext()
        return strategy.block_backward_sync()

    def without_autocast(self) -> AbstractContextManager[Any]:
        """Around gradients and the optimiser, which mixed precision leaves as they are."""
        device = self.device.type
        return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()

    def places(self, part: MicroBatch, index: int) -> Tensor:
        """(B,), the place of each row in the batch of all processes, which ``Batches.dealt`` has divided."""
        first = self.global_rank + index * self.world
        return first + torch.arange(part.batch.rows) * (self.world * self.settings.accumulate)

    # Counting and logging

    def count(self, batch: StepBatch, rate: float) -> None:
        """Count a step, and log the means over the steps since the last log where a log is due."""
        self.window.count_batch(*batch.tokens, batch.rows)
        self.window.count_step()
        self.progress.step += 1
        self.progress.place = dict(batch.place)
        step = self.progress.step
        if step % self.settings.log_every == 0 or step == self.steps:
            self.report = {"step": step, **self.means(rate)}
            shown = ("tokens", "examples", "epoch", "seconds", "step")
            self.log_values("train", {name: value for name, value in self.report.items() if name not in shown})

    def log_values(self, split: str, values: Mapping[str, float], **options: Any) -> None:
        """Log to the Trainer's callbacks, bar and logger. In a run, ``RunFolderCallback`` writes the values instead."""
        logger = False if isinstance(self.trainer.logger, RunLogger) else None
        for name, value in values.items():
            self.log(f"{split}/{name}", value, logger=logger, prog_bar=name == LOSS, **options)

    def means(self, rate: float) -> dict[str, float]:
        """What is logged of the steps since the last log, and the totals of the run; then counting starts again."""
        progress, window = self.progress, self.window
        losses = self.totals.take(window.steps, self.sum_over_processes)
        counts = torch.tensor([window.tokens, window.padded, window.examples], dtype=torch.float64)
        tokens, padded, examples = (int(count) for count in self.sum_over_processes(counts))
        progress.tokens += tokens
        progress.padded += padded
        progress.examples += examples
        progress.seconds += window.seconds
        self.window = LoggingWindow()
        return {
            **losses,
            "learning_rate": rate,
            "gradient_norm": float(self.norm) if self.norm is not None else math.nan,
            "tokens_per_second": tokens / max(window.seconds, 1e-9),
            "padding": 1 - tokens / padded,
            "tokens": progress.tokens,
            "examples": progress.examples,
            "epoch": progress.place["epoch"],
            "seconds": progress.seconds,
        }

    def sum_over_processes(self, values: Tensor) -> Tensor:
        if self.world > 1:
            values = values.to(self.device)
            torch.distributed.all_reduce(values)
        return values

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.window.resume()  # after what the callbacks did

    # Validation and test

    @property
    def over(self) -> bool:
        """Whether the run has taken all its steps, or was stopped early by its validations."""
        progress, patience = self.progress, self.settings.patience
        stale = patience is not None and progress.stale >= patience
        return progress.step >= self.steps or progress.pruned or stale

    @property
    def baseline(self) -> bool:
        """Whether a head predicts a baseline before it is trained."""
        return any(declared(self.graph.nodes[head.name], "baseline") for head in self.graph.heads)

    def on_validation_epoch_start(self) -> None:
        self.begin_evaluation()

    def validation_step(self, batch: EvaluationBatch, batch_idx: int) -> None:
        assert self.evaluator is not None
        self.evaluator.add(batch.batch, decoded=batch.decoded)

    def on_validation_epoch_end(self) -> None:
        evaluation = self.end_evaluation("valid")
        if self.trainer.state.fn == "fit" and not self.trainer.sanity_checking:
            self.validations.better = self.validations.count(self, evaluation)
            rates = self.lr_schedulers()
            if isinstance(rates, ScheduledRate):
                rates.schedule.validated(self.validations.better)
                rates.refresh()

    def on_validation_end(self) -> None:
        self.window.resume()

    def on_test_epoch_start(self) -> None:
        self.begin_evaluation()

    def test_step(self, batch: EvaluationBatch, batch_idx: int) -> None:
        self.validation_step(batch, batch_idx)

    def on_test_epoch_end(self) -> None:
        self.end_evaluation("test")

    def begin_evaluation(self) -> None:
        """Evaluate the averaged weights, if there is an average; every process has all weights meanwhile."""
        samples = self.settings.samples
        self.evaluator = Evaluator(self.graph, self.plan.objective, errors=True, samples=samples)
        if self.average is not None:
            self.average.begin(self.graph)
            self.around_evaluation.enter_context(self.average.applied())
        self.around_evaluation.enter_context(tensors.gathered(self.graph))

    def end_evaluation(self, split: str) -> Evaluation:
        assert self.evaluator is not None
        self.evaluation = self.evaluator.result(self.sum_over_processes if self.world > 1 else None)
        self.around_evaluation.close()
        sync = {"batch_size": 1, "sync_dist": self.world > 1}  # the values are the same on all processes
        self.log_values(split, self.evaluation.values, **sync)
        return self.evaluation

    # Lightning's own checkpoints

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["progress"] = asdict(self.progress)
        checkpoint |= self.validations.state_dict()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.progress = RunProgress(**checkpoint["progress"])
        self.validations = Validations(checkpoint)
