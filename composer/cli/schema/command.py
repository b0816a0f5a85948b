"""The command schema."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: The name of the file, in a checkout inside of conf/, in a project of a user's beside conf/.
FILE = "composer.schema.json"


def schema_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", type=Path, help=f"the file to write, such as {FILE} (default: print it)")
    command.add_argument("--plugin", action="append", default=[], help="a package or .py file with more blocks")
    command.add_argument("--config-dir", help="a folder of YAML of your own, laid out like conf/")


def run_schema(options: argparse.Namespace) -> None:
    """A JSON schema of configs, by which editors complete and check YAML files.

    examples:
      python -m composer schema -o composer.schema.json
      python -m composer schema --plugin plugins/mine.py -o composer.schema.json
    """
    from composer.config.yaml_files import folder_of_user
    from composer.core.storage.atomic_files import write_text

    text = schema_text(folder_of_user(options.config_dir), options.plugin)
    if options.output is None:
        print(text, end="")
    else:
        write_text(options.output, text)
        print(f"wrote {options.output}")


def schema_text(own: Path | None, plugins: Sequence[str] = ()) -> str:
    """The schema with the options of our configs and of a user's own, one definition a line."""
    from composer.cli.schema.groups import schema
    from composer.config.yaml_files import ConfigFolder
    from composer.core import registry
    from composer.core.program import CONF

    registry.load(plugins)
    folders = [ConfigFolder(CONF, trusted=True), *([] if own is None else [ConfigFolder(own, trusted=False)])]
    return written(schema(folders))


def written(schema: dict[str, Any]) -> str:
    head = {key: value for key, value in schema.items() if key != "definitions"}
    definitions = ",\n".join(f"{json.dumps(k)}: {_line(v)}" for k, v in sorted(schema["definitions"].items()))
    return f'{_line(head)[:-1]}, "definitions": {{\n{definitions}\n}}}}\n'


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
