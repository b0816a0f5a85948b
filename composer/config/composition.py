"""Composition of configs by Hydra, and what Hydra does not record: the file and line or the override that set every
value. Overrides without effect are errors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from composer.config.chosen_by_files import chosen_by_files
from composer.config.environment import Kept, as_written, leaves
from composer.config.general import bind_general
from composer.config.layers import COMMAND_LINE, Layers, select
from composer.config.overrides import as_typed, check_effects, check_overrides, with_new_keys, without_hyphens
from composer.config.resolution import paths, references, resolved, suggestions
from composer.config.search_path import SearchPath
from composer.config.sentences import hydra_errors
from composer.config.slots import expand_options, fit_heads, replace_blocks, spread_defaults
from composer.config.yaml_files import PRIMARY, folder_of_user, user_folder
from composer.core.problems import ConfigError, Problem, UserError, did_you_mean, listed
from composer.core.program import CONF

#: The top-level sections. All other top-level keys are groups of blocks, such as ``mixer``: the defaults for the slots.
SECTIONS = (
    "data", "model", "objective", "init", "optimiser", "schedule", "training", "trainer", "logger", "callbacks",
    "experiment", "study", "search", "plugins", "allow_paths", "seed", "runs", "name", "group", "arm", "budget",
    "resume",
)  # fmt: skip


def run_name(number: int, overrides: Sequence[str]) -> str:
    """The folder name of one run of a sweep by another sweeper than ours, which does not say what it varies."""
    fixed = [argument.lower() for argument in sys.argv]  # Hydra writes false as False
    return folder_name(number, [override for override in as_typed(overrides) if override.lower() not in fixed])


def folder_name(number: int, varied: Sequence[str]) -> str:
    """The folder name of one run of a sweep: the run's number and its varied overrides, without special characters."""
    return re.sub(r"[^\w=,.+-]", "_", f"{number}_{','.join(varied)}")[:120].rstrip("_")


OmegaConf.register_new_resolver("run_name", run_name, replace=True)


@dataclass
class Composed:
    """A resolved config, and the place (file and line, or override) where each of its values was written.

    references: the path of every value that is another value of the config, and the path of that value
    kept: the texts that come from the environment, which no file may hold
    problems: the values that cannot be resolved, which a compilation reports together with what else it finds
    """

    values: dict[str, Any]
    overrides: tuple[str, ...]
    places: dict[str, str] = field(repr=False)
    references: dict[str, str] = field(default_factory=dict, repr=False)
    kept: Kept = field(default_factory=dict, repr=False)
    problems: Sequence[Problem] = ()

    def written(self) -> dict[str, Any]:
        """A copy of the values for files, with the names of environment variables instead of their values."""
        return as_written(self.values, self.kept)

    def locate(self, path: str) -> str:
        """The place where the value at a path was written, or the place of its nearest enclosing section."""
        followed = path
        for _ in range(10):  # a value may refer to a value that refers to another
            followed = self.references.get(followed, followed)
        path = followed if followed in self.places else path
        while path:
            if path in self.places:
                return self.places[path]
            path = path.rpartition(".")[0]
        return ""

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Around a compilation: its errors, with the values that could not be resolved."""
        hidden = tuple(problem.path for problem in self.problems)
        try:
            yield
        except UserError as error:
            if not hidden:
                raise
            others = error.problems if isinstance(error, ConfigError) else []
            others = [problem for problem in others if not problem.path.startswith(hidden)]
            raise ConfigError([*self.problems, *others], self.locate) from error
        if hidden:
            raise ConfigError(self.problems, self.locate)


def compose(
    overrides: Sequence[str] = (), config_dir: str | Path | None = None, *, to_compile: bool = False
) -> Composed:
    """The config composed from our configs, from the user's own, and from overrides.

    config_dir: the folder of the user's configs; None: ./conf, if there is one
    to_compile: whether values that cannot be resolved are left to the compilation, which reports them
    """
    overrides = with_new_keys(without_hyphens(overrides))
    check_overrides(overrides)
    check_effects(overrides, "command")
    folder = folder_of_user(config_dir)
    GlobalHydra.instance().clear()
    before = user_folder.set(folder)
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return resolve_config(overrides, to_compile=to_compile)
    finally:
        user_folder.reset(before)


def recompose(overrides: Sequence[str]) -> Composed:
    """The config composed from other overrides, inside a program that Hydra runs: with its search path (--config-dir).

    Outside of such a program, the config is composed from conf/.
    """
    if not GlobalHydra.instance().is_initialized():
        return compose(overrides)
    overrides = with_new_keys(overrides)
    check_overrides(overrides)
    return resolve_config(overrides)


def resolve_config(overrides: Sequence[str], *, to_compile: bool = False) -> Composed:
    """The config of a program that Hydra has initialised, resolved, with the place of each value.

    Hydra says which files and overrides make the config; all of them are merged in one pass.
    """
    with hydra_errors(overrides):
        search = SearchPath()
        layers, defaults, chosen, values_set = search.merge(PRIMARY, overrides)
    replace_blocks(layers, search)
    fit_heads(layers, search, chosen)
    problems = spread_defaults(layers, defaults, chosen, SECTIONS)
    expand_options(layers.values.get("model"), search)
    problems += _unknown(layers, search)
    given = tuple(o for o in overrides if not o.startswith("hydra."))
    if problems:
        raise ConfigError(problems, Composed({}, given, layers.places).locate)
    sections, kept, problems = resolved(layers.values, SECTIONS)
    composed = Composed(sections, given, layers.places, references(layers.values), kept, problems)
    general, wrong = bind_general(sections)
    wrong += chosen_by_files(sections, values_set, layers, search.folders)
    if wrong or (problems and not to_compile):
        raise ConfigError([*problems, *wrong], composed.locate)
    sections |= general
    sections.pop("allow_paths", None)  # concerns this command, and not the run
    return composed


def check_sweep(overrides: Sequence[str]) -> None:
    """Check what only the command line can choose, before a sweep makes its folder. Its trials are checked one by one.

    overrides: those of the sweep, of which each trial takes one of several values
    """
    search = SearchPath()
    parsed = search.parse(as_typed(overrides))
    layers = search.merge(PRIMARY, [str(o.input_line) for o in parsed if not o.is_sweep_override()]).layers
    sections, _, _ = resolved(layers.values, SECTIONS)
    values = [o for o in parsed if not search.is_group(o.key_or_group)]
    if wrong := chosen_by_files(sections, values, layers, search.folders):
        raise ConfigError(wrong, Composed(sections, (), layers.places).locate)


def _unknown(layers: Layers, search: SearchPath) -> list[Problem]:
    """Problems for keys that nothing reads."""
    problems = []
    for key in map(str, layers.values):
        if key not in SECTIONS and not search.is_group(key):
            near = suggestions(key, list(paths(layers.values)))
            hint = f" Did you mean {' or '.join(near)}?" if near else did_you_mean(key, SECTIONS)
            problems.append(Problem(key, f"there is no section '{key}'.{hint}  (sections: {listed(SECTIONS)})"))
    # Only keys of the command line are checked: a template may define more keys than its blocks use.
    model = select(layers.values, "model")
    own = model if isinstance(model, dict) else {}
    keys = [key for key in own if layers.origins.get(f"model.{key}") == COMMAND_LINE]
    texts = "\n".join(text for _, text in leaves(layers.values) if isinstance(text, str)) if keys else ""
    for key in keys:
        if key != "nodes" and f"${{model.{key}}}" not in texts:
            problems.append(Problem(f"model.{key}", f"has no effect: nothing refers to it as ${{model.{key}}}."))
    return problems
