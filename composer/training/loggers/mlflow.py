"""MLflow: metrics, parameters, samples, figures and checkpoints in a tracking store.

The store is a file beside the runs unless a server is named, and the client's own reports about its use are off.

A resumed run continues the same MLflow run. If steps are repeated after a resume, MLflow keeps both records of them.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

from composer.core.extras import need
from composer.core.problems import UserError
from composer.core.registry import register
from composer.training.loggers.logger import Logger, RunInfo, Status, as_table, best_metrics, flat, plain

FILE, LOCK, ARTIFACTS = "mlflow.db", "mlflow.db.lock", "mlflow_artifacts"
#: The tag by which a resumed run finds its record.
IDENTIFIER = "composer.identifier"
STATES: dict[Status, str] = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED", "pruned": "FINISHED"}
#: What MLflow takes in one call, and of one parameter.
AT_ONCE, LONGEST = 100, 6000


@register("logger", "mlflow")
class Mlflow(Logger):
    def __init__(
        self,
        *,
        experiment: str = "sequence-composer",
        uri: str | None = None,
        tags: dict[str, str] | None = None,
        artifacts: bool = True,
    ) -> None:
        need("mlflow", "logger=mlflow", "mlflow")
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read when the client is imported
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")  # of a server that is away: seconds, not minutes
        self.experiment = experiment
        self.uri = uri or os.environ.get("MLFLOW_TRACKING_URI")
        self.tags = tags
        self.artifacts = artifacts
        self.alive = True  # whether every call so far was answered

    def open(self, run: RunInfo) -> None:
        from alembic.util import CommandError
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        for name in ("mlflow", "alembic"):  # whose notices of a new store are of no use here
            logging.getLogger(name).setLevel(logging.ERROR)
        folder = Path(str(run.config.get("runs") or run.folder.parent)).absolute()
        store = folder / FILE
        self.step = run.resumed_from or 0
        # Of two processes that make the store at once, both would fail, and leave half of it.
        self.lock: AbstractContextManager[Any] = nullcontext() if self.uri else FileLock(folder / LOCK)
        try:
            with self.lock:
                self.client = MlflowClient(self.uri or f"sqlite:///{store}")
                self.run = self._begin(run, None if self.uri else (folder / ARTIFACTS).as_uri())
        except (MlflowException, SQLAlchemyError, CommandError) as error:
            what, advice = ("the server", "Start it") if self.uri else (f"'{store}'", "Move it away")
            raise UserError(
                f"logger.mlflow: {what} cannot be used: {_first_line(error)}\n"
                f"{advice}, set logger.mlflow.uri to another, or leave the logger out."
            ) from error
        if not self.uri:
            self._say(f"recorded in {store}; look at it with: mlflow ui --backend-store-uri sqlite:///{store}")

    def _begin(self, run: RunInfo, place: str | None) -> str:
        """The identifier that MLflow gives to a new run, or has given to a resumed one."""
        client = self.client
        experiment = self._experiment(place)
        if run.resumed_from is not None:
            known = client.search_runs([experiment], f"tags.`{IDENTIFIER}` = '{run.identifier}'", max_results=1)
            if known:
                client.update_run(known[0].info.run_id, status="RUNNING")
                return str(known[0].info.run_id)
        facts = {"group": run.group, "job_type": run.job_type, "untuned": run.untuned}
        tags = {IDENTIFIER: run.identifier, **{key: value for key, value in facts.items() if value}}
        begun = client.create_run(experiment, tags={**tags, **(self.tags or {})}, run_name=run.name).info.run_id
        self._parameters(begun, flat({**run.config, **run.size}))
        client.log_text(begun, yaml.safe_dump(run.config, sort_keys=False, allow_unicode=True), "config.yaml")
        if run.graph_svg is not None:
            client.log_text(begun, run.graph_svg, "graph.svg")
        return str(begun)

    def _experiment(self, place: str | None) -> str:
        from mlflow.exceptions import MlflowException

        if found := self.client.get_experiment_by_name(self.experiment):
            return str(found.experiment_id)
        try:
            return str(self.client.create_experiment(self.experiment, place))
        except MlflowException:  # another run of the same sweep was faster
            found = self.client.get_experiment_by_name(self.experiment)
            if found is None:
                raise
            return str(found.experiment_id)

    def _parameters(self, begun: str, values: Mapping[str, Any]) -> None:
        from mlflow.entities import Param

        each = [Param(_name(key), str(value)[:LONGEST]) for key, value in values.items()]
        for first in range(0, len(each), AT_ONCE):
            self.client.log_batch(begun, params=each[first : first + AT_ONCE])

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        self.step, now = step, int(1000 * time.time())
        each = [Metric(_name(name), float(value), now, step) for name, value in values.items()]
        self._attempt(lambda: self.client.log_batch(self.run, metrics=each))

    def samples(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        columns, cells = as_table(rows)
        table = {name: [plain(row[place]) for row in cells] for place, name in enumerate(columns)}
        self._attempt(lambda: self.client.log_table(self.run, table, f"samples/step_{step}.json"))

    def figure(self, name: str, path: Path, step: int) -> None:
        self._attempt(lambda: self.client.log_artifact(self.run, str(path), "figures"))

    def checkpoint(self, path: Path, aliases: Sequence[str]) -> None:
        if self.artifacts:
            self._attempt(lambda: self.client.log_artifact(self.run, str(path), "checkpoints"))

    def finish(self, status: Status, summary: Mapping[str, float]) -> None:
        if best := {name: value for name, value in best_metrics(summary).items() if name not in summary}:
            self.metrics(self.step, best)
        self._attempt(lambda: self.client.set_tag(self.run, "status", status))
        self._attempt(lambda: self.client.set_terminated(self.run, STATES[status]))

    def _attempt(self, act: Callable[[], object]) -> None:
        """Call the client. Its errors never end a training run: the first is printed, and training goes on without."""
        from mlflow.exceptions import MlflowException

        if self.alive:
            try:
                with self.lock:
                    act()
            except (MlflowException, OSError) as error:
                self.alive = False
                self._say(f"no longer reached, and the run goes on without it: {_first_line(error)}")

    def _say(self, text: str) -> None:
        print(f"MLflow: {text}", flush=True)


def _name(text: str) -> str:
    """A name of characters that MLflow takes."""
    return re.sub(r"[^\w. :/-]", "_", text)


def _first_line(error: Exception) -> str:
    """Later lines are a statement in SQL and links."""
    return str(error).strip().partition("\n")[0]
