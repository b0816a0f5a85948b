"""The values of the configs in which the arms differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from composer.studies.comparison import Arm

#: Keys that say where a run lies and who it is, rather than what is computed.
IDENTITY = ("runs", "name", "group", "arm", "budget", "seed", "resume", "logger")

#: Arms whose configs are shown side by side, the best ones.
ARMS = 12

ABSENT = "—"


def differences(arms: tuple[Arm, ...]) -> dict[str, Any] | None:
    """A row for every key that differs, with the value in each arm; None if fewer than two arms can be compared."""
    shown = [arm for arm in arms if arm.runs][:ARMS]
    if len(shown) < 2:
        return None
    flat = [dict(flattened(arm.runs[0].config)) for arm in shown]
    keys = dict.fromkeys(key for config in flat for key in config)
    rows = [{"key": key, "values": [config.get(key, ABSENT) for config in flat]} for key in keys]
    rows = [row for row in rows if len(set(row["values"])) > 1]
    return {"arms": [arm.name for arm in shown], "rows": rows, "left_out": len(arms) - len(shown)}


def flattened(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """The values by their dotted keys, each as YAML on one line."""
    for key, value in config.items():
        if not before and key in IDENTITY:
            continue
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", in_yaml(value)


def in_yaml(value: Any) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    text = text.removesuffix("\n").removesuffix("\n...").strip()
    return json.dumps(value, ensure_ascii=False, default=str) if "\n" in text else text  # JSON is YAML, too
