"""A report on W&B about the runs of a sweep or a study, which were logged there with the name of the sweep as group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from composer.core.extras import extra
from composer.core.problems import UserError
from composer.metrics import LOSS
from composer.runs.sweep_folder import SweepFolder
from composer.studies.comparison import Comparison, compare
from composer.studies.records.arms import costs
from composer.training.loggers.logger import TRAIN
from composer.training.run.record import TEST, on_split


def wandb_report(path: str | Path) -> str:
    """Make the report of a sweep in the W&B project of its runs, and return the report's address."""
    folder = SweepFolder.find(path)
    record, place = folder.read_record(), _place(folder)
    reports = extra("wandb_workspaces.reports.v2", "a report on W&B", "wandb_report")
    import wandb

    _check_login()
    metrics = (final_metric(folder, record.judged), record.judged)
    arms = ["config.arm"] if record.kind == "study" else []
    runs = reports.Runset(name=folder.path.name, filters=f"Group = '{folder.path.name}'", groupby=arms, **place)
    report = reports.Report(
        title=f"{record.kind.capitalize()} {folder.path.name}",
        description=" ".join(["python train.py -m", *record.arguments]),
        blocks=[
            *_findings(reports, folder),
            reports.PanelGrid(runsets=[runs], panels=_panels(reports, *metrics, _varied(folder))),
        ],
        **place,
    )
    try:
        report.save()
    except (ValueError, wandb.errors.Error) as error:  # such as a project that does not exist
        raise UserError(f"W&B refuses the report: {error}") from error
    return report.url


def _findings(reports: Any, folder: SweepFolder) -> list[Any]:
    """The answer of the comparison in sentences, with the arms that are not tuned, and the table of arms; nothing
    without a finished run."""
    try:
        comparison = compare([folder.path])
    except UserError:
        return []
    sentences = [comparison.sentence, *comparison.answers, *comparison.warnings]
    return [*map(reports.P, sentences), reports.MarkdownBlock(text=arms_in_markdown(comparison))]


def arms_in_markdown(comparison: Comparison) -> str:
    """The arms, best first, with their quality and costs, as a table of Markdown."""
    shown = costs("wandb")
    rows = [
        [arm.name, quality, *(cost.cell(arm.cost(cost)) for cost in shown)]
        for arm, quality in zip(comparison.arms, comparison.shown(comparison.judged), strict=True)
    ]
    heads = ["arm", comparison.judged, *(cost.heading or cost.label for cost in shown)]
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (heads, *rows)]
    lines.insert(1, ["---"] * len(heads))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _panels(reports: Any, final: str, judged: str, varied: Sequence[str]) -> list[Any]:
    """The final metric of every run or arm, learning curves, and the validation metric against the swept values."""
    columns = [reports.ParallelCoordinatesPlotColumn(reports.Config(key)) for key in varied]
    columns.append(reports.ParallelCoordinatesPlotColumn(reports.SummaryMetric(judged)))
    return [
        *(reports.BarPlot(metrics=[metric]) for metric in dict.fromkeys((final, judged))),
        reports.LinePlot(x="step", y=[judged]),
        reports.LinePlot(x="step", y=[f"{TRAIN}{LOSS}"]),
        reports.ParallelCoordinatesPlot(columns=columns),
        reports.RunComparer(diff_only=True),
    ]


def final_metric(folder: SweepFolder, judged: str) -> str:
    """The judged metric on the test split if all final runs have it there, as ``compare`` judges, else as it is."""
    known = [run.read_record() for run in folder.runs()]
    final = [each for each in known if each.status == "finished" and each.phase != "tuning"]
    tested = on_split(judged, TEST)
    values = [each.test.get(tested.removeprefix(TEST), {}).get("value") for each in final]
    return tested if values and None not in values else judged


def _varied(folder: SweepFolder) -> list[str]:
    """The keys that the trials differ in, as their configs name them."""
    known = (run.read_record().parameters for run in folder.runs())
    return list(dict.fromkeys(key.partition("@")[2] or key for parameters in known for key in parameters))


def _place(folder: SweepFolder) -> dict[str, str]:
    """The W&B project of a sweep's runs, and the entity, if their config names one."""
    for run in folder.runs():
        if run.config.is_file():
            loggers = yaml.safe_load(run.config.read_text(encoding="utf-8")).get("logger") or {}
            if "wandb" in loggers:
                return {key: loggers["wandb"][key] for key in ("project", "entity") if loggers["wandb"].get(key)}
    raise UserError(f"no run of '{folder.path}' was logged to W&B. Add logger=wandb to the sweep's arguments.")


def _check_login() -> None:
    import wandb
    from wandb.errors import AuthenticationError
    from wandb.sdk.lib import wbauth

    host = wandb.setup().settings.base_url
    try:
        key = wbauth.authenticate_session(host=host, source="report", prompt=False, update_session=False)
    except AuthenticationError as error:
        raise UserError(f"the W&B login cannot be used: {error}") from error
    if key is None:
        raise UserError(f"a report on W&B needs a login, but nobody is logged in to {host}. Run `wandb login`.")
