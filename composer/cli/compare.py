"""The command compare."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from composer.cli.options import json_option, output, rest_argument
from composer.core.problems import UserError
from composer.views.tables import terminal_width


def compare_options(command: argparse.ArgumentParser) -> None:
    rest_argument(command, "paths", "path", "a run, a sweep, a study, or a folder of them")
    command.add_argument(
        "--metric",
        help="the metric that ranks the arms, e.g. bleu (of the test split where all runs have one), valid/bleu "
        "(default: that of the sweep, else the loss)",
    )
    command.add_argument("--plugin", action="append", default=[], help="a package or .py file with metrics of your own")
    command.add_argument("-o", "--output", type=Path, help="the .html file to write the report to")
    command.add_argument(
        "--no-figures", action="store_true",
        help="leave figures from inside the models out of the report, which is then small and soon written",
    )  # fmt: skip
    json_option(command)


def run_compare(options: argparse.Namespace) -> None:
    """Compare runs, sweeps and studies.

    examples:
      composer compare runs/2026-01-31_12-00-00                 a sweep or a study
      composer compare runs/lstm runs/gru --metric accuracy     some runs, judged by another metric
      composer compare runs -o report.html                      everything below a folder, also as a page for a browser
    Runs that differ in their seeds alone are one arm. Arms are ranked by the mean over seeds, with a 95 % interval, on
    the test split where all runs have one; t-tests, corrected for all arms, say which arms are not distinguishable from
    the best. See docs/comparing.md.
    """
    if options.output is not None and options.output.suffix != ".html":
        raise UserError(f"-o: '{options.output}' should end in .html.")
    if options.no_figures and options.output is None:
        raise UserError("--no-figures has no effect without -o, which writes the report.")
    from composer.core import registry
    from composer.studies.comparison import compare
    from composer.studies.terminal import WIDTH, as_data, show

    if options.plugin:
        registry.load(options.plugin)
    comparison = compare(options.paths, options.metric)
    output(options, lambda: as_data(comparison), lambda: show(comparison, terminal_width(WIDTH)))
    if options.output is not None:
        from composer.studies.report import write_report

        given = {"command": _command(options), "plugins": options.plugin, "figures": not options.no_figures}
        write_report(comparison, options.output, **given)
        print(f"wrote {options.output}, to be opened in a browser", file=sys.stderr if options.json else sys.stdout)


def _command(options: argparse.Namespace) -> str:
    """The command line that writes the report again."""
    words = ["python", "-m", "composer", "compare", *options.paths]
    words += ["--metric", options.metric] if options.metric is not None else []
    words += [word for plugin in options.plugin for word in ("--plugin", plugin)]
    words += ["--no-figures"] * options.no_figures
    return shlex.join([*words, "-o", str(options.output)])
