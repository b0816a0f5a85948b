"""The commands generate and predict. Each imports torch only when it runs: help is quick."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.cli.options import (
    LENGTHS,
    REAL,
    WHOLE,
    chosen,
    data_options,
    given_option,
    json_option,
    loaded,
    note_files,
    note_unknown,
    option_errors,
    output_files,
    print_json,
    rest_argument,
    run_options,
    setting_options,
)
from composer.core.problems import UserError, listed

if TYPE_CHECKING:
    from composer.inference.model import Model

#: The options of composer.decoding.Settings, which has the defaults, and of the prompt.
GENERATION: dict[str, dict[str, Any]] = {
    "--search": {"choices": ["greedy", "sample", "beam"], "help": "how tokens are chosen"},
    "--length": {**WHOLE, "help": "the most tokens to generate (default 100)"},
    "--temperature": {**REAL, "help": "of sampling: below 1 less random, above 1 more random"},
    "--top-k": {**WHOLE, "help": "sample from the k most likely tokens"},
    "--top-p": {**REAL, "help": "sample from the most likely tokens of total probability p (nucleus)"},
    "--min-p": {**REAL, "help": "sample from tokens at least p times as likely as the most likely one"},
    "--repetition-penalty": {**REAL, "help": "above 1, earlier tokens become less likely"},
    "--no-repeat": {**WHOLE, "help": "generate no n-gram of N tokens twice"},
    "--seed": {"type": int, "help": "random seed of sampling (default 0)"},
    "--beams": {**WHOLE, "help": "width of a beam search"},
    "--n-best": {"dest": "best", **WHOLE, "help": "sequences per prompt, best first"},
    **LENGTHS,
    "--stop": {"dest": "stops", "action": "append", "metavar": "TEXT", "help": "stop before this text (repeatable)"},
    "--forced": {"metavar": "TEXT", "help": "start every generated text with this text"},
    "--allowed": {"metavar": "TEXT", "help": "generate only the tokens of this text"},
    "--head": {"help": "the head to decode, if several heads generate"},
}

#: The options of composer.inference.prediction.PredictionOptions, which has the defaults.
PREDICTION: dict[str, dict[str, Any]] = {
    "--beams": {**WHOLE, "help": "width of a beam search (default: greedy)"},
    "--n-best": {"dest": "best", **WHOLE, "help": "generated sequences per row, best first"},
    "--length": {**WHOLE, "help": "most tokens to generate; steps of a forecast"},
    "--top": {**WHOLE, "help": "number of labels with probabilities (default 5)"},
    "--samples": {**WHOLE, "help": "for bounds without a validation (default 200)"},
    "--seed": {"type": int, "help": "random seed of the samples (default 0)"},
}


def generate_options(command: argparse.ArgumentParser) -> None:
    run_options(command)
    rest_argument(command, "prompts", "prompt", "a text; - for standard input, a prompt per line")
    setting_options(command, GENERATION)
    json_option(command, "print one JSON object per prompt, with scores")


def predict_options(command: argparse.ArgumentParser) -> None:
    run_options(command)
    data_options(command)
    given_option(command)
    command.add_argument(
        "--targets", action=argparse.BooleanOptionalAction,
        help="whether new files hold what is predicted, too (default: what they hold tells)",
    )  # fmt: skip
    command.add_argument(
        "-o", "--output", type=Path, help="the .jsonl, .csv, .tsv or .conll file to write (default: standard output)"
    )
    command.add_argument("--rows", **WHOLE, help="predict only the first N rows")
    setting_options(command, PREDICTION)
    json_option(command, "print one JSON object per row; with -o, the file that was written")


def run_generate(options: argparse.Namespace) -> None:
    """Generate text from prompts.

    The meaning of a prompt depends on the model:
      a language model continues the prompt   composer generate runs/shakespeare "the time traveller" --temperature 0.8
      seq2seq reads the prompt as its source  composer generate runs/dates "lundi 3 mars 1975" --beams 4 --n-best 3
      vec2seq reads numbers, or attributes    composer generate runs/colours 0.1,0.9,0.3
                                              composer generate runs/e2e "name=The Mill, food=English"
      several fields, each by its name        composer generate runs/replies "question=Where?" "context=At home."
    Several prompts are decoded as one batch. The prompt - reads prompts from standard input, one per line. Without a
    prompt, at a terminal, the command asks for prompts and prints each answer while it is generated.

    By default, a language model samples, and a model with a source or other given inputs decodes greedily. --beams
    selects beam search; --temperature, --top-k, --top-p or --min-p select sampling.
    """
    settings, prompts = chosen(options), list(options.prompts)
    if "-" in prompts:
        if prompts != ["-"]:
            raise UserError("- reads the prompts from standard input: give it alone.")
        prompts = [line.rstrip("\r\n") for line in sys.stdin]
        if not prompts:
            raise UserError("standard input has no prompt. Write one a line.")
    interactive = not prompts and sys.stdin.isatty() and not options.json
    if not prompts and not interactive:
        raise UserError('there is no prompt. Give one, or - for standard input; "" begins from nothing.')
    model = loaded(options)
    with option_errors():
        if interactive:
            converse(model, settings)
            return
        found = model.generate(prompts, **settings)
    for generation in found:
        note_unknown(generation.unknown)
        if options.json:
            print_json(generation.plain(), line=True)
            continue
        begins = "" if model.given else generation.prompt
        for hypothesis in generation.hypotheses:
            score = f"{hypothesis.score:8.4f}  " if len(generation.hypotheses) > 1 else ""
            print(f"{score}{begins}{hypothesis.text}")


def converse(model: Model, options: dict[str, Any]) -> None:
    """Read prompts from the terminal and print each answer while it is generated, until the input ends."""
    with suppress(ImportError):  # line editing and history, if this Python has readline
        import readline  # noqa: F401
    reads = listed(model.given) if model.given else "the beginning of a text"
    print(f"{model.path}: type {reads}; an end of file (Ctrl-D) ends.", file=sys.stderr)
    if options.get("search") == "beam" or "beams" in options or "best" in options:
        raise UserError("a beam search knows its tokens only at the end. Give a prompt, or choose another search.")
    while True:
        try:
            prompt = asked_prompt(model.given)
        except (EOFError, KeyboardInterrupt):
            print()
            return
        try:
            prompts = model.prepare([prompt], **options)
            note_unknown(prompts.unknown[0])
            if not model.given:
                print(prompt, end="")
            for piece in prompts.stream():
                print(piece, end="", flush=True)
            print()
        except UserError as error:  # concerns this prompt only; the next one may be valid
            print(error, file=sys.stderr)
        except KeyboardInterrupt:
            print()


def asked_prompt(given: Sequence[str]) -> Any:
    """A prompt from the terminal; for a model that reads several fields, each of them in turn."""
    return {name: input(f"{name}> ") for name in given} if len(given) > 1 else input("> ")


def run_predict(options: argparse.Namespace) -> None:
    """Predict every row of some data.

    examples:
      composer predict runs/sentiment data.path=new.tsv -o out.jsonl   a file, which may lack the labels
      composer predict runs/sentiment --given "what a film"            a text from the command line
      composer predict runs/nli --given "premise=He sleeps." --given "hypothesis=He rests."    each field by its name
      composer predict runs/tags --split valid                         a split of the run's own data, with its targets
      composer predict runs/energy data.path=last_week.csv             forecasts with 95 % intervals
    Every line of the output is a JSON object with the inputs, the predictions and their scores. The suffix of -o names
    another form: .csv and .tsv have a row for each (of a forecast, for each step and channel), below the names of the
    columns, with lists and objects as JSON; .conll, for models that tag words, a line for each word with its tag and,
    where it is known, the true tag.
    """
    if options.given and (options.overrides or options.split):
        raise UserError("--given gives rows at hand: leave the data's overrides and --split out.")
    if options.targets is not None and (options.split or not options.overrides):
        raise UserError("--targets says what new files hold: name them, e.g. data.path=new.tsv, and leave --split out.")
    from composer.inference.output_files import check_suffix, writer_for
    from composer.inference.prediction import to_json

    if options.output is not None:
        check_suffix(options.output)
    model = loaded(options)
    write = None if options.output is None else writer_for(options.output, model.graph, model.objective)
    with option_errors():
        rows = options.given or note_files(model.data(*options.overrides, split=options.split, targets=options.targets))
        found = model.predictions(rows, limit=options.rows, **chosen(options))
        if write is None:
            for record in found:
                if options.json:  # whose keys are the names of the data's fields
                    print_json({"record": record}, line=True)
                else:
                    print(to_json(record))
            return
        count = write(found)
    output_files(options, f"wrote {count:,} predictions to {options.output}", [options.output], rows=count)
