"""Weights & Biases (W&B). For a user who is logged in, the run is uploaded live. Otherwise the run is recorded offline
in its folder, without any prompt or network traffic, and ``wandb sync`` can upload it later.

A resumed run continues the same W&B run. If steps are repeated after a resume, W&B keeps both records of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from composer.core.block import Scale
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.training.loggers.logger import Logger, RunInfo, Status, as_table, plain

STEP = "step"
#: The exit codes that W&B shows; 255 is that of an interrupted run.
EXIT_CODES: dict[Status, int] = {"finished": 0, "failed": 1, "stopped": 255, "pruned": 0}


@register("logger", "wandb")
class Wandb(Logger):
    def __init__(
        self,
        *,
        project: str = "sequence-composer",
        mode: Literal["auto", "online", "offline"] = "auto",
        entity: str | None = None,
        group: str | None = None,
        job_type: str | None = None,
        tags: list[str] | None = None,
        artifacts: bool = True,
        init_timeout: Scale = 15,
        finish_timeout: Scale = 600,
    ) -> None:
        # The W&B client sends reports about itself, even from offline runs. It reads this variable when it starts.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        self.project = project
        self.entity = entity
        self.group = group
        self.job_type = job_type
        self.tags = tags
        self.artifacts = artifacts
        self.init_timeout = init_timeout
        self.finish_timeout = finish_timeout
        self.mode = self._mode(mode)
        self.reachable = True  # whether the server has answered so far
        self.alive = True  # whether the client's process runs

    def _mode(self, mode: str) -> str:
        """The W&B mode: online only if this machine stores a login. Never prompts and never contacts the server."""
        if mode == "offline":
            return mode
        asked = mode if mode == "online" else os.environ.get("WANDB_MODE")
        if asked in ("offline", "dryrun", "disabled"):
            return "disabled" if asked == "disabled" else "offline"
        if asked not in (None, "", "online", "run"):
            raise Invalid("mode", f"the environment has WANDB_MODE={asked}. Set that to online, offline or disabled.")
        from wandb.errors import AuthenticationError
        from wandb.sdk.lib import wbauth

        host = _setup().settings.base_url
        try:
            key = wbauth.authenticate_session(host=host, source="logger", prompt=False, update_session=False)
        except AuthenticationError as error:
            raise Invalid("mode", f"the W&B login cannot be used: {error} Mend it, or set it to offline.") from error
        if key is None and asked:
            raise Invalid("mode", f"is online, but nobody is logged in to {host}. Run `wandb login`, or use offline.")
        return "online" if key is not None else "offline"

    def open(self, run: RunInfo) -> None:
        import wandb

        _setup()
        if self.mode == "online":
            try:
                self.run = self._begin(run, "online")
            except wandb.errors.CommError as error:
                wandb.teardown()  # otherwise the client keeps the run that could not start
                _setup()
                self.mode = "offline"
                self._say(f"not reached in {self.init_timeout:g} s, going on offline: {_last_line(error)}")
        if self.mode != "online":
            self.run = self._begin(run, self.mode)
        self.folder = Path(self.run.settings.sync_dir)
        self.name = f"model-{run.identifier}"
        self.run.define_metric(STEP, hidden=True)
        self.run.define_metric("*", step_metric=STEP)
        if run.graph_svg is not None and run.resumed_from is None:
            self.run.log({"graph": wandb.Html(run.graph_svg, inject=False), STEP: 0})
        if self.mode == "offline":
            self._say(f"recorded offline; send it with: wandb sync {self.folder}")
        elif self.mode == "online":
            self._say(str(self.run.url))

    def _begin(self, run: RunInfo, mode: Any) -> Any:
        import wandb

        return wandb.init(
            dir=run.folder,
            mode=mode,
            id=_identifier(run),
            resume="allow",
            name=run.name,
            project=self.project,
            entity=self.entity,
            group=self.group or run.group,
            job_type=self.job_type or run.job_type,
            tags=self.tags,
            config={**run.config, **run.size, **_study(run)},  # with seed, arm and budget, by which W&B can group runs
            reinit="finish_previous",  # a second run in the same process does not continue the first
            settings=wandb.Settings(
                silent=True,
                console="off",  # the terminal belongs to the progress bar
                init_timeout=self.init_timeout,
                finish_timeout=self.finish_timeout,
                finish_timeout_raises=True,
            ),
        )

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._attempt(lambda: self.run.log({**values, STEP: step}))

    def samples(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        import wandb

        columns, cells = as_table(rows)
        data = [[plain(cell) for cell in row] for row in cells]
        if self.reachable:  # W&B uploads a table as an artifact, which waits for the server
            table = wandb.Table(columns=[*columns], data=data, allow_mixed_types=True)
            self._attempt(lambda: self.run.log({"samples": table, STEP: step}))

    def figure(self, name: str, path: Path, step: int) -> None:
        import wandb

        vector = path.suffix == ".svg"
        shown = wandb.Html(path.read_text(encoding="utf-8"), inject=False) if vector else wandb.Image(str(path))
        self._attempt(lambda: self.run.log({name: shown, STEP: step}))

    def checkpoint(self, path: Path, aliases: Sequence[str]) -> None:
        import wandb

        if self.artifacts and self.reachable and self.alive and self.mode != "disabled":
            artifact = wandb.Artifact(self.name, type="model")
            artifact.add_file(str(self._keep(path)), name=path.name, policy="immutable", skip_cache=True)
            self._attempt(lambda: self.run.log_artifact(artifact, aliases=list(aliases)))

    def _keep(self, path: Path) -> Path:
        """Keep the file's present content in the run's folder until it is uploaded.

        Without this, the client would copy the file to the user's home. A hard link needs no space, and keeps the
        content when a newer checkpoint is renamed over the original path.
        """
        folder = self.folder / "checkpoints"
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / f"{len(list(folder.iterdir()))}_{path.name}"
        try:
            os.link(path, kept)
        except OSError:  # a file system without hard links
            shutil.copyfile(path, kept)
        return kept

    def finish(self, status: Status, summary: Mapping[str, float]) -> None:
        import wandb

        self._attempt(lambda: self.run.summary.update(dict(summary)))
        self._attempt(lambda: self.run.finish(exit_code=EXIT_CODES[status]))
        if not self.alive:
            with suppress(ConnectionError):  # the client's process is gone; the next run has to start a new one
                wandb.teardown()

    def _attempt(self, act: Callable[[], object]) -> None:
        """Call the W&B client. Its errors never end a training run: they are printed once, and training continues."""
        import wandb
        from wandb.sdk.mailbox import HandleAbandonedError

        if not self.alive:
            return
        try:
            act()
        except TimeoutError:
            self._say(f"not everything was sent in {self.finish_timeout:g} s; the rest: wandb sync {self.folder}")
        except wandb.Error as error:  # further uploads would each wait for the server as long as this one did
            self.reachable = False
            self._say(f"no more tables and checkpoints in this run: {_last_line(error)}")
        except (ConnectionError, HandleAbandonedError):
            self.alive = False
            self._say(f"its client has died, and the run goes on without it. What it had: {self.folder}")

    def _say(self, text: str) -> None:
        print(f"W&B: {text}", flush=True)


def _setup() -> Any:
    """The W&B client with its own output turned off; this logger prints one-line messages instead."""
    import wandb

    return wandb.setup(wandb.Settings(silent=True))


def _study(run: RunInfo) -> dict[str, str]:
    """The phase of a study that a run belongs to, and whether its arm is tuned: without, there is no verdict on it."""
    found = {"phase": run.phase} if run.phase is not None else {}
    return found | ({"tuned": f"no: {run.untuned}" if run.untuned else "yes"} if run.untuned is not None else {})


def _identifier(run: RunInfo) -> str:
    """The run's identifier, or that which an agent of a W&B sweep has reserved for the run."""
    return os.environ.get("WANDB_RUN_ID", run.identifier) if "WANDB_SWEEP_ID" in os.environ else run.identifier


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]
