"""Callbacks of Lightning that a config names in its section ``callbacks``, beside those of plugins.

What a run does itself has no callback here: checkpoints, the progress bar, the average of weights (``training.ema``),
gradient accumulation and clipping.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

from lightning import Trainer
from lightning.pytorch import callbacks

from composer.core.block import Positive, Scale
from composer.core.extras import need
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.registry import register


@register("callback", "early_stopping")
class EarlyStopping(callbacks.EarlyStopping):
    """Ends the run after validations that have not improved a logged value, by its name in ``callback_metrics``."""

    def __init__(
        self,
        *,
        monitor: str = "valid/loss",
        mode: Literal["min", "max"] = "min",
        patience: Positive = 3,
        min_delta: float = 0.0,
        stopping_threshold: float | None = None,
        divergence_threshold: float | None = None,
    ) -> None:
        super().__init__(
            monitor, mode=mode, patience=patience, min_delta=min_delta, stopping_threshold=stopping_threshold,
            divergence_threshold=divergence_threshold,
        )  # fmt: skip

    def on_validation_end(self, trainer: Trainer, pl_module: Any) -> None:
        known = trainer.callback_metrics
        if self.monitor not in known:
            raise UserError(
                f"callbacks: early stopping by '{self.monitor}', but nothing of this name is logged."
                f"{did_you_mean(self.monitor, known)}  (logged: {listed(sorted(known), 40)})"
            )
        super().on_validation_end(trainer, pl_module)


@register("callback", "learning_rate_monitor")
def learning_rate_monitor(*, momentum: bool = False, weight_decay: bool = False) -> callbacks.LearningRateMonitor:
    """Logs the rate of every group of weights, where ``learning_rate`` of a run's metrics is that of the first."""
    return callbacks.LearningRateMonitor("step", log_momentum=momentum, log_weight_decay=weight_decay)


@register("callback", "timer")
def timer(*, hours: Scale) -> callbacks.Timer:
    """Ends the run after so many hours of training, over all of its starts; then it is validated and saved."""
    return callbacks.Timer(timedelta(hours=hours))


@register("callback", "device_stats")
class DeviceStats(callbacks.DeviceStatsMonitor):
    """Logs the memory of the GPU around a step, and the load and memory of the machine (with psutil)."""

    def __init__(self, *, cpu: bool = True) -> None:
        super().__init__(cpu_stats=cpu)
        if cpu:
            need("psutil", "callbacks=device_stats with cpu=true", "monitoring")
