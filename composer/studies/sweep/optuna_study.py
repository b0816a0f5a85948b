"""The Optuna study of a search: its storage in the sweep's folder, its sampler and its pruner."""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.core.extras import extra
from composer.core.lock import held
from composer.studies.search_space import Choice, Interval, Space
from composer.studies.sweep.settings import SearchPlan
from composer.studies.sweep.sweep_folder import SweepFolder

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

#: The name of the study in its file. It is the same in every sweep, because Hyperband draws from it.
NAME = "search"

#: Seconds to wait for another process that writes the study.
PATIENCE = 120


def optuna() -> Any:
    module = extra("optuna", "a search", "search")
    module.logging.set_verbosity(module.logging.WARNING)
    return module


def open_study(folder: SweepFolder, plan: SearchPlan) -> Study:
    """The study of a sweep, made if it is not there. It opens in optuna-dashboard."""
    directions = {"min": "minimize", "max": "maximize"}
    return optuna().create_study(
        storage=_storage(folder, plan), study_name=NAME, direction=directions[plan.direction],
        pruner=make_pruner(plan), load_if_exists=True,
    )  # fmt: skip


def _storage(folder: SweepFolder, plan: SearchPlan) -> Any:
    storages = optuna().storages
    if plan.settings.storage == "journal":
        file = str(folder.path / "study.log")
        return storages.JournalStorage(
            storages.journal.JournalFileBackend(file, lock_obj=JournalLock(folder.path / ".journal"))
        )
    return storages.RDBStorage(
        f"sqlite:///{folder.study.resolve()}", engine_kwargs={"connect_args": {"timeout": PATIENCE}}
    )


class JournalLock:
    """Optuna's lock of a journal, which ends with the process that holds it.

    Optuna's own locks are files that a killed process leaves behind, and others wait half a minute for them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = ExitStack()

    def acquire(self) -> bool:
        self.held.enter_context(held(self.path, wait=True))
        return True

    def release(self) -> None:
        self.held.close()


def make_sampler(plan: SearchPlan, number: int) -> BaseSampler:
    """The sampler that draws the trial of this number.

    Its random numbers depend on the search's seed and the number alone, so that a search that was killed draws what it
    would have drawn.
    """
    samplers = optuna().samplers
    # Hashed, because the first numbers of generators with neighbouring seeds are not always far from each other.
    seed = random.Random(f"{plan.settings.seed}/{number}").getrandbits(32)
    if plan.settings.sampler == "random":
        return samplers.RandomSampler(seed=seed)
    if plan.settings.sampler == "cmaes":
        extra("cmaes", "search.sampler=cmaes", "search")
        return samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    return samplers.TPESampler(seed=seed)


def make_pruner(plan: SearchPlan) -> BasePruner:
    """Steps of a pruner are training steps."""
    pruners, settings = optuna().pruners, plan.settings
    if settings.pruner == "median":
        return pruners.MedianPruner(n_startup_trials=settings.startup, n_warmup_steps=settings.warmup)
    if settings.pruner == "hyperband":
        first, last = plan.resources
        least = max(1, settings.warmup or first or 1)
        return pruners.HyperbandPruner(min_resource=least, max_resource=last if last is not None else "auto")
    return pruners.NopPruner()


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """The search space in Optuna's terms."""
    return {key: _distribution(values) for key, values in space.items()}


def _distribution(values: Interval | Choice) -> BaseDistribution:
    known = optuna().distributions
    if isinstance(values, Choice):
        return known.CategoricalDistribution(values.values)
    if isinstance(values.low, int) and isinstance(values.high, int):
        return known.IntDistribution(values.low, values.high, log=values.log)
    return known.FloatDistribution(values.low, values.high, log=values.log)
