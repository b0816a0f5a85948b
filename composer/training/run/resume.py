"""The config of a resumed run: the config of its checkpoint, with a few sections that may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from composer.config.composition import Composed
from composer.config.environment import with_environment
from composer.core.problems import UserError
from composer.training.checkpoint import check_plugins

#: The sections that may change on resume. They decide how long, how and where to train, but not the model or the data.
CHANGEABLE = ("training", "trainer", "logger")


def resumed(composed: Composed, config: dict[str, Any], plugins: Sequence[Mapping[str, Any]] | None = None) -> Composed:
    """The run's config, changed by the command line's overrides other than ``resume``.

    plugins: the names and digests of the run's plugins
    """
    values, kept = with_environment(config)
    values["plugins"] = check_plugins(config, composed.values.get("plugins") or [], plugins)
    places = {}
    overrides = [override for override in composed.overrides if not override.startswith(("resume=", "plugins="))]
    for override in overrides:
        path = override.lstrip("+~").split("=")[0].split("@")[0]
        section, *keys = path.split(".")
        if section not in CHANGEABLE:
            raise UserError(
                f"command line: {override}\n  a run goes on as it was begun: beside resume, only "
                f"{', '.join(CHANGEABLE)} can change. Leave it out, or start a new run."
            )
        places[path] = f"command line: {override}"
        if not keys:
            values[section] = composed.values[section]
            continue
        target, source = values[section], composed.values[section]
        for key in keys[:-1]:
            target, source = target.setdefault(key, {}), source[key]
        target[keys[-1]] = source[keys[-1]]
    return Composed(values, tuple(overrides), places, kept=kept | composed.kept)
