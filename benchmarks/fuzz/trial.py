"""What is done with one config. A config that is accepted has to work in every command; one that is not, a sentence.

Every step is a command as a user types it, inside this process, so that thousands can be tried.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz.cases import OWN, Case
from composer.cli.main import main as command
from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core.problems import UserError
from composer.testing.leaks import find_leak
from composer.training.run.train import train

#: The seconds after which a step counts as one that hangs.
PATIENCE = 120


@dataclass(frozen=True)
class Failure:
    """
    step: what was done with the config: describe, check, train, resume, ...
    sign: by what a failure is recognised as another's twin: the exception and the place in our code
    """

    step: str
    sign: str
    details: str


@dataclass
class Result:
    """accepted: whether the config was accepted by ``describe``; done: the steps that were taken"""

    accepted: bool = False
    done: list[str] = field(default_factory=list)
    failure: Failure | None = None


class Hangs(BaseException):
    """Raised in the middle of a step that takes too long; not an Exception, so that nothing swallows it."""


class Wrong(Exception):
    """A step did not do what it has to."""


class Trial:
    """
    files: the folder of made files
    room: an empty folder for the runs of this trial
    draw: decides which of the expensive steps are taken
    """

    def __init__(self, files: Path, room: Path, draw: random.Random) -> None:
        self.files, self.room, self.draw = files, room, draw

    def run(self, case: Case) -> Result:
        result = Result()
        try:
            self._run(case, result)
        except _Failed as failed:
            result.failure = failed.failure
        finally:
            shutil.rmtree(self.room, ignore_errors=True)
        return result

    def _run(self, case: Case, result: Result) -> None:
        self.room.mkdir(parents=True, exist_ok=True)
        words, config_dir = case.words(self.files), None
        if case.experiment is not None:
            config_dir = self.room / "conf"
            (config_dir / "experiment").mkdir(parents=True)
            text = case.experiment.replace("FILES", str(self.files))
            (config_dir / "experiment" / f"{OWN}.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
        where = ["--config-dir", str(config_dir)] if config_dir is not None else []
        with _watched("describe", result):
            code = _command(["describe", *where, "--", *words] if _odd(words) else ["describe", *where, *words])
        result.accepted = code == 0
        if not result.accepted:
            return
        with _watched("leak", result):
            self._look_for_leaks(words, config_dir)
        if self.draw.random() < 0.05:
            with _watched("check", result):
                _command(["check", *where, *words])
                broken = [line for line in _command.said.splitlines() if line.startswith("BROKEN")]  # type: ignore[attr-defined]
                if any(line.split()[1] != "signals" for line in broken):  # random graphs need not be able to learn
                    raise Wrong("; ".join(broken))
        run = self.room / "runs" / "first"
        with _watched("train", result):
            composed = compose([*words, f"runs={run.parent}", "name=first"], config_dir)
            _quietly(lambda: train(composed, quiet=True))
        steps = ["resume", "evaluate", "predict", "generate", "inspect"]
        for step in self.draw.sample(steps, k=2):
            with _watched(step, result):
                self._use(step, run, config_dir)
        if self.draw.random() < 0.03:
            with _watched("export", result):
                _expect(_command(["export", str(run), "--format", "torch"]), (0, 2), "export")

    def _use(self, step: str, run: Path, config_dir: Path | None) -> None:
        if step == "resume":
            composed = compose([f"resume={run}", "training.steps=3", "training.epochs=null"], config_dir)
            _quietly(lambda: train(composed, quiet=True))
        elif step == "generate":
            _expect(_command(["generate", str(run), "a"]), (0, 2), step)  # not every model generates
        else:
            _expect(_command([step, str(run)]), (0, 2) if step == "inspect" else (0,), step)

    def _look_for_leaks(self, words: list[str], config_dir: Path | None) -> None:
        graph, objective = compile_config(compose(words, config_dir))
        if leak := find_leak(graph.materialise().double().eval(), objective):
            raise Wrong(leak)


class _Failed(Exception):
    def __init__(self, failure: Failure) -> None:
        self.failure = failure


@contextlib.contextmanager
def _watched(step: str, result: Result) -> Iterator[None]:
    """Note the step, and turn whatever it raises into a failure: refusals belong into ``describe``."""

    def ring(*_: object) -> None:
        raise Hangs(f"{step} takes more than {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
        result.done.append(step)
    except (Exception, Hangs, SystemExit) as error:  # this is a fuzzer: whatever is raised is what it looks for
        if isinstance(error, UserError):
            sign = f"refused after it was accepted: {' '.join(str(error).split())[:120]}"
        else:
            sign = _sign(error)
        raise _Failed(Failure(step, sign, "".join(traceback.format_exception(error))[-6000:])) from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _sign(error: BaseException) -> str:
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if "/composer/" in f.filename or "/blocks/" in f.filename
    ]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "outside"
    return f"{type(error).__name__} in {place}: {' '.join(str(error).split())[:80]}"


def _odd(words: list[str]) -> bool:
    return any(word.startswith("-") for word in words)


def _command(words: list[str]) -> int:
    """The exit code of a command; its output is dropped, except that a refusal has to say something."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = command(words)
        except SystemExit as error:
            code = int(error.code or 0)
    if code and not err.getvalue().strip() and not out.getvalue().strip():
        raise Wrong(f"exit code {code} without a word")
    if "Traceback" in err.getvalue():
        raise Wrong(err.getvalue())
    _command.said = out.getvalue() + err.getvalue()  # type: ignore[attr-defined]
    return code


def _expect(code: int, wanted: tuple[int, ...], step: str) -> None:
    if code not in wanted:
        raise Wrong(f"{step} ended with {code}: {_command.said[-400:]}")  # type: ignore[attr-defined]


def _quietly(function: Callable[[], Any]) -> Any:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return function()
