"""The options of commands that compose a config: --config-dir, a folder of the user's, and --allow-paths."""

from __future__ import annotations

import argparse

from composer.config.overrides import ALLOW_PATHS


def config_dir_options(command: argparse.ArgumentParser) -> None:
    """Add the options. ``options.allow_paths`` is a list of the override that --allow-paths stands for, or empty."""
    command.add_argument("--config-dir", help="a folder of YAML of your own, laid out like conf/")
    option, override = ALLOW_PATHS
    command.add_argument(
        option,
        action="store_const",
        const=[override],
        default=[],
        help="let the files of --config-dir name paths outside of that folder and the working folder",
    )
