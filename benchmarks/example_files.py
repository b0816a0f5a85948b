"""Writes the files of composer/data/examples: python -m benchmarks.example_files

Every file is small, has the form that a user's own file would have, and can be learned within two minutes:

    dates.conll       sentences with dates, a word and its tag on every line; the dates are those of Babel
    entailment.tsv    two texts, and whether the second follows from the first
    commands.tsv      commands, and what each of them asks for
    intents.tsv       commands with a tag for every word, and what each command asks for
    shops.csv         past sales of a shop, its size and region, and its sales of the next month

The same seed gives the same files. Only the dates depend on the version of Babel. vectors.txt, the vectors of the words
in these commands, is not written here. It has the vectors, rounded to three decimals, of the best checkpoint of such a
run, which was stopped after 600 steps:

    python train.py experiment=word2vec data=labelled data.path=example:commands.tsv data.tokeniser.type=words \\
        '~data.length' model.dim=16 objective.subsample=null training.batch=256 training.epochs=60 name=words
    python -m composer export runs/words --format vectors -o words
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.example_sentences import commands, pairs_of_texts
from composer.core.storage.example_files import EXAMPLES
from composer.data.embedded.date_parts import DateParts

#: Rows of a file. Whether a text follows from another takes more of them to learn.
ROWS = 1500
PAIRS = 2500

#: Locales of the dates, the more frequent one twice.
LOCALES = ["en", "en", "de", "fr", "es"]


def dates() -> str:
    source = DateParts(locales=LOCALES, train_size=ROWS, valid_size=1)
    sentences = (zip(row.values["source"], row.values["target"], strict=True) for row in source.records("train"))
    return "\n".join("".join(f"{word}\t{tag}\n" for word, tag in sentence) for sentence in sentences)


def entailment() -> str:
    return table(["premise", "hypothesis", "label"], pairs_of_texts(random.Random(1)), "\t", PAIRS)


def intents() -> str:
    return table(["words", "tags", "intent"], commands(random.Random(2)), "\t")


def labelled_commands() -> str:
    rows = ((words, intent) for words, _, intent in commands(random.Random(4)))
    return table(["text", "intent"], rows, "\t")


def shops() -> str:
    return table(["history", "size", "region", "value"], sales(random.Random(3)), ",")


def table(names: list[str], rows: Iterator[tuple[object, ...]], delimiter: str, count: int = ROWS) -> str:
    """The first ``count`` rows that differ from each other, below the names of the columns."""
    found: dict[tuple[object, ...], None] = {}
    while len(found) < count:
        found[next(rows)] = None
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([names, *found])
    return file.getvalue()


#: Region -> how much of its usual sales a shop there sells in the next month.
SEASONS = {"north": 0.7, "east": 0.9, "south": 1.0, "west": 1.3}


def sales(draw: random.Random) -> Iterator[tuple[object, ...]]:
    """Shops without end. The months before the last ones hardly count; a large shop grows, a small one shrinks."""
    while True:
        usual = draw.uniform(2, 12)
        history = [max(0, round(draw.gauss(usual, 2))) for _ in range(draw.randint(3, 8))]
        size, region = draw.randint(1, 9), draw.choice(list(SEASONS))
        level = 0.5 * history[-1] + 0.3 * history[-2] + 0.2 * history[-3]
        value = level * SEASONS[region] + 0.6 * (size - 5) + draw.gauss(0, 0.4)
        yield " ".join(map(str, history)), size, region, f"{value:.1f}"


#: The name of a file -> its text.
FILES: dict[str, Callable[[], str]] = {
    "dates.conll": dates,
    "entailment.tsv": entailment,
    "commands.tsv": labelled_commands,
    "intents.tsv": intents,
    "shops.csv": shops,
}


def write(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(EXAMPLES)
