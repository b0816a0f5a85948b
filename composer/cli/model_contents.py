"""The commands inspect and export: what a trained model holds. Each imports torch only when it runs: help is quick."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from composer.cli.options import WHOLE, data_options, given_option, loaded, option_errors, run_options
from composer.core.problems import UserError

if TYPE_CHECKING:
    from composer.inference.model import Model


def inspect_options(command: argparse.ArgumentParser) -> None:
    run_options(command)
    data_options(command)
    command.add_argument("-o", "--output", type=Path, help="the folder to write (default: RUN/inspect)")
    given_option(command)
    command.add_argument("--tokens", metavar="a,b,c", help="list the neighbours of these (default: frequent tokens)")
    command.add_argument(
        "--analogy", action="append", nargs=3, default=[], metavar=("a", "b", "c"),
        help="the tokens that are to c as b is to a (repeatable)",
    )  # fmt: skip
    command.add_argument("--examples", **WHOLE, default=2, help="examples whose attention to draw (default 2)")


def export_options(command: argparse.ArgumentParser) -> None:
    run_options(command)
    command.add_argument(
        "--format", choices=["onnx", "torch", "safetensors", "vectors"], default="onnx", help="(default onnx)"
    )
    command.add_argument("-o", "--output", type=Path, help="the folder to write (default: RUN/export)")


def run_inspect(options: argparse.Namespace) -> None:
    """Figures of a trained model, on an HTML page.

    examples:
      composer inspect runs/dates                       writes runs/dates/inspect/inspect.html and its figures
      composer inspect runs/dates --given "3 mars 1975" --tokens 1,9,-
      composer inspect runs/words --tokens king,sword --analogy man king woman       man : king :: woman : ?
      composer inspect model.pt -o looked_into data.path=mine.tsv
    The page shows attention weights, nearest neighbours of tokens, embeddings and hidden states in two dimensions
    (PCA), and the gradient by time step.
    """
    if options.given and (options.overrides or options.split):
        raise UserError("--given gives rows at hand: leave the data's overrides and --split out.")
    model = loaded(options)
    from composer.inference.inspection import inspect
    from composer.inference.model_vectors import token_vectors
    from composer.inference.similar_tokens import analogy_rows, check_analogies, check_tokens, neighbour_rows
    from composer.views.figures import lacking

    tokens = options.tokens.split(",") if options.tokens else []
    check_tokens(model.graph, tokens)
    check_analogies(model.graph, options.analogy)
    for found in token_vectors(model.graph):
        for asked, *answers in (*neighbour_rows(found, tokens), *analogy_rows(found, options.analogy)):
            print(f"{asked}  {', '.join(answers)}")
    data, note = None, None
    if not options.given:
        try:
            data = model.data(*options.overrides, split=options.split, labelled=True).checked()
        except UserError as error:  # without its data, a model can still be inspected, with fewer figures
            if options.overrides or options.split:
                raise
            note = f"No examples: {error} Give some with --given, or say where the data is, data.path=..."
            print(note, file=sys.stderr)
    folder = options.output or beside(model, "inspect")
    with option_errors():
        path = inspect(
            model, folder, rows=options.given or (), data=data, note=note, tokens=tokens, analogies=options.analogy,
            examples=options.examples,
        )  # fmt: skip
    if (boxes := lacking()) is not None:
        print(f"note: {boxes}", file=sys.stderr)
    print(f"wrote {path} and its pictures, to be opened in a browser")


def run_export(options: argparse.Namespace) -> None:
    """A model as programs or weights for other software.

    examples:
      composer export runs/dates                       ONNX programs: model, and start and step to decode token by token
      composer export runs/dates --format torch        the same as .pt2 files of torch.export
      composer export runs/dates --format safetensors  the weights alone
      composer export runs/words --format vectors      token vectors as text, as word2vec and embedding=pretrained read
    The manifest.json in the same folder holds the name of every tensor, the vocabularies and the config. See
    docs/export.md.
    """
    model = loaded(options)
    from composer.inference.export import export
    from composer.inference.export.word_vectors import save_vectors

    if options.format == "vectors":
        for path in save_vectors(model.graph, options.output or beside(model, "export")):
            print(f"wrote {path}  {path.stat().st_size:,} bytes")
        return
    metadata = {"config": model.config, "step": model.step, "data": model.vocabularies}
    for path in export(model.graph, options.output or beside(model, "export"), options.format, metadata):
        print(f"wrote {path}  {path.stat().st_size:,} bytes")


def beside(model: Model, name: str) -> Path:
    """The folder ``name`` inside the run's folder, or beside a checkpoint that is not in a run's folder."""
    from composer.runs.folder import RunFolder

    folder = RunFolder(model.path.parent.parent)
    inside = folder.config.is_file() and model.path.parent == folder.checkpoints
    return (folder if inside else RunFolder(model.path.parent)).place(name)
