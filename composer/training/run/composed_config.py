"""The start of the Python API: a composed config, and what Lightning trains of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.config.composition import Composed
from composer.config.composition import compose as compose_config

if TYPE_CHECKING:
    from composer.training.data_module import DataModule
    from composer.training.module import TrainingModule
    from composer.training.run.compiled_model import CompiledModel
    from composer.training.run.plan import TrainingPlan
    from composer.training.run.train import Outcome


def compose(overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> Config:
    """The config that ``python train.py`` would train with these overrides, such as ``["mixer=lstm", "seed=2"]``.

    config_dir: a folder with YAML of your own, as ``--config-dir``
    """
    return Config(compose_config(overrides, config_dir))


@dataclass(frozen=True, repr=False)
class Config:
    """A composed config: ``compile()`` for a look at the model, ``train()`` for what ``python train.py`` does,
    ``lightning()`` for a Trainer of your own."""

    composed: Composed

    @property
    def values(self) -> dict[str, Any]:
        """The config as plain data, which ``python train.py --cfg job`` prints."""
        return self.composed.values

    @cached_property
    def plan(self) -> TrainingPlan:
        """The config, checked and compiled, with its data."""
        from composer.training.run.plan import prepare

        return prepare(self.composed)

    def compile(self) -> CompiledModel:
        """The model before training, as ``python -m composer describe`` and ``check`` see it. Everything that is wrong
        with the config is one error."""
        from composer.training.run.compiled_model import CompiledModel
        from composer.training.run.plan import check_config

        return CompiledModel(check_config(self.composed))

    def lightning(self) -> tuple[TrainingModule, DataModule]:
        """The model with its first weights, and its data, for ``lightning.Trainer().fit(module, data)``.

        The sections ``trainer``, ``logger`` and ``callbacks`` and the folder of the run are left to the Trainer. The
        schedule of the learning rate is over the steps that the Trainer takes.
        """
        from composer.training.data_module import DataModule
        from composer.training.module import TrainingModule
        from composer.training.run.train import materialise

        return TrainingModule(self.plan, materialise(self.plan)), DataModule(self.plan)

    def train(self) -> Outcome:
        """Train as ``python train.py`` does, into a folder of its own.

        ``composer.load`` and ``composer.compare`` take the outcome in the place of that folder.
        """
        from composer.training.run.train import train

        return train(self.composed)

    def __repr__(self) -> str:
        return f"composer.compose({list(self.composed.overrides)!r})"
