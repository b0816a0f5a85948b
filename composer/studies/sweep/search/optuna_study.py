"""The Optuna study of a search: its storage in the sweep's folder, its sampler and its pruner."""

from __future__ import annotations

import random
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.core.extras import extra
from composer.core.problems import UserError
from composer.runs.lock import folder_lock
from composer.runs.sweep_folder import SweepFolder
from composer.studies.sweep.search.search_settings import GOALS, SearchPlan
from composer.studies.tuning.search_space import Choice, Space

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
    """The study of a sweep, made if it is not there. It opens in optuna-dashboard.

    A damaged file is an error that says what to do.
    """
    module, file = optuna(), study_file(folder, plan)
    try:
        if file.is_file():
            (check_end if plan.settings.storage == "journal" else check_pages)(file)
        study = module.create_study(
            storage=_storage(file, plan), study_name=NAME, direction=GOALS[plan.direction],
            pruner=make_pruner(plan), load_if_exists=True,
        )  # fmt: skip
        study.get_trials(deepcopy=False)  # reads all of the file
    except damages() as error:
        raise damaged(file, error) from error
    return study


def study_file(folder: SweepFolder, plan: SearchPlan) -> Path:
    return folder.path / "study.log" if plan.settings.storage == "journal" else folder.study


def _storage(file: Path, plan: SearchPlan) -> Any:
    storages = optuna().storages
    if plan.settings.storage == "journal":
        return storages.JournalStorage(
            storages.journal.JournalFileBackend(str(file), lock_obj=JournalLock(file.with_name(".journal")))
        )
    return storages.RDBStorage(f"sqlite:///{file.resolve()}", engine_kwargs={"connect_args": {"timeout": PATIENCE}})


def check_pages(file: Path) -> None:
    """Raise a DatabaseError if SQLite finds a page of its file damaged; a reader does not see all of them."""
    with closing(sqlite3.connect(file, timeout=PATIENCE)) as connection:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(found)


def check_end(file: Path) -> None:
    """Raise an error for a journal whose last line is torn, to which Optuna would append the next one."""
    with folder_lock(file.with_name(".journal"), wait=True):
        content = file.read_bytes()
    if content and not content.endswith(b"\n"):
        raise ValueError("its last line is torn")


def damages() -> tuple[type[Exception], ...]:
    """What Optuna raises for a file that it has not written so: errors of whatever it makes of the content."""
    from sqlalchemy.exc import SQLAlchemyError

    plain = (OSError, ValueError, LookupError, TypeError, AttributeError, AssertionError, RuntimeError)
    return (*plain, sqlite3.Error, SQLAlchemyError, optuna().exceptions.OptunaError)


def damaged(file: Path, error: object) -> UserError:
    reason = (str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__])[0].rstrip(".")
    if "is locked" in reason:
        return UserError(f"'{file}' is in use by another process ({reason}). Try again when that process has ended.")
    return UserError(
        f"'{file}', the study of this search, cannot be used: {reason}. Move it away, and the same command makes it "
        "anew from the folders of the trials; none that is done is trained again."
    )


class JournalLock:
    """Optuna's lock of a journal, which ends with the process that holds it.

    Optuna's own locks are files that a killed process leaves behind, and others wait half a minute for them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.locks = ExitStack()

    def acquire(self) -> bool:
        self.locks.enter_context(folder_lock(self.path, wait=True))
        return True

    def release(self) -> None:
        self.locks.close()


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
    known, found = optuna().distributions, {}
    for key, values in space.items():
        if isinstance(values, Choice):
            found[key] = known.CategoricalDistribution(values.values)
        else:
            form = known.IntDistribution if values.whole else known.FloatDistribution
            found[key] = form(values.low, values.high, log=values.log)
    return found
