"""The sweep of a command line: which folder it is in, which trials it has, and how they are launched."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, read_write

from composer.core.problems import UserError
from composer.core.storage.folder_names import name_problem, path_problem
from composer.core.storage.json_output import SIGNALLED, events
from composer.runs.lock import attending
from composer.runs.staging import is_free
from composer.runs.sweep_folder import SweepFolder
from composer.studies.formatting import count
from composer.studies.planning.trial import DONE
from composer.studies.sweep.job import handling_signals
from composer.studies.sweep.kinds import load_trials, plan_sweep
from composer.studies.sweep.sweep_loop import SweepLoop
from composer.studies.sweep.sweep_progress import SweepProgress
from composer.studies.sweep.trials import Trials

#: The environment variable with the file into which the sweep's folder is written, for the program that started it.
FOUND = "SEQUENCE_COMPOSER_SWEEP"


@dataclass
class CommandLineSweep:
    """What Hydra gives a sweeper: the composed config, the means to compose more, and the job of train.py."""

    config: DictConfig
    context: HydraContext
    function: TaskFunction

    def run(self, arguments: Sequence[str]) -> None:
        """Train all trials of a sweep, a new one or one that was begun before."""
        folder = self.open_folder(list(arguments))
        folder.check_links()
        if (answer := os.environ.get(FOUND)) is not None:
            Path(answer).write_text(str(folder.path.resolve()), encoding="utf-8")
        for run in folder.runs():
            run.check_links()
        trials = load_trials(folder, self.context.config_loader)
        with read_write(self.config):
            self.config.hydra.sweep.dir = str(folder.path)  # where Hydra's callbacks look for it
        launcher = self.launcher()
        folder.update_record(status="running", trials=trials.total)
        print(opening(folder, trials), flush=True)
        if (stream := events.get()) is not None:
            stream.write("planned", **plan_data(folder, trials))
        try:
            with attending(folder.path), exit_at_signals(), SweepProgress(folder, trials.total, at_most=trials.at_most):
                SweepLoop(folder, trials, launcher, at_once(launcher, trials)).run()
        except SystemExit:
            folder.update_record(status="stopped")
            print(stopped(folder, trials), flush=True)
            raise  # events end with this one's exit code
        # The sweep is finished by the last step of its ending: sweep_results.py, which Hydra calls after this sweeper.

    def open_folder(self, arguments: list[str]) -> SweepFolder:
        """The folder of the sweep to go on with, or a new one.

        With ``resume=`` it is the sweep in this folder; with ``name=`` the sweep of this name; otherwise the newest
        sweep of the same arguments that was not finished.
        """
        own, rest = self.separate(arguments)
        if "resume" in own:
            if rest or "name" in own:
                extra = rest[0] if rest else f"name={own['name']}"
                raise UserError(f"command line: {extra}\n  a sweep goes on as it was begun. Leave it out.")
            return SweepFolder.find(own["resume"])
        runs = self.config.get("runs")
        given_text("runs", f"runs={runs}", runs)
        place = Path(str(self.config.hydra.sweep.dir))
        if "name" in own:
            folder = SweepFolder(place.parent / own["name"])
            if is_free(folder.path):
                return self.begin(folder.path, rest)
            if folder.record_file.is_file() and (folder.waits_for(rest) or self.extends(folder, rest)):
                return folder
            raise UserError(f"name={own['name']}: there is a '{folder.path}' already. Choose another name.")
        found = SweepFolder.unfinished(place.parent, rest)
        if found is None:
            return self.begin(place, rest)
        print(
            f"goes on with the unfinished sweep {found.path}, which has the same arguments. "
            "To begin another one, give it a name: name=...",
            flush=True,
        )
        return found

    def separate(self, arguments: list[str]) -> tuple[dict[str, str], list[str]]:
        """The arguments that concern the sweep as a whole, by their keys, and those of its trials."""
        own, rest = {}, []
        parser = OverridesParser.create(config_loader=self.context.config_loader)
        for text, override in zip(arguments, parser.parse_overrides(arguments), strict=True):
            key = override.key_or_group
            if key not in ("resume", "name"):
                rest.append(text)
            elif override.is_sweep_override():
                raise UserError(f"command line: {text}\n  a sweep has one {key}, and names its trials itself.")
            else:
                own[key] = given_text(key, text, override.value())
        return own, rest

    def extends(self, folder: SweepFolder, arguments: list[str]) -> bool:
        """Whether a search that was begun before has the same arguments and fewer trials, which are then made more."""
        record, more = folder.read_record(), int(self.config.get("search", {}).get("trials", 0))
        if record.search is None or _without_count(arguments) != _without_count(record.arguments):
            return False
        if more <= record.search["settings"]["trials"]:
            return False
        record.search["settings"]["trials"] = more
        folder.update_record(arguments=arguments, search=record.search, status="running")
        return True

    def launcher(self) -> Launcher:
        return Plugins.instance().instantiate_launcher(
            hydra_context=self.context, task_function=self.function, config=self.config
        )

    def begin(self, path: Path, arguments: list[str]) -> SweepFolder:
        self.launcher()  # errors of its settings, before anything is written
        return SweepFolder.create(path, plan_sweep(self.config, self.context.config_loader, arguments))


def given_text(key: str, written: str, value: object) -> str:
    """The name or the folder of a sweep, from the command line."""
    problem: str | None = f"expected a text, found {value!r}."
    if isinstance(value, str | int | float):
        problem = name_problem(str(value)) if key == "name" else path_problem(str(value))
    if problem is not None:
        raise UserError(f"command line: {written!r:.100}\n  {problem}")
    return str(value)


def at_once(launcher: Launcher, trials: Trials) -> int | None:
    """How many trials a launcher is given at once; None for as many as it asks for.

    Hydra's basic launcher runs trials one after the other. Launchers that do not know how many jobs can run at the same
    time would otherwise ask a search for all of its trials before the first result.
    """
    if type(launcher).__name__ == "BasicLauncher":  # Hydra's own, whose class is private
        return 1
    return None if getattr(launcher, "knows_room", False) else trials.batch


def _without_count(arguments: list[str]) -> list[str]:
    return [argument for argument in arguments if not argument.startswith("search.trials=")]


@contextmanager
def exit_at_signals() -> Iterator[None]:
    """Between trainings, Ctrl-C and SIGTERM raise SystemExit with the exit code of a program that a signal ended."""

    received: list[int] = []

    def leave(number: int) -> None:
        received.append(number)
        raise SystemExit(SIGNALLED + number)

    with handling_signals(leave):
        try:
            yield
        except SystemExit as stop:  # with another code, if the signal arrived within Ray
            raise SystemExit(SIGNALLED + received[0] if received else stop.code) from None


def extent(folder: SweepFolder, trials: Trials) -> tuple[int, str]:
    """How many trials are done, and the number of all in words."""
    done = sum(run.read_record().status in DONE for run in folder.runs())
    return done, f"{'at most ' if trials.at_most else ''}{count(trials.total, 'trial')}"


def plan_data(folder: SweepFolder, trials: Trials) -> dict[str, Any]:
    """What an event says of a sweep that begins, or goes on."""
    record = folder.read_record()
    return {
        "folder": str(folder.path), "kind": record.kind, "trials": trials.total,
        "at_most": trials.at_most, "done": extent(folder, trials)[0],
        "metric": record.judged, "direction": record.direction,
    }  # fmt: skip


def opening(folder: SweepFolder, trials: Trials) -> str:
    """What is about to be trained, and how to interrupt it."""
    done, whole = extent(folder, trials)
    begun = f", {done} done" if done else ""
    return (
        f"a {folder.read_record().kind} of {whole} in {folder.path}{begun}\n"
        "Ctrl-C saves and stops it, and the same command goes on with it.\n"
    )


def stopped(folder: SweepFolder, trials: Trials) -> str:
    """How much is done, and the command that goes on."""
    done, whole = extent(folder, trials)
    path = os.path.relpath(folder.path)
    where = path if not path.startswith("..") else str(folder.path.resolve())
    settings = [word for word in sys.argv[1:] if word.startswith(("hydra/", "hydra.", "--config-dir="))]
    if "--config-dir" in sys.argv[:-1]:
        settings += ["--config-dir", sys.argv[sys.argv.index("--config-dir") + 1]]
    command = shlex.join(["python", "train.py", "-m", f"resume={where}", *settings])
    return f"\nstopped, and saved, with {done} of {whole} done. Go on with:\n  {command}"
