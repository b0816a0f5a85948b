"""Sweeps as a user runs them, in forks of a process that has imported torch, and killed at chosen instants."""

import faulthandler
import json
import os
import runpy
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import optuna
import sqlalchemy
import torch
from torch.utils import _pytree as pytree

from composer.runs import checkpoint
from tests.support import processes
from tests.support.paths import ROOT
from tests.support.runs import logged

#: A trial of a second, with everything that has a state.
TINY = [
    "data=copy", "data.train_size=40", "data.valid_size=8", "data.length=4", "model.dim=8", "mixer=gru",
    "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1", "model.nodes.encoder.dropout=0.1",
    "training.steps=6", "training.batch=8", "training.validate_every=3", "training.checkpoint_every=2",
    "training.log_every=2", "training.decode_rows=4", "training.figures=false", "trainer.threads=1",
]  # fmt: skip


#: A sweep of four trials, two of which fail: their loss becomes infinite.
GRID = ["-m", *TINY, "seed=1,2", "optimiser.learning_rate=0.003,1e30"]


#: A search of five trials, of which the last ones can be pruned.
SEARCH = [
    "-m", *TINY, "search=tpe", "search.trials=5", "search.startup=2",
    "optimiser.learning_rate=tag(log,interval(1e-4,1e-1))", "model.nodes.encoder.dropout=0.0,0.1,0.2",
]  # fmt: skip

#: Seconds after which a program that hangs prints where, and ends.
HANGING = 220


@dataclass(frozen=True)
class Kill:
    """Sends a signal to this process before its ``change``-th change of a file whose path contains ``within``.

    Without ``within``, the statements that change an SQLite study count, too.
    """

    change: int
    within: str = ""
    number: int = signal.SIGKILL


def program(folder, arguments, kill=None):
    """train.py in a folder."""
    os.chdir(folder)
    faulthandler.dump_traceback_later(HANGING, exit=True)
    sys.argv = [str(ROOT / "train.py"), *arguments]
    if kill is not None:
        killer = _Killer(str(folder), kill)
        sys.addaudithook(killer.file)
        if any(word.startswith("search=") for word in arguments):
            sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", killer.statement)
    runpy.run_path(sys.argv[0], run_name="__main__")


class _Killer:
    """Counts the changes below a folder: everything that a later process can see of this one."""

    def __init__(self, folder, kill):
        self.folder, self.kill, self.seen = folder, kill, 0

    def file(self, event, arguments):
        writes = event == "open" and isinstance(arguments[1], str) and not arguments[1].startswith("r")
        if writes or event in ("os.rename", "os.mkdir"):
            path = os.path.abspath(arguments[0]) if isinstance(arguments[0], str | Path) else ""
            if path.startswith(self.folder) and self.kill.within in path:
                self.count()

    def statement(self, connection, cursor, statement, *_):
        if not self.kill.within and statement.startswith(("INSERT", "UPDATE")):
            self.count()

    def count(self):
        if self.seen == self.kill.change:
            os.kill(os.getpid(), self.kill.number)
        self.seen += 1


def run(folder, *arguments, kill=None):
    return processes.run(program, folder, list(arguments), kill)


def only(folder):
    """The only sweep below a folder."""
    (sweep,) = (folder / "runs").iterdir()
    return sweep


def facts(sweep):
    """run.json of every trial, by the folder's name."""
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(sweep.glob("*/run.json"))}


def assert_same_trials(found, wanted):
    """Two sweeps came to the same: the same trials, weights, optimiser states, metrics and results."""
    ours, theirs = facts(found), facts(wanted)
    assert sorted(ours) == sorted(theirs)
    for name in ours:
        for key in ("status", "reason", "result", "result_step", "trial", "overrides"):
            assert ours[name].get(key) == theirs[name].get(key), (name, key)
        if ours[name]["status"] != "failed":
            assert_same_state(found / name, wanted / name)


def assert_same_state(found, wanted):
    ours, theirs = (resumable(checkpoint.load(run / "checkpoints" / "last.safetensors")) for run in (found, wanted))
    assert list(ours) == list(theirs)
    for path, value in ours.items():
        same = torch.equal(value, theirs[path]) if isinstance(value, torch.Tensor) else value == theirs[path]
        assert same, path
    assert logged(found) == logged(wanted)


def resumable(state):
    """What a checkpoint keeps to resume from, by its path, without what depends on the clock."""
    kept = {key: state[key] for key in ("step", "model", "optimiser", "schedule", "ranks")}
    paths = {pytree.keystr(path): value for path, value in pytree.tree_flatten_with_path(kept)[0]}
    return {path: value for path, value in paths.items() if not path.endswith("['seconds']")}


def assert_same_search(found, wanted, storage):
    """Two searches came to the same: their trials, in the run folders and in Optuna's study."""
    assert_same_trials(found, wanted)
    assert studied(found, storage) == studied(wanted, storage)


def studied(sweep, storage):
    """What the Optuna study of a search says of its trials, without the clock."""
    if storage == "journal":
        place = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(sweep / "study.log")))
    else:
        place = f"sqlite:///{sweep / 'study.db'}"
    trials = optuna.load_study(study_name="search", storage=place).trials
    return [(trial.number, trial.params, trial.state.name, trial.value, trial.intermediate_values) for trial in trials]
