"""A resumed run: the checkpoint from which it goes on, and its config, of which a few sections may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from composer.config.composition import Composed
from composer.config.environment import with_environment
from composer.core.problems import UserError
from composer.runs import checkpoint
from composer.runs.checkpoint import check_plugins
from composer.runs.checkpoint_content import RESUMED
from composer.runs.checkpoint_file import Damaged
from composer.runs.folder import RunFolder, present, set_aside
from composer.runs.lock import folder_lock, holder, inherited

#: The sections that may change on resume. They decide how long, how and where to train, but not the model or the data.
CHANGEABLE = ("training", "trainer", "logger", "callbacks")

#: The statuses of runs that have a checkpoint; others may have been killed or stopped before the first.
SAVED = ("finished", "pruned")


@dataclass
class ResumePoint:
    """
    saved: the checkpoint from which the run goes on; None for a run that was killed before its first one
    damaged: checkpoints that cannot be read, with the reasons
    config: the config that the run was begun with
    """

    saved: dict[str, Any] | None
    config: dict[str, Any]
    damaged: dict[Path, str] = field(default_factory=dict)

    @classmethod
    def find(cls, folder: RunFolder) -> ResumePoint:
        """The last checkpoint that is whole: the last one, or the one before it, or the best one."""
        damaged: dict[Path, str] = {}
        for path in folder.saved():
            try:
                content = checkpoint.load(path)
                if missing := [key for key in RESUMED if key not in content]:
                    raise Damaged(f"'{path}' is not a checkpoint from which a run can go on: it has no '{missing[0]}'.")
            except Damaged as error:
                damaged[path] = str(error)
                continue
            return cls(content, content["config"], damaged)
        if damaged:
            raise UserError(
                f"{next(iter(damaged.values()))} No checkpoint of '{folder.path}' is whole, so the run cannot go on: "
                "put one back from a copy, or start a new run with its config.yaml."
            )
        if lost(folder):
            raise UserError(
                f"'{folder.checkpoints}' has no checkpoint any more, so the run cannot go on: put last.safetensors "
                "back from a copy, or start a new run with its config.yaml."
            )
        return cls(None, read_config(folder))

    def set_aside(self, folder: RunFolder) -> list[str]:
        """Rename damaged checkpoints, so that they are not taken for good ones. Returns what happened, in sentences.

        In the place of a damaged best checkpoint, the next validation writes another one.
        """
        notes = [f"{reason} It is set aside as '{set_aside(path).name}'." for path, reason in self.damaged.items()]
        if self.saved is None:
            return notes
        if not self.damaged and not present(folder.last).is_file():
            notes.append(f"'{folder.last}' is missing.")
        if notes:
            notes.append(f"The run goes on from the checkpoint before it, of step {self.saved['step']:,}.")
        best = present(folder.best)
        try:
            if best.is_file():
                checkpoint.verify(best)
        except Damaged as error:
            self.saved["progress"] |= {"best": None, "best_step": 0}
            aside = set_aside(best).name
            notes.append(f"{error} It is set aside as '{aside}', and the next validation writes another one.")
        return notes


def lost(folder: RunFolder) -> bool:
    """Whether the run has had a checkpoint."""
    try:
        record = folder.read_record()
    except UserError:  # which a resumed run mends
        return False
    return record.saved or record.status in SAVED


def read_config(folder: RunFolder) -> dict[str, Any]:
    """The content of config.yaml."""
    try:
        config = yaml.safe_load(folder.config.read_text(encoding="utf-8"))
    except (ValueError, yaml.YAMLError) as error:
        raise UserError(f"'{folder.config}' cannot be read: {' '.join(str(error).split())}.") from error
    if not isinstance(config, dict):
        raise UserError(f"'{folder.config}' is not the config of a run: it holds no mapping.")
    return config


def resumed(composed: Composed, config: dict[str, Any], plugins: Sequence[Mapping[str, Any]] | None = None) -> Composed:
    """The run's config, changed by the command line's overrides other than ``resume``.

    plugins: the names and digests of the run's plugins
    """
    values, kept = with_environment(config)
    values["plugins"] = check_plugins(config, composed.values.get("plugins") or [], plugins)
    places = {}
    beside = ("resume=", "plugins=", "allow_paths=")
    overrides = [override for override in composed.overrides if not override.startswith(beside)]
    for override in overrides:
        path = override.lstrip("+~").split("=")[0].split("@")[0]
        *parents, last = path.split(".")
        if path.split(".")[0] not in CHANGEABLE:
            raise UserError(
                f"command line: {override}\n  a run goes on as it was begun: beside resume, only "
                f"{', '.join(CHANGEABLE)} can change. Leave it out, or start a new run."
            )
        places[path] = f"command line: {override}"
        target, source = values, composed.values
        for key in parents:
            target, source = target.setdefault(key, {}), source[key]
        if last in source:
            target[last] = source[last]
        else:  # removed: ~logger.csv
            target.pop(last, None)
    return Composed(values, tuple(overrides), places, kept=kept | composed.kept)


@contextmanager
def only_writer(folder: RunFolder) -> Iterator[None]:
    """Hold a run's folder for this process. A folder that another process holds is an error."""
    if inherited(folder.path):
        yield
        return
    with folder_lock(folder.path, needed=False) as lock:
        if lock is None:
            raise UserError(
                f"'{folder.path}' is being trained by {holder(folder.path)}. Wait for its end, or end it first."
            )
        yield
