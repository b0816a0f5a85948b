"""The commands inspect and export: what a trained model holds. Each imports torch only when it runs: help is quick."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.cli.options import (
    WHOLE,
    data_options,
    given_option,
    json_option,
    loaded,
    option_errors,
    output_files,
    run_options,
)
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
    json_option(command, "print JSON, for programs: the run's metrics, neighbours of tokens, the files written")


def export_options(command: argparse.ArgumentParser) -> None:
    run_options(command)
    command.add_argument(
        "--format", choices=["onnx", "torch", "safetensors", "vectors"], default="onnx", help="(default onnx)"
    )
    command.add_argument("-o", "--output", type=Path, help="the folder to write (default: RUN/export)")
    json_option(command)


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
    rows = [
        row
        for found in token_vectors(model.graph)
        for row in (*neighbour_rows(found, tokens), *analogy_rows(found, options.analogy))
    ]
    if not options.json:
        for asked, *answers in rows:
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
        page, *figures = inspect(
            model, folder, rows=options.given or (), data=data, note=note, tokens=tokens, analogies=options.analogy,
            examples=options.examples,
        )  # fmt: skip
    if (boxes := lacking()) is not None:
        print(f"note: {boxes}", file=sys.stderr)
    output_files(
        options, f"wrote {page} and its pictures, to be opened in a browser", [page, *figures],
        checkpoint=str(model.path), step=model.step, **metrics_of(model),
        similar=[{"asked": asked, "answers": answers} for asked, *answers in rows],
    )  # fmt: skip


def metrics_of(model: Model) -> dict[str, Any]:
    """What run.json says of the best checkpoint, where the checkpoint is in a run's folder."""
    from composer.runs.folder import RunFolder

    record = RunFolder(model.path.parent.parent).read_record()
    return {"result": record.result, "result_step": record.result_step, "test": record.test}


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
        wrote(save_vectors(model.graph, options.output or beside(model, "export")), options)
        return
    metadata = {"config": model.config, "step": model.step, "data": model.vocabularies}
    wrote(export(model.graph, options.output or beside(model, "export"), options.format, metadata), options)


def wrote(found: Iterable[Path], options: argparse.Namespace) -> None:
    paths = list(found)
    output_files(options, "\n".join(f"wrote {path}  {path.stat().st_size:,} bytes" for path in paths), paths)


def beside(model: Model, name: str) -> Path:
    """The folder ``name`` inside the run's folder, or beside a checkpoint that is not in a run's folder."""
    from composer.runs.folder import RunFolder

    folder = RunFolder(model.path.parent.parent)
    inside = folder.config.is_file() and model.path.parent == folder.checkpoints
    return (folder if inside else RunFolder(model.path.parent)).place(name)
