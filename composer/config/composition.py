"""Composition of configs by Hydra, and what Hydra does not record: the file and line or the override that set every
value. Overrides without effect are errors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.default_element import ResultDefault
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from composer.config.environment import Kept, as_written, unread_text
from composer.config.general import bind_general, unasked
from composer.config.heads import fit_heads
from composer.config.loading import Stamp, install, quick_loader, root, stamp
from composer.config.overrides import as_typed, check_effects, check_overrides, without_hyphens
from composer.config.paths_elsewhere import Trusted, paths_elsewhere
from composer.config.resolution import references, resolved
from composer.config.sentences import hydra_errors
from composer.config.slots import Layers, Options, expand_options, replace_blocks
from composer.config.yaml_files import PRIMARY, PlainLoader
from composer.core.problems import ConfigError, Problem, UserError, did_you_mean, listed

#: The top-level sections. All other top-level keys are groups of blocks, such as ``mixer``: the defaults for the slots.
SECTIONS = (
    "data", "model", "objective", "init", "optimiser", "schedule", "training", "trainer", "logger", "experiment",
    "study", "search", "plugins", "allow_paths", "seed", "runs", "name", "group", "arm", "budget", "resume",
)  # fmt: skip

#: The package of our own configs.
CONF = "conf"

#: Mappings whose keys are names of nodes or of sources, so that no file can list them, and those of a study, whose file
#: lists only the keys that it sets. Hydra needs ++ to add a key to a mapping.
BY_NAME = (
    "optimiser.groups.", "init.nodes.", "init.unfreeze_after.", "data.sources.", "data.weights.", "data.each.",
    "study.budget.", "study.tuning.",
)  # fmt: skip


def run_name(number: int, overrides: Sequence[str]) -> str:
    """The folder name of one run of a sweep by another sweeper than ours, which does not say what it varies."""
    fixed = [argument.lower() for argument in sys.argv]  # Hydra writes false as False
    return folder_name(number, [override for override in as_typed(overrides) if override.lower() not in fixed])


def folder_name(number: int, varied: Sequence[str]) -> str:
    """The folder name of one run of a sweep: the run's number and its varied overrides, without special characters."""
    return re.sub(r"[^\w=,.+-]", "_", f"{number}_{','.join(varied)}")[:120].rstrip("_")


OmegaConf.register_new_resolver("run_name", run_name, replace=True)
install()


#: Keys of earlier versions that overrides may still have, and their names now.
RENAMED = {"training.judge=": "training.monitor="}


def with_new_keys(overrides: Sequence[str]) -> list[str]:
    """The overrides with ++ before those that set a key of a mapping ``BY_NAME``, so that a user need not write it.

    A key that was renamed gets its new name.
    """
    for old, new in RENAMED.items():
        overrides = [override.replace(old, new, 1) if override.startswith(old) else override for override in overrides]
    return [f"++{override}" if override.startswith(BY_NAME) else override for override in overrides]


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
    """The config composed from conf/, from the user's own ``config_dir``, and from overrides.

    to_compile: whether values that cannot be resolved are left to the compilation, which reports them
    """
    search = [f"hydra.searchpath=[file://{_folder(config_dir)}]"] if config_dir is not None else []
    overrides = with_new_keys(without_hyphens(overrides))
    check_overrides(overrides)
    check_effects(overrides, "command")
    GlobalHydra.instance().clear()
    with initialize_config_module(CONF, version_base="1.3"), hydra_errors(overrides):
        quick_loader()
        config = hydra_compose(PRIMARY, overrides=[*overrides, *search])
        return understand(config, [*overrides, *search], to_compile=to_compile)


def recompose(overrides: Sequence[str]) -> Composed:
    """The config composed from other overrides, inside a program that Hydra runs: with its search path (--config-dir).

    Outside of such a program, the config is composed from conf/.
    """
    if not GlobalHydra.instance().is_initialized():
        return compose(overrides)
    overrides = with_new_keys(overrides)
    quick_loader()
    check_overrides(overrides)
    with hydra_errors(overrides):
        return understand(hydra_compose(PRIMARY, overrides=overrides), overrides)


def understand(config: DictConfig, overrides: Sequence[str], *, to_compile: bool = False) -> Composed:
    """Resolve a config that Hydra composed, and find the place of each value. Hydra has to be initialised still."""
    loader = quick_loader()
    defaults, values_set = loader.defaults(PRIMARY, overrides)
    sources = _Sources(loader.get_search_path(), overrides)
    ours = [item for item in defaults if not str(item.config_path).startswith("hydra/")]
    chosen = _choices(overrides, loader)
    table = _Table.of(ours, sources, chosen, values_set)
    for removed in (override for override in overrides if override.startswith("~")):
        table.places.setdefault(removed[1:].partition("=")[0], f"command line: {removed}")
    OmegaConf.set_struct(config, False)
    search = [override for override in overrides if override.startswith("hydra.searchpath=")]
    options = Options(sources.file, lambda path: hydra_compose(path, overrides=search))
    replace_blocks(config, table.layers, options)
    primary = sources.file(PRIMARY)
    assert primary is not None
    fit_heads(config, table.origins, primary, chosen, options)
    problems = _spread(config, ours, table, chosen)
    expand_options(config.get("model"), options)
    problems += _unknown(config, table)
    given = tuple(o for o in overrides if not o.startswith("hydra."))
    if problems:
        raise ConfigError(problems, Composed({}, given, table.places).locate)
    sections, kept, problems = resolved(config, SECTIONS)
    composed = Composed(sections, given, table.places, dict(references(config)), kept, problems)
    general, wrong = bind_general(sections)
    wrong += sources.unasked(config, sections, values_set, table)
    if wrong or (problems and not to_compile):
        raise ConfigError([*problems, *wrong], composed.locate)
    sections |= general
    sections.pop("allow_paths", None)  # concerns this command, and not the run
    return composed


def check_sweep(config: DictConfig, overrides: Sequence[str]) -> None:
    """Check what only the command line can choose, before a sweep makes its folder. Its trials are checked one by one.

    config: composed of the overrides that all trials share
    """
    loader = quick_loader()
    parsed = [o for o in loader.parsed(as_typed(overrides)) if not o.key_or_group.startswith("hydra")]
    defaults, shared = loader.defaults(PRIMARY, [str(o.input_line) for o in parsed if not o.is_sweep_override()])
    sources = _Sources(loader.get_search_path(), overrides)
    table = _Table.of(defaults, sources, {}, shared)
    sections, _, _ = resolved(config, SECTIONS)
    values = [o for o in parsed if not loader.repository.group_exists(o.key_or_group)]
    if wrong := sources.unasked(config, sections, values, table):
        raise ConfigError(wrong, Composed(sections, (), table.places).locate)


def _folder(config_dir: str | Path) -> Path:
    path = Path(config_dir)
    if not path.is_dir():
        raise UserError(f"--config-dir: there is no folder '{path}'.")
    return path.resolve()


class _Sources:
    """Finds the file of a config by its Hydra path."""

    def __init__(self, search_path: Any, overrides: Sequence[str]) -> None:
        more = [path for o in overrides if o.startswith("hydra.searchpath=") for path in re.findall(r"\w+://[^],]+", o)]
        paths = [*(item.path for item in search_path.get_path()), *more]
        self.roots = [folder for path in paths if (folder := root(path)) is not None]

    def unasked(
        self, config: DictConfig, sections: dict[str, Any], values: Sequence[Override], table: _Table
    ) -> list[Problem]:
        """Problems for what only the command line can choose."""
        package = root(f"pkg://{CONF}")
        assert package is not None
        trusted = Trusted.of(config, values, table.layers, package)
        problems = unasked(sections, trusted.typed.__contains__)
        if problems or sections.get("allow_paths") is True:
            return problems
        return paths_elsewhere(sections, [folder for folder in self.roots if folder != package], trusted)

    def file(self, config_path: str) -> Path | None:
        files = (root / f"{config_path}.yaml" for root in self.roots)
        return next((file for file in files if file.is_file()), None)

    def shown(self, file: Path) -> str:
        """The file's path, relative to the working directory or to the folder of configs."""
        if file.is_relative_to(Path.cwd()):
            return str(file.relative_to(Path.cwd()))
        root = next(root for root in self.roots if file.is_relative_to(root))
        return str(root.name / file.relative_to(root))


@dataclass
class _Table:
    """The file and line, or the override, that set each key."""

    places: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)  # path -> the config or override that set it
    layers: Layers = field(default_factory=Layers)

    @classmethod
    def of(
        cls, defaults: list[ResultDefault], sources: _Sources, chosen: dict[str, Override], values: list[Override]
    ) -> _Table:
        table = cls()
        for item in defaults:
            file = sources.file(str(item.config_path))
            if file is None:
                continue
            package = item.package or ""
            table.layers.add(package, file)
            shown = sources.shown(file)
            if package:
                table.places.setdefault(package, f"{shown}:1")
            for path, line in _lines(file, stamp(file)):
                full = f"{package}.{path}" if package else path
                table.places[full] = f"{shown}:{line}"
                table.origins[full] = str(item.config_path)
                table.layers.note(full)
            override = _chooser(item, chosen)
            if override is not None and package:
                table.places[f"{package}.type"] = f"command line: {override.input_line}"
        table.layers.add("", None)  # the command line
        for value in values:
            table.override(value)
        return table

    def override(self, override: Override) -> None:
        path = override.key_or_group
        for known in [known for known in self.places if known.startswith(f"{path}.")]:
            del self.places[known]
        written = str(override.input_line)
        self.places[path] = f"command line: {written.removeprefix('++') if path.startswith(BY_NAME) else written}"
        self.origins[path] = "command line"
        self.layers.note_value(path, override.value())


@cache
def _lines(file: Path, _: Stamp) -> list[tuple[str, int]]:
    """Every key of a YAML file with its line. A key is spelled as OmegaConf reads it: 1e3 is 1000.0."""
    loader = PlainLoader(file.read_text(encoding="utf-8"))

    def walk(node: yaml.Node | None, prefix: str) -> Iterator[tuple[str, int]]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name = str(loader.construct_object(key))
                path = f"{prefix}.{name}" if prefix else name
                if path != "defaults":
                    yield path, key.start_mark.line + 1
                    yield from walk(value, path)

    return list(walk(loader.get_single_node(), ""))


def _choices(overrides: Sequence[str], loader: Any) -> dict[str, Override]:
    """The command line's choices of a group: 'mixer' or 'mixer@model.nodes.decoder.mixer' -> the override."""
    return {
        o.key_or_group + (f"@{o.package}" if o.package else ""): o
        for o in loader.parsed(overrides)
        if loader.repository.group_exists(o.key_or_group) and not o.key_or_group.startswith("hydra")
    }


def _chooser(item: ResultDefault, chosen: dict[str, Override]) -> Override | None:
    """The override that chose this file for its slot, directly or through the slot's default."""
    group, _, name = str(item.config_path).rpartition("/")
    direct = chosen.get(f"{group}@{item.package}")
    if direct is not None:
        return direct
    general = chosen.get(group)
    if general is None:
        return None
    value = general.value()
    return general if name in (value if isinstance(value, list) else [value]) else None


def _spread(
    config: DictConfig, defaults: list[ResultDefault], table: _Table, chosen: dict[str, Override]
) -> list[Problem]:
    """Copy changes of a default block ('mixer.heads=8') into every slot that uses the default.

    A change on the command line that reaches no slot is a problem.
    """
    problems = []
    for item in defaults:
        group = str(item.config_path).rpartition("/")[0]
        if item.package != group or group in SECTIONS:
            continue
        slots = [s for s in defaults if s.config_path == item.config_path and s.package != group]
        slots = [s for s in slots if _holds_choice(config, str(s.package), group, table)]
        if not _holds_choice(config, group, group, table):  # another block was put in the default's place
            for slot in slots:
                OmegaConf.update(config, str(slot.package), config[group], merge=False)
        override = chosen.get(group)
        if override is not None and not slots:
            problems.append(
                Problem(group, f"has no effect: no slot of this model takes its {group} from here.", f"{group}.type")
            )
        for path, origin in table.origins.items():
            if not path.startswith(f"{group}.") or origin == item.config_path:
                continue
            key = path.removeprefix(f"{group}.")
            value = OmegaConf.select(config, path)
            if OmegaConf.is_dict(value):
                continue
            value = unread_text(config, path) or value
            if not slots and origin == "command line":  # a file, such as that of a study, may serve several models
                problems.append(Problem(path, f"has no effect: no slot of this model takes the default {group}."))
            for slot in slots:
                target = f"{slot.package}.{key}"
                if table.origins.get(target) in (None, str(item.config_path)):
                    OmegaConf.update(config, target, value, force_add=True)
                    table.places[target] = table.places[path]
    return problems


def _holds_choice(config: DictConfig, path: str, group: str, table: _Table) -> bool:
    """Whether the block at a path is that of the group's file: not a name in place of the keys, and no other type."""
    origin = table.origins.get(f"{path}.type", "")
    return (not origin or origin.startswith(f"{group}/")) and OmegaConf.is_dict(OmegaConf.select(config, path))


def _unknown(config: DictConfig, table: _Table) -> list[Problem]:
    """Problems for keys that nothing reads."""
    loader: Any = GlobalHydra.instance().config_loader()
    problems = []
    for key in map(str, config):
        if key not in SECTIONS and not loader.repository.group_exists(key):
            hint = did_you_mean(key, SECTIONS)
            problems.append(Problem(key, f"there is no section '{key}'.{hint}  (sections: {listed(SECTIONS)})"))
    # Only keys of the command line are checked: a template may define more keys than its blocks use.
    keys = [key for key in map(str, config.get("model") or {}) if table.origins.get(f"model.{key}") == "command line"]
    raw = OmegaConf.to_yaml(config, resolve=False) if keys else ""
    for key in keys:
        if key != "nodes" and f"${{model.{key}}}" not in raw:
            problems.append(Problem(f"model.{key}", f"has no effect: nothing refers to it as ${{model.{key}}}."))
    return problems
