"""Many runs from one command line: each in its own folder, one that fails recorded with its reason, a table at the end.

Torch is imported by the runs, not here: Hydra imports this for every command.
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
    """One run of a sweep. Whatever happens in it stays in it, except that somebody asked to stop."""
    place = RunFolder(folder)
    try:
        composed: Composed = compose()
        composed.values |= {"runs": str(folder.parent), "name": folder.name, "group": folder.parent.name}
        if composed.values["trainer"].get("strategy") == "single":
            from composer.training.run.train import train

            code = train(composed, brief=True).exit_code
        else:  # several processes begin the program anew, and must find one run in it, not a sweep
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
            raise SystemExit(code)  # stopped: the sweep is, too


def fail(place: RunFolder, overrides: list[str], reason: str) -> None:
    place.path.mkdir(parents=True, exist_ok=True)
    place.note({"overrides": overrides, "status": "failed", "reason": reason})


class Results(Callback):
    """Hydra calls this at the end of a sweep."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        folder = Path(config.hydra.sweep.dir)
        rows = results(folder)
        write_text(folder / "results.json", json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        print(f"\n{table(rows)}\n\nsweep     {folder}", flush=True)
        if any(row["status"] != "finished" for row in rows):
            raise SystemExit(1)


def results(folder: Path) -> list[dict[str, Any]]:
    """What became of every run of a sweep, in their order."""
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
    """Without what the sweep itself says."""
    return [override for override in overrides if not override.startswith(("hydra.", "runs=", "name=", "group="))]


def table(rows: list[dict[str, Any]]) -> str:
    """The runs with the figures of their best checkpoints, best first by their validation loss, those that failed last.

    The column ``step`` says when the best checkpoint was saved.
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
    """The first thing that is wrong."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    text = " ".join(lines[1:]) if len(lines) > 1 and lines[0].endswith(":") else " ".join(lines)
    return text if len(text) <= width else text[: width - 3] + "..."
