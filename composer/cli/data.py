"""The command data: what the user's files hold, and the config to start from; the cache of tokenised data."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from composer.cli.data_cache import run_cache
from composer.cli.options import json_option, output
from composer.core.problems import UserError
from composer.views.tables import Column, cut_line, terminal_width, text_table

if TYPE_CHECKING:
    from composer.data.survey import Survey
    from composer.data.survey.column_survey import ColumnSummary
    from composer.data.survey.suggestion import Advice

#: The number of classes whose balance is shown.
SHOWN = 6


def data_file_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", nargs="?", help="a file, a folder, or a glob pattern in quotes")
    command.add_argument(
        "--cache", nargs="?", const="show", choices=["show", "clear"],
        help="show the tokenised data that is kept between runs, or remove it (clear)",
    )  # fmt: skip
    json_option(command)


def run_data(options: argparse.Namespace) -> None:
    """Look at data files, and print the config to start from.

    examples:
      composer data reviews.csv                     a table: CSV, TSV, JSON, Parquet; plain or compressed
      composer data 'names/*.txt'                   a text file for each class
      composer data train.de                        beside train.en: parallel files
      composer data recordings                      a folder of WAV files or pictures
      composer data --cache                         the tokenised data that is kept between runs
      composer data --cache clear                   removes it
    Looks at the first rows, and prints the columns with their guessed types, the class balance, three rows, and the
    command that trains on them. What is guessed wrongly is a key of the config. See docs/files.md.
    """
    if options.cache is not None:
        if options.path is not None:
            raise UserError(f"--cache looks at all data that is kept, not at '{options.path}'. Leave the path out.")
        run_cache(options)
        return
    if options.path is None:
        raise UserError("composer data needs a path: a file, a folder, or a glob pattern in quotes.")
    from composer.core import registry
    from composer.data.survey import survey
    from composer.data.survey.advice import advise

    registry.load([])
    found = survey(options.path)
    advice = advise(found)
    output(options, lambda: as_data(found, advice), lambda: show(found, advice, terminal_width()))


def as_data(found: Survey, advice: Advice) -> dict[str, Any]:
    """The survey as plain data."""
    suggestion = advice.suggestion
    return {
        "path": found.path,
        "kind": found.kind,
        "files": [str(file) for file in found.files],
        "valid": [str(file) for file in found.others.get("valid", [])],
        "test": [str(file) for file in found.others.get("test", [])],
        "rows": found.rows,
        "whole": found.whole,
        "columns": [asdict(column) for column in found.columns],
        "examples": found.examples,
        "notes": [*found.notes, *notes(found)],
        "model": None if suggestion is None else suggestion.model,
        "data": None if suggestion is None else suggestion.data,
        "command": None if suggestion is None else suggestion.command,
        "choices": [choice.command for choice in advice.choices],
        "unread": {str(column): reason for column, reason in advice.unread.items()},
    }


def show(found: Survey, advice: Advice, width: int) -> str:
    """The survey in lines of at most ``width`` cells, apart from the command, which is not broken."""
    import textwrap

    count = len(found.files)
    what = f"{found.rows:,} {'sentences' if found.kind == 'tagged' else 'rows'}"
    files = str(found.first) if count == 1 else f"{count:,} files"
    parts = [f"{files}: {'' if found.whole else 'the first '}{what}, {KINDS[found.kind]}"]
    parts.append(_table(found.columns, width))
    examples = [f"{name}: {value}" for row in found.examples for name, value in row.items()]
    parts.append("\n".join(cut_line(example, width) for example in examples))
    remarks = [*found.notes, *notes(found)]
    if remarks:
        parts.append("\n".join(textwrap.fill(f"Note: {note}", width, subsequent_indent="  ") for note in remarks))
    if found.kind == "word_vectors":
        command = f"data=labelled data.path=... embedding=pretrained embedding.path={found.first}"
        parts.append("Word vectors are the embedding of a model, not examples to learn from. With data of yours:")
        return "\n\n".join([*parts, f"python train.py model=seq2vec {command}"])
    suggestion = advice.suggestion
    if suggestion is None:
        choices = (f"model={choice.model} {choice.why}:\n{choice.command}" for choice in advice.choices)
        return "\n\n".join([*parts, textwrap.fill(advice.unsure, width), *choices])
    if advice.unread:
        unread = "; ".join(f"{column} ({reason})" for column, reason in advice.unread.items())
        parts.append(textwrap.fill(f"Not read: {unread}.", width, subsequent_indent="  "))
    parts.append(textwrap.fill(f"model={suggestion.model} {suggestion.why}:", width))
    parts.append(suggestion.section)
    parts.append(suggestion.command)
    return "\n\n".join(parts)


KINDS = {
    "table": "a table",
    "parallel": "parallel files",
    "tagged": "a line for every word",
    "classes": "a file for each class",
    "text": "running text",
    "recordings": "a recording in each file",
    "pictures": "a picture in each file",
    "word_vectors": "word vectors",
}


def notes(found: Survey) -> list[str]:
    """What the columns say about the training."""
    from composer.data.series.steps import counted

    remarks = []
    for column in found.columns:
        if column.empty:
            remarks.append(f"column {column.column} is empty in {counted(column.empty, 'row')}.")
        if column.far is not None:
            value, often = column.far
            remarks.append(f"column {column.column} holds {value:g} in {counted(often, 'row')}, far below its other "
                        f"values: if that stands for a missing value, set data.missing=[{value:g}].")  # fmt: skip
        if column.guess in ("class", "classes") and column.once:
            names = ", ".join(column.once[:3])
            remarks.append(f"column {column.column} has {len(column.once)} classes with one row, e.g. {names}: a split "
                        "cannot have them on both sides. Remove them, or set data.skip_bad=true.")  # fmt: skip
    return remarks


def _table(columns: list[ColumnSummary], width: int) -> str:
    rows = []
    for column in columns:
        total = sum(count for _, count in column.balance)
        balance = ", ".join(f"{name} {100 * count / total:.0f} %" for name, count in column.balance[:SHOWN])
        more = ", ..." if len(column.balance) > SHOWN else ""
        span = ""
        if column.lengths is not None:
            low, middle, high = (f"{value:.4g}" for value in column.lengths)
            span = f"{low} to {high}, median {middle}"
        words = f"{column.words:,}" if column.words and column.guess == "text" else ""
        rows.append((str(column.column), column.guess, f"{column.distinct:,}", words, span, balance + more))
    number, cut = partial(Column, right=True), partial(Column, cut=True)
    heads = (cut("column"), "type", number("different"), number("words"), cut("length or value"), cut("most frequent"))
    return text_table(heads, rows, width=width)
