"""Neural sequence models composed in YAML.

  python train.py mixer=lstm
before training, with your files or the overrides of train.py:
  python -m composer data reviews.csv
  python -m composer describe mixer=lstm
  python -m composer draw model=seq2vec -o graph.svg
  python -m composer check --block leaky.py:Leaky
after training, with the folder of a run or a checkpoint:
  python -m composer generate runs/dates "lundi 3 mars 1975"
  python -m composer predict runs/sentiment data.path=new.tsv -o out.jsonl
  python -m composer evaluate runs/dates
  python -m composer inspect runs/dates
  python -m composer runs
  python -m composer compare runs/2026-01-31_12-00-00
`python -m composer <command> --help` lists the options of a command.
"""

# This text is the help of ``python -m composer``. A command imports torch when it runs, so that help is quick.

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from composer.cli.commands import generate_options, predict_options, run_generate, run_predict
from composer.cli.compare import compare_options, run_compare
from composer.cli.completion.shells import completion_options, print_candidates, run_completion
from composer.cli.data import data_file_options, run_data
from composer.cli.evaluate import evaluate_options, run_evaluate
from composer.cli.gallery import gallery_options, run_gallery
from composer.cli.init import init_options, run_init
from composer.cli.model_contents import export_options, inspect_options, run_export, run_inspect
from composer.cli.options import (
    WHOLE,
    AddOptions,
    Run,
    add_command,
    config_dir_options,
    json_option,
    note_own_configs,
    output,
    output_files,
    rest_argument,
)
from composer.cli.runs import run_runs, runs_options
from composer.cli.schema.command import run_schema, schema_options
from composer.cli.wandb_sweep import run_wandb_sweep, wandb_sweep_options
from composer.core.problems import (
    ConfigError,
    Problem,
    UserError,
    did_you_mean,
    listed,
    problem_data,
    tell_error,
    user_errors,
)
from composer.core.program import as_started
from composer.core.storage.json_output import errors_as_json
from composer.core.version import __version__

if TYPE_CHECKING:
    from composer.training.run.plan import TrainingPlan


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit code: 0 for success, 1 for a broken law, 2 for a user's mistake.

    A command returns nothing, or its exit code if that is another one.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["train"]:  # whose words Hydra parses
        from composer.cli.train import main as train

        train(words[1:])
        return 0
    try:
        with errors_as_json("--json" in words), user_errors():
            options = parsed(words)
            return options.run(options) or 0
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


class Parser(argparse.ArgumentParser):
    """Tells a wrong option to programs, too, where they ask for JSON."""

    def error(self, message: str) -> NoReturn:
        if (tell := tell_error.get()) is not None:
            tell({"message": message, "problems": [problem_data(None, message)]})
        super().error(message)


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The parsed options. Prompts and overrides may also follow after options, which argparse alone does not accept."""
    whole = parser(words[0] if words else None)
    options, left = whole.parse_known_args(words)
    if left and getattr(options, "rest", None) == "overrides":
        from composer.config.overrides import without_hyphens

        left = without_hyphens(left)  # --lr=0.1 is an override, as for train.py
    if left:
        rest = getattr(options, "rest", None)
        if rest is None or any(word.startswith("-") and word != "-" for word in left):
            whole.error(f"unrecognized arguments: {' '.join(left)}")
        setattr(options, rest, [*getattr(options, rest), *left])
    return options


def parser(name: str | None = None) -> argparse.ArgumentParser:
    """The parser of a command, or of all commands where no command has this name."""
    description, _, examples = as_started(str(__doc__)).partition("\n\n")
    whole = Parser(
        prog="composer", description=description, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    whole.add_argument("--version", action="version", version=f"sequence-composer {__version__}")
    commands = whole.add_subparsers(required=True, metavar="command")
    for command in [name] if name in COMMANDS else COMMANDS:
        add_command(commands, command, *COMMANDS[command])
    return whole


def run_train(options: argparse.Namespace) -> None:
    """Train a model; with -m, a sweep or a study."""
    raise AssertionError("main starts the training, whose words Hydra parses")


def blocks_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", nargs="?", help="only this kind: mixer, embedding, head, ...")
    command.add_argument("--plugin", action="append", default=[], help="a package or .py file with more blocks")
    json_option(command)


def graph_options(command: argparse.ArgumentParser) -> None:
    """The options of commands that take a config."""
    rest_argument(command, "overrides", "override", "as for train.py: mixer=lstm model.dim=64 ...")
    config_dir_options(command)


def describe_options(command: argparse.ArgumentParser) -> None:
    graph_options(command)
    command.add_argument("--length", **WHOLE, default=128, help="sequence length for FLOPs and state (default 128)")
    command.add_argument(
        "--signals", action="store_true",
        help="instead: the sizes of activations and gradients at initialisation, and each input's effect on each head",
    )  # fmt: skip
    command.add_argument(
        "--seed", type=int, default=0, help="random seed of the weights and inputs of --signals (default 0)"
    )
    json_option(command)


def draw_options(command: argparse.ArgumentParser) -> None:
    graph_options(command)
    command.add_argument(
        "-o", "--output", type=Path, help="the file to write: .svg, or .mmd for Mermaid (default: print Mermaid text)"
    )
    command.add_argument("--open", action="store_true", help="show the layers inside stacks")
    command.add_argument(
        "--against", nargs="*", metavar="override", help="the overrides of a second graph to compare with"
    )
    json_option(command)


def check_options(command: argparse.ArgumentParser) -> None:
    graph_options(command)
    command.add_argument(
        "--block", metavar="FILE:CLASS", help="instead: one block, such as leaky.py:Leaky, in random configurations"
    )
    command.add_argument("--seed", type=int, default=0, help="random seed of the weights and inputs (default 0)")
    json_option(command)


def planned(options: argparse.Namespace, overrides: Sequence[str]) -> TrainingPlan:
    """The plan of a new run. The graph of a resumed run is that of its folder, which these commands do not read."""
    from composer.config.composition import compose
    from composer.config.yaml_files import folder_of_user

    if options.config_dir is None:
        note_own_configs(folder_of_user())
    config = compose([*overrides, *options.allow_paths], options.config_dir, to_compile=True)
    from composer.training.run.plan import check_config

    if config.values.get("resume") is not None:
        message = "has no effect here: a run goes on with train.py. Leave it out, or look at the run with inspect."
        raise ConfigError([Problem("resume", message)], config.locate)
    return check_config(config)


def run_blocks(options: argparse.Namespace) -> None:
    """List the registered blocks, their meaning and their parameters."""
    from composer.cli.blocks.catalogue import entries, text
    from composer.core import registry

    registry.load(options.plugin)
    if options.kind is not None and options.kind not in registry.kinds():
        hint = did_you_mean(options.kind, registry.kinds())
        raise UserError(f"there is no kind '{options.kind}'.{hint}  (kinds: {listed(registry.kinds())})")
    found = entries([options.kind] if options.kind else registry.kinds())
    output(options, lambda: {"blocks": found}, lambda: text(found))


def run_describe(options: argparse.Namespace) -> None:
    """A table of the graph: shapes, parameters, FLOPs, state."""
    plan = planned(options, options.overrides)
    (show_signals if options.signals else show_graph)(plan, options)


def show_graph(plan: TrainingPlan, options: argparse.Namespace) -> None:
    from composer.graph.describe import summarise
    from composer.views.graph_tables import graph_table
    from composer.views.tables import filled

    summary, source = summarise(plan.meta, options.length), plan.objective.source
    notes = {"tokens": source.notes, "files": source.remarks, "unread": plan.unread}
    remarks = [f"'{field}' is not read: no node takes it, and no head predicts it." for field in plan.unread]
    remarks += [f"Tokens of {field}: {note}." for field, note in source.notes.items()]
    remarks += source.remarks
    output(options, lambda: summary | notes, lambda: "\n".join([graph_table(summary), *map(filled, remarks)]))


def show_signals(plan: TrainingPlan, options: argparse.Namespace) -> None:
    from composer.graph.signal_flow import as_data, measure, problems, warnings
    from composer.views.graph_tables import signal_table

    measured, locate = measure(plan.meta.materialise(options.seed), options.seed), plan.composed.locate
    found = problems(measured)
    told = [f"\n{warnings(found, locate)}"] if found else []
    output(options, lambda: as_data(measured, locate), lambda: "\n".join([signal_table(measured), *told]))


def run_draw(options: argparse.Namespace) -> None:
    """A drawing of the graph, as SVG or Mermaid text."""
    from composer.core.storage.atomic_files import write_text

    if options.output is not None and options.output.suffix not in (".svg", ".mmd"):
        raise UserError(f"-o: '{options.output}' should end in .svg or .mmd.")
    plans = [planned(options, each) for each in (options.overrides, options.against) if each is not None]
    from composer.graph.describe import summarise
    from composer.views.drawing import mermaid, svg

    draw = svg if options.output is not None and options.output.suffix == ".svg" else mermaid
    summaries = [summarise(plan.meta) for plan in plans]
    if options.against is None:
        picture = draw(summaries[0], opened=options.open)
    else:
        titles = compared_titles(options.against, options.overrides)
        picture = draw(summaries[0], summaries[1], titles, opened=options.open)
    if options.output is None:
        output(options, lambda: {"mermaid": picture}, lambda: picture)
    else:
        write_text(options.output, picture)
        output_files(options, f"wrote {options.output}", [options.output])


def compared_titles(*overrides: Sequence[str]) -> list[str]:
    """What tells the configs of two graphs apart: the overrides of each that are not those of both."""
    both = set.intersection(*map(set, overrides))
    return [" ".join(word for word in words if word not in both) or "without changes" for words in overrides]


def run_check(options: argparse.Namespace) -> int:
    """Run the laws on the graph itself, or on a block of your own."""
    if options.block is not None:
        return run_check_block(options)
    plan = planned(options, options.overrides)
    from composer.graph.signal_flow import warnings
    from composer.testing import broken, graph_subject
    from composer.testing.laws import signal_problems

    subject = graph_subject(plan.meta.materialise(options.seed), seed=options.seed, objective=plan.objective)
    found = broken(subject)
    code = show_laws(found, options)
    if found["signals"] and not options.json:
        print(f"\n{warnings(signal_problems(subject), plan.composed.locate)}")
    return code


def run_check_block(options: argparse.Namespace) -> int:
    from composer.cli.blocks.own_block import find_block
    from composer.core.extras import need

    if options.overrides:
        raise UserError(f"--block checks a class by itself: '{options.overrides[0]}' would have no effect.")
    need("hypothesis", "check --block", "testing")
    block = find_block(options.block)
    from composer.testing.drawn import broken_by

    return show_laws(broken_by(block, seed=options.seed), options)


def show_laws(found: dict[str, str], options: argparse.Namespace) -> int:
    """Print every law with its meaning, then the problems, each in one line: it ends with a call to be copied.

    Returns the exit code: 1 where a law is broken.
    """
    from composer.testing import LAWS
    from composer.views.tables import text_table

    rows = [("BROKEN" if problem else "holds", law, str(LAWS[law].__doc__)) for law, problem in found.items()]
    told = [f"\n{law}: {problem}" for law, problem in found.items() if problem]
    output(options, lambda: {"laws": found}, lambda: "\n".join([text_table(["", "law", "meaning"], rows), *told]))
    return int(any(found.values()))


def run_complete(options: argparse.Namespace) -> None:
    print_candidates(options.line, {name: COMMANDS[name][0] for name in COMMANDS if name != "complete"})


#: What adds the options of every command, and what runs it. ``complete`` is called by the completion script.
COMMANDS: dict[str, tuple[AddOptions, Run]] = {
    "train": (lambda command: None, run_train),
    "init": (init_options, run_init),
    "blocks": (blocks_options, run_blocks),
    "describe": (describe_options, run_describe),
    "draw": (draw_options, run_draw),
    "check": (check_options, run_check),
    "generate": (generate_options, run_generate),
    "predict": (predict_options, run_predict),
    "evaluate": (evaluate_options, run_evaluate),
    "inspect": (inspect_options, run_inspect),
    "export": (export_options, run_export),
    "runs": (runs_options, run_runs),
    "compare": (compare_options, run_compare),
    "data": (data_file_options, run_data),
    "schema": (schema_options, run_schema),
    "gallery": (gallery_options, run_gallery),
    "wandb-sweep": (wandb_sweep_options, run_wandb_sweep),
    "completion": (completion_options, run_completion),
    "complete": (lambda command: command.add_argument("line"), run_complete),
}
