"""The options that several commands share, and the model that they load. Nothing here imports torch: help is quick."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.config.overrides import ALLOW_PATHS
from composer.core.problems import Invalid, UserError, listed
from composer.core.program import as_started
from composer.core.storage.json_output import answer

if TYPE_CHECKING:
    from composer.inference.model import Model
    from composer.inference.run_data import Data

#: Settings whose command-line option has another name.
RENAMED = {"best": "n_best", "normalisation": "length_normalisation", "stops": "stop"}


def at_least(low: int) -> Callable[[str], int]:
    """The type of an option that takes a whole number."""

    def number(text: str) -> int:
        if int(text) < low:
            raise argparse.ArgumentTypeError(f"{text} is not at least {low}")
        return int(text)

    return number


#: What the options have in common that take a number, of at least 1 or a real one.
WHOLE: dict[str, Any] = {"type": at_least(1), "metavar": "N"}
REAL: dict[str, Any] = {"type": float, "metavar": "X"}

#: How beam search weighs the lengths of sequences.
LENGTHS: dict[str, dict[str, Any]] = {
    "--length-normalisation": {
        "dest": "normalisation", "choices": ["none", "mean", "gnmt"],
        "help": "how scores of beam search are normalised by length (default mean)",
    },
    "--alpha": {**REAL, "help": "the exponent of the gnmt normalisation (default 0.6)"},
}  # fmt: skip


#: Adds the options of a command.
AddOptions = Callable[[argparse.ArgumentParser], object]

#: Runs a command. Its exit code is 0 where nothing is returned.
Run = Callable[[argparse.Namespace], int | None]


def add_command(commands: Any, name: str, add_options: AddOptions, run: Run) -> None:
    """Add a command. The docstring of ``run`` is its help: the meaning, and examples; without one it is not listed."""
    meaning, _, examples = as_started(inspect.getdoc(run) or "").partition("\n\n")
    listing = {"help": f"{meaning[0].lower()}{meaning[1:].rstrip('.')}"} if meaning else {}
    command = commands.add_parser(
        name, description=meaning, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter, **listing
    )
    add_options(command)
    command.set_defaults(run=run)


def rest_argument(command: argparse.ArgumentParser, name: str, metavar: str, help: str) -> None:
    """Add the arguments without a name, any number of them, which may also follow after options."""
    command.add_argument(name, nargs="*", metavar=metavar, help=help)
    command.set_defaults(rest=name)


def run_options(command: argparse.ArgumentParser) -> None:
    """The options of commands that take the folder of a run."""
    command.add_argument("folder", metavar="run", help="the folder of a run, or a checkpoint file")
    command.add_argument("--checkpoint", choices=["best", "last"], help="which checkpoint (default: best, if any)")
    command.add_argument("--plugin", action="append", default=[], help="a package or .py file with blocks of the model")
    command.add_argument("--device", default="cpu", help="cpu (the default), cuda, cuda:1, ...")


def data_options(command: argparse.ArgumentParser) -> None:
    rest_argument(command, "overrides", "data.key=value", "changes to the run's data")
    command.add_argument(
        "--split", choices=["train", "valid", "test"],
        help="the split of the data (default: test, or else valid; every row of changed data)",
    )  # fmt: skip


def given_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--given", action="append", metavar="TEXT",
        help="a row to use instead of data (repeatable); name=TEXT for each field of a model that reads several",
    )  # fmt: skip


def config_dir_options(command: argparse.ArgumentParser) -> None:
    """The options of commands that compose a config. ``options.allow_paths`` is a list of the override that
    --allow-paths stands for, or empty."""
    command.add_argument("--config-dir", help="a folder of YAML of your own, laid out like conf/")
    option, override = ALLOW_PATHS
    command.add_argument(
        option, action="store_const", const=[override], default=[],
        help="let the files of --config-dir name paths outside of that folder and the working folder",
    )  # fmt: skip


@cache  # once in a process
def note_own_configs(folder: Path | None) -> None:
    """Say that a folder of configs was found which the command line does not name."""
    if folder is not None:
        print(f"note: configs of {folder.name}/ are read, too.", file=sys.stderr)


def setting_options(command: argparse.ArgumentParser, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Add options without a default, whose values ``chosen`` returns."""
    command.set_defaults(settings=[command.add_argument(name, **how).dest for name, how in settings.items()])


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given."""
    return {name: value for name in options.settings if (value := getattr(options, name)) is not None}


def json_option(command: argparse.ArgumentParser, help: str = "print JSON, for programs") -> None:
    command.add_argument("--json", action="store_true", help=help)


def print_json(data: Mapping[str, Any], *, line: bool = False) -> None:
    """Print an answer to a program: a whole one, or one of several, each in a line."""
    print(json.dumps(answer(data), indent=None if line else 2, ensure_ascii=False, default=str))


def output(options: argparse.Namespace, data: Callable[[], Mapping[str, Any]], text: Callable[[], str]) -> None:
    """Print data as JSON where --json asks for it, for programs (docs/json.md), or else a text."""
    if options.json:
        print_json(data())
    else:
        print(as_started(text()))


def output_files(options: argparse.Namespace, text: str, paths: Iterable[Path], **facts: Any) -> None:
    """Say which files were written, to a person in a text."""
    output(options, lambda: {"files": [str(path) for path in paths], **facts}, lambda: text)


@contextmanager
def option_errors() -> Iterator[None]:
    """Report an invalid setting by the name of its command-line option."""
    try:
        yield
    except Invalid as error:
        name = RENAMED.get(error.parameter, error.parameter).replace("_", "-")
        raise UserError(f"--{name}: {error.message}") from error


def loaded(options: argparse.Namespace) -> Model:
    from composer.inference.model import Model

    return Model.load(
        options.folder, checkpoint=options.checkpoint, plugins=options.plugin, device=checked_device(options.device)
    )


def checked_device(name: str) -> str:
    import torch

    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device: there is no '{name}' here.") from error
    return name


def note_unknown(unknown: Sequence[str]) -> None:
    if unknown:
        names = listed(f"'{token}'" for token in unknown)
        print(f"note: the model reads {names} as unknown: training had none.", file=sys.stderr)


def note_files(data: Data) -> Data:
    """Say what was found in the files and the config does not say, and which rows were left out."""
    if len(data):  # reads the files
        for remark in data.objective.source.remarks:
            print(f"note: {remark}", file=sys.stderr)
    return data
