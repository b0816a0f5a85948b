"""The values of the configs in which the arms differ."""

from __future__ import annotations

import json
from typing import Any

import yaml

from composer.studies.comparison import Arm
from composer.studies.records.arm_names import NEUTRAL
from composer.studies.records.fairness import flatten

#: Arms whose configs are shown side by side, the best ones.
ARMS = 12

ABSENT = "—"


def differences(arms: tuple[Arm, ...]) -> dict[str, Any] | None:
    """A row for every key that differs, with the value in each arm; None if fewer than two arms can be compared."""
    shown = [arm for arm in arms if arm.runs][:ARMS]
    if len(shown) < 2:
        return None
    configs = [{key: value for key, value in arm.runs[0].config.items() if key not in NEUTRAL} for arm in shown]
    flat = [{key: in_yaml(value) for key, value in flatten(config)} for config in configs]
    keys = dict.fromkeys(key for config in flat for key in config)
    rows = [{"key": key, "values": [config.get(key, ABSENT) for config in flat]} for key in keys]
    rows = [row for row in rows if len(set(row["values"])) > 1]
    return {"arms": [arm.name for arm in shown], "rows": rows, "left_out": len(arms) - len(shown)}


def in_yaml(value: Any) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    text = text.removesuffix("\n").removesuffix("\n...").strip()
    return json.dumps(value, ensure_ascii=False, default=str) if "\n" in text else text  # JSON is YAML, too
