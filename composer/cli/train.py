"""Train a model: compose the config, compile the graph, train, report.

python train.py                                  the default: dates in eight languages to ISO, with a small transformer
python train.py mixer=mingru                     the same graph with another mixer in every slot
python train.py resume=runs/2026-01-31_12-00-00  resume a run from its last checkpoint
python train.py -m mixer=lstm,mingru seed=1,2    a sweep: a run for every combination, and a table of results
python train.py --signals                        first check activations and gradients at initialisation
python train.py --json                           a line of JSON for every event, for programs (docs/json.md)
python train.py --help                           every group and its options
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from io import StringIO
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from composer.cli.options import note_own_configs
from composer.config.composition import resolve_config
from composer.config.overrides import as_typed, check_effects, check_overrides, config_dir, mode_of, split_options
from composer.config.sentences import hydra_errors
from composer.config.yaml_files import PRIMARY, user_folder
from composer.core.problems import UserError, user_errors
from composer.core.program import CONF, as_started
from composer.core.storage.json_output import events_on_stdout

SIGNALS, JSON = "--signals", "--json"  # the options that Hydra does not parse

#: Whether --signals was given.
signals_wanted = False


def job(config: DictConfig) -> float | None:
    """A single run, or one trial of a sweep, which returns its judged metric to the sweeper."""
    settings = HydraConfig.get()
    overrides = as_typed(settings.overrides.task)
    if settings.mode is RunMode.MULTIRUN:
        from composer.studies.sweep.job import run_trial

        return run_trial(lambda: resolve_config(overrides), Path(settings.runtime.output_dir), overrides)
    with user_errors():
        composed = resolve_config(overrides, to_compile=True)
        from composer.studies.sweep.search.search_pruning import pruning_of_this_process
        from composer.training.run.train import train  # imports torch and Lightning, so only after the checks

        outcome = train(composed, signals=signals_wanted, prune=pruning_of_this_process())
    sys.exit(outcome.exit_code)


def refuse_signals() -> None:
    if signals_wanted:
        raise UserError(
            f"{SIGNALS} measures one model, and -m trains many. Leave {SIGNALS} out, or measure the models one by one: "
            "python -m composer describe --signals, with the overrides of each."
        )


def main(words: Sequence[str]) -> None:
    """What ``train.py`` does with these words of its command line, which Hydra reads from ``sys.argv``."""
    global signals_wanted
    signals_wanted = SIGNALS in words
    with events_on_stdout() if JSON in words else nullcontext():
        start([word for word in words if word not in (SIGNALS, JSON)])


@contextmanager
def told_as_started() -> Iterator[None]:
    """Within a ``with`` block, what Hydra prints, its help, names the program that the user has started."""
    told = StringIO()
    try:
        with redirect_stdout(told):
            yield
    finally:
        print(as_started(told.getvalue()), end="")


def start(words: Sequence[str]) -> None:
    options, overrides = split_options(words)
    sys.argv[1:] = [*options, *overrides]
    # Hydra then raises its errors, which hydra_errors turns into a sentence.
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    run = hydra.main(version_base="1.3", config_path=str(CONF), config_name=PRIMARY)(job)
    try:
        with user_errors(), hydra_errors(overrides):
            check_overrides(overrides)
            user_folder.set(folder := config_dir(options))
            if not any(word.startswith(("--config-d", "-cd")) for word in options) and "LOCAL_RANK" not in os.environ:
                note_own_configs(folder)
            check_effects(overrides, mode_of(sys.argv[1:]))
            if mode_of(sys.argv[1:]) != "run":
                refuse_signals()
            with told_as_started() if {"--help", "-h"}.intersection(options) else nullcontext():
                run()
    except KeyboardInterrupt:  # before training starts; the training loop handles signals itself
        sys.exit(130)
