"""The command evaluate. It imports torch only when it runs: help is quick."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.cli.model_contents import beside
from composer.cli.options import (
    LENGTHS,
    WHOLE,
    at_least,
    chosen,
    data_options,
    json_option,
    loaded,
    note_files,
    option_errors,
    print_json,
    run_options,
    setting_options,
)
from composer.core.problems import UserError, suggest

if TYPE_CHECKING:
    from composer.inference.model import Model
    from composer.metrics.details import HeadDetails


#: The options of composer.inference.data_evaluation.evaluate_data.
EVALUATION: dict[str, dict[str, Any]] = {
    "--rows": {**WHOLE, "help": "N examples, drawn at random (default: all)"},
    "--decode-rows": {**WHOLE, "help": "decode only the first N of these examples"},
    "--beams": {**WHOLE, "help": "width of a beam search (default: greedy)"},
    **LENGTHS,
    "--worst": {**WHOLE, "type": at_least(0), "default": 5, "help": "examples of largest loss to show (default 5)"},
}


def evaluate_options(command: argparse.ArgumentParser) -> None:
    run_options(command)
    data_options(command)
    command.add_argument("--over", metavar="data.key=a,b,c", help="evaluate once per value, and print a table")
    setting_options(command, EVALUATION)
    command.add_argument("-o", "--output", type=Path, help="the folder of the figures (default: RUN/inspect)")
    json_option(command, "print JSON, for programs, and write no figure")


def run_evaluate(options: argparse.Namespace) -> None:
    """A model's metrics, with confidence intervals.

    examples:
      composer evaluate runs/dates                                the test split, or else the validation split
      composer evaluate runs/sentiment data.path=others.tsv       all rows of another file
      composer evaluate runs/tags --worst 20                      the 20 examples with the largest loss
      composer evaluate runs/copy --over data.test_length=25,50   lengths beyond those of the training
      composer evaluate runs/copy --over data.test_length=[26,50],[51,100]
    Intervals come from 1,000 bootstrap resamples of the examples, in blocks where these are windows that overlap.
    Classes, tags, entities and labels have a table each and a confusion matrix, which is drawn in RUN/inspect, too.
    """
    if options.output is not None and (options.json or options.over):
        raise UserError("-o: figures are written of one evaluation, without --json and --over.")
    model = loaded(options)
    from composer.inference.data_evaluation import notes, table, table_over
    from composer.inference.evaluation_details import details_text

    key, values = split_over(options.over)
    changes: list[dict[str, str]] = [{key: value} for value in values] or [{}]
    results: list[dict[str, Any]] = []
    with option_errors():
        for change in changes:
            over = [f"{name}={value}" for name, value in change.items()]
            data = note_files(model.data(*options.overrides, *over, split=options.split, labelled=True))
            evaluation = model.evaluate(data, **chosen(options))
            size = len(data) if options.rows is None else min(options.rows, len(data))
            heads = {head: details.record() for head, details in evaluation.details.items()}
            results.append({**change, "examples": size, "metrics": evaluation.report(), "heads": heads})
    found, sizes = [result["metrics"] for result in results], [result["examples"] for result in results]
    if len(found) > 1 and all(report == found[0] for report in found):
        other = _other_key(key, model, data.split)
        raise UserError(f"--over: {key} changes no example of the split '{data.split}'.{other}")
    facts = {"checkpoint": str(model.path), "step": model.step, "split": data.split}
    facts |= {"bootstrap": evaluation.examples.method, "signatures": evaluation.signatures}
    if options.json:
        print_json(facts | ({"over": results} if key else results[0]))
        return
    size_of_each = ", ".join(f"{count:,}" for count in (sizes if len(set(sizes)) > 1 else sizes[:1]))
    parts = [table_over(values, found, key) if key else table(found[0]), "\n".join(notes(evaluation))]
    if not key:
        parts += [details_text(evaluation.details), figures_written(options, model, evaluation.details)]
    print(f"{model.path} after {model.step:,} steps, on {size_of_each} examples of the split '{data.split}'\n")
    print("\n\n".join(part for part in parts if part))


def _other_key(key: str, model: Model, split: str) -> str:
    """The key that sets for this split alone what ``key`` sets for the training, such as data.test_length."""
    name = f"{split}_{key.removeprefix('data.')}"
    return suggest(key, f"data.{name}") if name in model.config["data"] else ""


def figures_written(options: argparse.Namespace, model: Model, details: Mapping[str, HeadDetails]) -> str:
    """Draw the confusion matrix of every head that has one, as ``inspect`` does, and say where."""
    outcomes = {head: found.outcomes for head, found in details.items() if found.outcomes is not None}
    if not outcomes:
        return ""
    from composer.views.figures import class_figures, save_figures

    try:
        paths = save_figures(options.output or beside(model, "inspect"), class_figures(outcomes))
    except UserError as error:
        if options.output is not None:
            raise
        return f"no figure: {error} Choose another folder with -o."  # the run's folder may be one that others write
    return f"wrote {', '.join(map(str, paths.values()))}" if paths else ""


def split_over(text: str | None) -> tuple[str, list[str]]:
    """'data.length=10,20' or 'data.length=[1,10],[11,20]' as its key and its values."""
    if text is None:
        return "", []
    key, _, values = text.partition("=")
    if not key.startswith("data.") or not values:
        raise UserError(f"--over: '{text}' is not data.key=a,b,c.")
    return key, re.findall(r"\[[^\]]*\]|[^,]+", values)
