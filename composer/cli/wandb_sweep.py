"""The command wandb-sweep: a sweep for W&B's own agents, from the arguments of ``python train.py -m``; and a report."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from composer.cli.options import config_dir_options, json_option, output, output_files, print_json, rest_argument


def wandb_sweep_options(command: argparse.ArgumentParser) -> None:
    rest_argument(command, "overrides", "override", "as for train.py -m")
    config_dir_options(command)
    command.add_argument("-o", "--output", type=Path, help="the .yaml file to write (default: print it)")
    json_option(command)
    command.add_argument("--report", metavar="SWEEP", help="instead: make a report on W&B about this folder's runs")


def run_wandb_sweep(options: argparse.Namespace) -> None:
    """Write the YAML of a W&B sweep, from the arguments of a sweep.

    examples:
      composer wandb-sweep mixer=lstm,gru seed=1,2,3 -o sweep.yaml
      composer wandb-sweep search=tpe mixer=lstm,gru 'optimiser.learning_rate=tag(log,interval(1e-4,1e-2))' -o tpe.yaml
    Then, with an account of W&B, beside train.py:
      wandb sweep sweep.yaml      registers the sweep, and prints the command of an agent
      wandb agent ...             trains; several agents on several machines share the sweep
    A report on W&B about a sweep or a study of train.py -m, whose runs were logged with logger=wandb:
      composer wandb-sweep --report runs/2026-01-31_12-00-00
    """
    import yaml

    from composer.core.problems import UserError
    from composer.core.storage.atomic_files import write_text
    from composer.studies.sweep.wandb_report import wandb_report
    from composer.studies.sweep.wandb_sweep_config import wandb_sweep

    if options.report is not None:
        if options.overrides or options.output is not None:
            raise UserError("--report takes the folder of a sweep and nothing else. Leave the rest out.")
        report = wandb_report(options.report)
        output(options, lambda: {"report": report}, lambda: report)
        return
    text = yaml.safe_dump(
        wandb_sweep([*options.overrides, *options.allow_paths], options.config_dir), sort_keys=False, width=100
    )
    if options.output is None:
        if options.json:
            print_json({"yaml": text})
        else:
            print(text, end="")
        return
    write_text(options.output, text)
    if options.json:
        output_files(options, "", [options.output])
    print(f"wrote {options.output}. Next: wandb sweep {shlex.quote(str(options.output))}", file=sys.stderr)
