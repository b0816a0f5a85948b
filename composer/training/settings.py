"""The config's sections ``training`` and ``trainer``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from composer.core.binding import bind_section
from composer.core.block import Positive, Probability, Range, Scale
from composer.core.problems import Invalid, Locate
from composer.runs.record import with_present_keys

Count = Annotated[int, Range(low=0)]

#: More threads than any machine has cores; of a machine with fewer, ``check_hardware`` asks for fewer.
Threads = Annotated[int, Range(low=1, high=4096)]


@dataclass(frozen=True, kw_only=True)
class ScheduledSampling:
    """How often a model reads its own predictions in training, in place of the true steps of its target.

    rate: the probability at the end of the run; 0 is teacher forcing
    start: the share of the run with teacher forcing alone
    shape: how the probability rises from there
    choice: whether a predicted token is drawn from its distribution, or the most likely one
    """

    rate: Annotated[float, Range(low=0, high=1)] = 0.0
    start: Annotated[float, Range(low=0, below=1)] = 0.0
    shape: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = "linear"
    choice: Literal["sample", "greedy"] = "sample"


@dataclass(frozen=True, kw_only=True)
class Training:
    """Length of the training, batches, and how often to log, validate and save. Steps are optimiser steps.

    accumulate: micro-batches per batch (gradient accumulation)
    clip: largest global norm of the gradient (gradient clipping)
    clip_value: largest absolute value of each number of the gradient, instead of the norm
    ema: decay of the exponential moving average of the weights
    carry: carry each row's state into the next batch (truncated BPTT)
    scheduled_sampling: the model's own tokens among its inputs
    monitor: the metric of the best checkpoint, of early stopping and of sweeps; None for the one of the head
    patience: validations without a better value of that metric before training ends (early stopping)
    test: whether the best checkpoint is evaluated on the test split at the end

    ``conf/train.yaml`` explains every key.
    """

    steps: Positive | None = 600
    epochs: Scale | None = None
    batch: Positive | None = 64
    batch_tokens: Positive | None = None
    sort: bool = False
    accumulate: Positive = 1
    clip: Scale | None = 1.0
    clip_value: Scale | None = None
    ema: Probability | None = None
    carry: bool = False
    scheduled_sampling: ScheduledSampling = ScheduledSampling()
    validate_every: Positive | None = 200
    validate_rows: Positive | None = 1000
    decode_rows: Count | None = 500
    monitor: str | None = None
    patience: Positive | None = None
    test: bool = True
    checkpoint_every: Positive = 200
    log_every: Positive = 10
    samples: Count = 8
    figures: bool = True

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.epochs is None):
            both = "both are set" if self.steps is not None else "neither is set"
            raise Invalid("steps", f"training lasts for so many steps or so many epochs, but {both}. Set one to null.")
        if self.clip is not None and self.clip_value is not None:
            raise Invalid(
                "clip_value",
                "the gradient is clipped by its norm (clip) or by value, and both are set. Set clip to null.",
            )
        if self.batch is None and self.batch_tokens is None:
            raise Invalid("batch", "says neither how many rows nor how many tokens a batch may hold.")
        if self.carry and self.batch is None:
            raise Invalid("carry", "carries the state of each row into the next batch: say how many rows, batch=...")
        if self.carry and self.batch_tokens is not None:
            raise Invalid("batch_tokens", "has no effect where states are carried: every batch has the same rows.")
        sampling = self.scheduled_sampling
        if sampling.rate and self.carry:
            raise Invalid(
                "scheduled_sampling.rate", "does not go with carry, where rows begin in the middle. Set one of the two."
            )
        if not sampling.rate and sampling != ScheduledSampling():
            forced = ScheduledSampling()
            changed = next(key for key, value in vars(sampling).items() if value != getattr(forced, key))
            raise Invalid(f"scheduled_sampling.{changed}", "has no effect: the rate is 0, which is teacher forcing.")
        if self.patience is not None and self.validate_every is None:
            raise Invalid("patience", "counts validations, but there are none before the end. Set validate_every.")


def bind_training(section: Any, locate: Locate) -> Training:
    """Check the section ``training`` of a config."""
    section = with_present_keys(section) if isinstance(section, Mapping) else section
    return bind_section("training", Training, section, "training", locate)()


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """Devices, processes, mixed precision and memory.

    strategy: single, ddp (every process has all weights) or fsdp (the weights are sharded over the processes)
    precision: bfloat16 and float16 mean mixed precision by autocast
    recompute: activation checkpointing: recompute activations in the backward pass to save memory
    profiler: Lightning's, whose report of where the time goes is in the run's folder
    """

    strategy: Literal["single", "ddp", "fsdp"] = "single"
    accelerator: Literal["cpu", "gpu", "auto"] = "cpu"
    devices: Positive | Literal["auto"] = 1
    nodes: Positive = 1
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    threads: Threads | None = None
    compile: bool = False
    recompute: bool = False
    profiler: Literal["simple", "advanced", "pytorch"] | None = None

    def __post_init__(self) -> None:
        if self.strategy == "single" and (self.nodes > 1 or (self.devices != 1 and self.devices != "auto")):
            raise Invalid("devices", f"{self.devices} devices on {self.nodes} nodes need trainer=ddp or trainer=fsdp.")
        if self.precision == "float16" and self.accelerator == "cpu":
            raise Invalid("precision", "float16 needs a GPU. Use float32, or bfloat16 where the CPU computes it.")
