"""A sweep: many runs from one command line, each in its own folder, with a table at the end.

A run that fails is recorded with its reason, and the sweep continues. This module does not import torch, because Hydra
imports the module for every command.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from composer.core.files import write_text
from composer.core.problems import UserError
from composer.training.run.folder import RunFolder

if TYPE_CHECKING:
    from composer.config.composition import Composed


def trial(compose: Any, folder: Path, script: str, overrides: list[str]) -> None:
    """One run of a sweep. Its errors are recorded and do not end the sweep; a signal to stop does."""
    place = RunFolder(folder)
    try:
        composed: Composed = compose()
        composed.values |= {"runs": str(folder.parent), "name": folder.name, "group": folder.parent.name}
        if composed.values["trainer"].get("strategy") == "single":
            from composer.training.run.train import train

            code = train(composed, brief=True).exit_code
        else:  # every process of a distributed run starts this program again, with a single run as its command line
            own = [f"runs='{folder.parent}'", f"name='{folder.name}'", f"group='{folder.parent.name}'"]
            code = subprocess.run([sys.executable, script, *overrides, *own], check=False).returncode
            if code == 2:
                raise UserError("see what it said above")
    except UserError as error:
        print(f"{folder.name}: {error}", file=sys.stderr, flush=True)
        fail(place, overrides, str(error))
    except Exception as error:
        text = traceback.format_exc()
        print(text, file=sys.stderr, flush=True)
        fail(place, overrides, f"{type(error).__name__}: {error}")
        with place.log.open("a", encoding="utf-8") as log:
            log.write(text)
    else:
        if code not in (0, 2):
            raise SystemExit(code)  # a signal stopped the run, so the sweep stops too


def fail(place: RunFolder, overrides: list[str], reason: str) -> None:
    place.path.mkdir(parents=True, exist_ok=True)
    place.note({"overrides": overrides, "status": "failed", "reason": reason})


class Results(Callback):
    """The Hydra callback that writes and prints the table at the end of a sweep."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        folder = Path(config.hydra.sweep.dir)
        rows = results(folder)
        write_text(folder / "results.json", json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        print(f"\n{table(rows)}\n\nsweep     {folder}", flush=True)
        if any(row["status"] != "finished" for row in rows):
            raise SystemExit(1)


def results(folder: Path) -> list[dict[str, Any]]:
    """The status and the result of every run of a sweep, in the order of the runs."""
    found = [RunFolder(path.parent) for path in folder.glob("*/run.json")]
    rows = []
    for run in sorted(found, key=lambda run: int(run.path.name.partition("_")[0])):
        facts = run.read_facts()
        keys = ("status", "reason", "seconds")
        rows.append(
            {
                "run": run.path.name,
                "overrides": varied(facts.get("overrides", [])),
                **{key: facts.get(key) for key in keys},
                "result": facts.get("result", {}),
                "result_step": facts.get("result_step"),
            }
        )
    return rows


def varied(overrides: list[str]) -> list[str]:
    """The user's overrides, without those that the sweep adds."""
    return [override for override in overrides if not override.startswith(("hydra.", "runs=", "name=", "group="))]


def table(rows: list[dict[str, Any]]) -> str:
    """The runs with the metrics of their best checkpoints, sorted by validation loss, failed runs last.

    The column ``step`` is the step of the best checkpoint.
    """
    names = list(dict.fromkeys(name for row in rows for name in row["result"]))[:6]
    head = ["run", *(name.removeprefix("valid/") for name in names), "step", "seconds", ""]
    first = names[0] if names else ""

    def rank(row: dict[str, Any]) -> tuple[bool, float]:
        judged = row["result"].get(first, math.inf)
        return row["status"] != "finished", math.inf if math.isnan(judged) else judged

    lines = [head]
    for row in sorted(rows, key=rank):
        figures = [f"{row['result'][name]:.4g}" if name in row["result"] else "" for name in names]
        step = f"{row['result_step']:,}" if row["result"] else ""
        seconds = f"{row['seconds']:.0f}" if row["seconds"] is not None else ""
        reason = "" if row["status"] == "finished" else f"{row['status']}: {shortened(row['reason'] or '')}"
        lines.append([row["run"], *figures, step, seconds, reason])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in (0, len(head) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def shortened(reason: str, width: int = 100) -> str:
    """The reason of a failure in one line, without its heading and cut to ``width`` characters."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    text = " ".join(lines[1:]) if len(lines) > 1 and lines[0].endswith(":") else " ".join(lines)
    return text if len(text) <= width else text[: width - 3] + "..."
