"""The records of a W&B run in its folder, read by the client itself."""

import json
import subprocess
import sys


def recorded(folder):
    """The runs in a folder, each a list of records, read by the client itself."""
    runs = sorted((folder / "wandb").glob("*run-*"), key=lambda path: path.stat().st_ctime_ns)
    return [records(run) for run in runs]


def records(run):
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(run)]
    lines = subprocess.run(command, cwd=run, capture_output=True, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def history(run, *names):
    rows = [record["history"]["item"] for record in run if record["type"] == "history"]
    return [tuple(row[name] for name in names) for row in rows if all(name in row for name in names)]


def begun(run):
    return next(record["run"] for record in run if record["type"] == "run")
