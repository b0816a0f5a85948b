"""After which steps a run is validated: every ``training.validate_every`` steps, and after the last one.

A Trainer's own interval counts the batches of one start of a run, and a run may go on from any step.
"""

from __future__ import annotations

import sys
from typing import Any

from lightning import Callback, Trainer


class ValidationSteps(Callback):
    """Lets the Trainer validate after the steps of the config, and before the first one where that is due.

    The Trainer needs ``val_check_interval=1`` and ``check_val_every_n_epoch=None``.
    """

    def on_train_start(self, trainer: Trainer, module: Any) -> None:
        """Validate an untrained baseline, or the model of a run that was interrupted before or in a validation."""
        progress = module.progress
        if trainer.enable_validation and self._at(module, progress.step) and progress.validated != progress.step:
            trainer.validating = True
            trainer.fit_loop.epoch_loop.val_loop.run()
            trainer.training = True
            trainer.should_stop = trainer.should_stop or module.over

    def on_train_batch_start(self, trainer: Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        step = module.progress.step + 1
        module.validates = trainer.enable_validation and (step >= module.steps or self._at(module, step))
        trainer.val_check_batch = 1 if module.validates else sys.maxsize

    def _at(self, module: Any, step: int) -> bool:
        every = module.settings.validate_every
        return every is not None and step % every == 0 and (step > 0 or module.baseline)
