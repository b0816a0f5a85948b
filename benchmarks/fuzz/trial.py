"""What is done with one config. A config that is accepted has to work in every command; one that is not, a sentence.

Every step does what a command does, inside this process, so that thousands can be tried: a config is composed and
compiled once for ``describe``, for the laws of ``check`` and for the run.
"""

from __future__ import annotations

import contextlib
import copy
import io
import random
import re
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.fuzz.cases import OWN, Case
from benchmarks.fuzz.damage import damage
from composer.cli.main import main as command
from composer.cli.main import parsed, planned, show_graph
from composer.config.composition import Composed, compose
from composer.core.problems import UserError, user_errors
from composer.testing import LAWS, broken, graph_subject
from composer.training.run.plan import TrainingPlan
from composer.training.run.train import train

#: The seconds after which a step counts as one that hangs.
PATIENCE = 120

#: The shares of the accepted configs with which the steps are taken that cost the most.
SHARES = {"export": 0.03, "inspect": 0.03, "damage": 1.0}

#: The law that costs more than all others together: a share of the graphs is held to it.
COSTLY = "export"

#: A random graph need not be able to learn.
UNJUDGED = "signals"


#: The name of an exception before its message, which no refusal has: it says in our words what is wrong.
RAW = re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception)|CannotStream|StopIteration): ")

#: The steps or epochs of a run that is not shortened.
LONGEST = 5

#: What training says of a config that it cannot know to be hopeless.
DIVERGED = "is not finite at step"


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
    """
    accepted: whether the config was accepted by ``describe``
    done: the steps that were taken
    until: the last step to take, if not all are
    """

    accepted: bool = False
    done: list[str] = field(default_factory=list)
    failure: Failure | None = None
    until: str | None = None


class Hangs(BaseException):
    """Raised in the middle of a step that takes too long; not an Exception, so that nothing swallows it."""


class Wrong(Exception):
    """A step did not do what it has to."""


class Trial:
    """
    files: the folder of made files
    room: an empty folder for the runs of this trial
    until: the last step, which is taken even if only a share of the configs takes it
    """

    def __init__(self, files: Path, room: Path, until: str | None = None) -> None:
        self.files, self.room, self.until = files, room, until

    def run(self, case: Case) -> Result:
        result = Result(until=self.until)
        try:
            self._run(case, result)
        except _Failed as failed:
            result.failure = failed.failure
        except _Enough:
            pass
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
        where = ["--config-dir", str(config_dir), "--allow-paths"] if config_dir is not None else []
        draw = random.Random(case.luck)
        taken = {step for step, share in SHARES.items() if draw.random() < share} | {self.until}
        with _watched("describe", result):
            plan = _described([*where, "--", *words] if _odd(words) else [*where, *words])
            result.accepted = plan is not None
        if plan is None:
            return
        with _watched("check", result):
            _check(plan, [law for law in LAWS if law != COSTLY or "export" in taken])
        run = self.room / "runs" / "first"
        with _watched("train", result):
            values = {**plan.composed.values, "runs": str(run.parent), "name": run.name}
            if (plan.training.steps or 0) > LONGEST or (plan.training.epochs or 0) > LONGEST:  # as was asked for
                values["training"] = {**values["training"], "steps": 2, "epochs": None}
            try:
                _quietly(lambda: train(replace(plan.composed, values=values), quiet=True))
            except UserError as error:
                if not case.damaged or DIVERGED not in str(error):  # as with a learning rate of 10^22
                    raise
                return
        with _watched("resume", result):
            _resume(run)
        step = draw.choice(["evaluate", "predict", "generate"])
        if not plan.objective.size("valid"):
            step = "generate"  # there are no rows to predict or evaluate
        with _watched(step, result):
            _use(step, run)
        for step in ("inspect", "export"):
            if step in taken:
                with _watched(step, result):
                    _use(step, run)
        if "damage" in taken:
            with _watched("damage", result):
                _use_damaged(run, draw)


def _described(words: list[str]) -> TrainingPlan | None:
    """The plan of a config, or None if ``describe`` refuses it."""
    plans = []

    def run() -> int:
        options = parsed(["describe", *words])
        with user_errors():
            plans.append(planned(options, options.overrides))
            show_graph(plans[0], options)
        return 0

    return plans[0] if _Said.of(run).code == 0 else None


def _check(plan: TrainingPlan, laws: list[str]) -> None:
    """The laws, and with the law of causality a search for leaks in the data of the config, in both modes."""
    subject = graph_subject(plan.meta.materialise(0), batch=2, time=4, seed=0, objective=plan.objective)
    found = {law: problem for law, problem in broken(subject, laws).items() if problem and law != UNJUDGED}
    if found:
        raise Wrong("; ".join(f"BROKEN {law}: {problem}" for law, problem in found.items()))


def _resume(run: Path) -> None:
    composed = copy.deepcopy(_resuming(run))
    _quietly(lambda: train(composed, quiet=True))


@cache
def _resuming(run: Path) -> Composed:
    """The config of the command line alone: that of the run comes from its folder."""
    return compose([f"resume={run}", "training.steps=3", "training.epochs=null"])


def _use(step: str, run: Path) -> None:
    """Commands that take a run. Not every model generates, can be shown or can be exported."""
    extra = {"generate": ["a"], "export": ["--format", "torch"]}.get(step, [])
    said = _Said.of(lambda: command([step, str(run), *extra]))
    if said.code not in ((0,) if step in ("evaluate", "predict") else (0, 2)):
        raise Wrong(f"{step} ended with {said.code}: {said.text[-400:]}")


def _use_damaged(run: Path, draw: random.Random) -> None:
    """Use a run one of whose files is damaged: in every command, it goes on or is refused in a sentence."""
    what = damage(run, draw)
    step = draw.choice(["resume", "resume", "evaluate", "predict", "generate"])
    try:
        if step == "resume":
            with contextlib.suppress(UserError):
                _resume(run)
        else:
            said = _Said.of(lambda: command([step, str(run), *(["a"] if step == "generate" else [])]))
            if said.code not in (0, 2):
                raise Wrong(f"ended with {said.code}: {said.text[-400:]}")
    except Exception as error:
        error.add_note(f"{step}, after {what}")
        raise


class _Enough(Exception):
    """The last step has been taken."""


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
        if step == result.until:
            raise _Enough
    except _Enough:
        raise
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


@dataclass(frozen=True)
class _Said:
    """The exit code of a command and what it printed. A refusal has to say something, without a traceback."""

    code: int
    text: str

    @classmethod
    def of(cls, run: Callable[[], int]) -> _Said:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = run()
            except SystemExit as error:
                code = int(error.code or 0)
        if code and not err.getvalue().strip() and not out.getvalue().strip():
            raise Wrong(f"exit code {code} without a word")
        if "Traceback" in err.getvalue():
            raise Wrong(err.getvalue())
        if code == 2 and (raw := RAW.search(err.getvalue())) is not None:
            raise Wrong(f"a refusal with the error of Python {raw[0]}: {err.getvalue()[-400:]}")
        return cls(code, out.getvalue() + err.getvalue())


def _quietly(function: Callable[[], Any]) -> Any:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return function()
