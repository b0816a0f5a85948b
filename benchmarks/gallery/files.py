"""The files that the systems read, written from the data sets: cut, split with a fixed seed, and made uniform."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.transfer import sentences

#: The longest sentence of the translation task, in words, and the number of its training pairs.
LONGEST = 10
PAIRS = 40_000

#: The least number of words of a sentence that counts as long.
LONG = 8

#: The numbers of takes of a spoken digit that are the test set.
TEST_TAKES = range(5)


def write_files(data: Path, folder: Path, overrides: Sequence[str]) -> None:
    """Write the files that the overrides name into ``folder``. Files that are there already stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for beginning, maker in MAKERS.items():
        done = folder / f".{maker.__name__}"
        if not done.exists() and any(f"{{files}}/{beginning}" in override for override in overrides):
            maker(data, folder)
            done.touch()


def book(data: Path, folder: Path) -> None:
    """The Time Machine without Gutenberg's words before and after it, as 26 lower-case letters and single spaces."""
    text = (data / "timemachine" / "timemachine.txt").read_text(encoding="utf-8")
    inside = re.split(r"\*\*\* ?(?:START|END) OF TH\w+ PROJECT GUTENBERG[^\n]*\n", text)
    assert len(inside) >= 2, "the book has Gutenberg's marks"
    (folder / "timemachine.txt").write_text(re.sub("[^a-z]+", " ", inside[1].lower()).strip(), encoding="utf-8")


def translation(data: Path, folder: Path) -> None:
    """English to French, at most 10 words on each side, lower case, punctuation as words of its own.

    All translations of an English sentence are in the same split.
    """
    by_source: dict[str, list[str]] = {}
    for line in (data / "eng_fra" / "fra.txt").read_text(encoding="utf-8").splitlines():
        source, target = (_words(cell) for cell in line.split("\t")[:2])
        if max(len(source.split()), len(target.split())) <= LONGEST:
            by_source.setdefault(source, []).append(target)
    sources = sorted(by_source)
    random.Random(0).shuffle(sources)
    parts = {"test": sources[:2000], "valid": sources[2000:3000], "train": sources[3000:]}
    for name, part in parts.items():
        rows = [(source, target) for source in part for target in by_source[source]]
        if name != "train":
            rows = [(source, by_source[source][0]) for source in part]
        _tsv(folder / f"fra-{name}.tsv", rows[:PAIRS])
        if name == "test":
            _tsv(folder / "fra-long.tsv", [row for row in rows if len(row[0].split()) >= LONG])


def reversed_numbers(data: Path, folder: Path) -> None:
    """1 to 25 integers from 0 to 49, and the same backwards: the task of JoeyNMT's tutorial, in its sizes."""
    draw = random.Random(0)
    for name, size in (("train", 50_000), ("valid", 1000), ("test", 1000)):
        rows = [[str(draw.randrange(50)) for _ in range(draw.randint(1, 25))] for _ in range(size)]
        _tsv(folder / f"reversed-{name}.tsv", [(" ".join(row), " ".join(row[::-1])) for row in rows])


def _words(text: str) -> str:
    """Lower case, with spaces around punctuation and without the narrow spaces of French typography."""
    text = re.sub(r"[\u202f\u00a0]", " ", text.lower())
    return " ".join(re.sub(r"([.,!?;:\"()])", r" \1 ", text).split())


def reviews(data: Path, folder: Path) -> None:
    """Film reviews (MR): 2,000 sentences for the test, 662 for validation, 8,000 for training."""
    rows = [(text, label) for label in ("pos", "neg") for text in sentences(data / "mr" / f"rt-polarity.{label}")]
    random.Random(0).shuffle(rows)
    for name, part in (("test", rows[:2000]), ("valid", rows[2000:2662]), ("train", rows[2662:])):
        _tsv(folder / f"mr-{name}.tsv", part)
    _tsv(folder / "mr-few.tsv", rows[2662:3662])


def pronunciations(data: Path, folder: Path) -> None:
    """CMUdict without comments and stress: letters and phonemes. A word is in one split with all its variants."""
    by_word: dict[str, list[str]] = {}
    for line in (data / "cmudict" / "cmudict.dict").read_text(encoding="utf-8").splitlines():
        word, *phonemes = line.split("#")[0].split()
        by_word.setdefault(re.sub(r"\(\d+\)$", "", word), []).append(" ".join(re.sub(r"\d", "", p) for p in phonemes))
    words = sorted(word for word in by_word if re.fullmatch("[a-z']+", word))
    random.Random(0).shuffle(words)
    parts = {"test": words[:2000], "valid": words[2000:4000], "train": words[4000:]}
    for name, part in parts.items():
        _tsv(folder / f"cmu-{name}.tsv", [(word, said) for word in part for said in dict.fromkeys(by_word[word])])


def spoken_digits(data: Path, folder: Path) -> None:
    """Links to the recordings: takes 0 to 4 of every digit and speaker for the test, 5 to 9 for validation."""
    for file in sorted((data / "fsdd").glob("*.wav")):
        take = int(file.stem.split("_")[2])
        part = "test" if take in TEST_TAKES else "valid" if take < 2 * len(TEST_TAKES) else "train"
        place = folder / "digits" / part / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.symlink_to(file.resolve())


def few_sentences(data: Path, folder: Path) -> None:
    """The first 1,000 sentences of the treebank's training set."""
    text = (data / "ud_ewt" / "en_ewt-ud-train.conllu").read_text(encoding="utf-8")
    (folder / "ewt-few.conllu").write_text("\n\n".join(text.split("\n\n")[:1000]) + "\n\n", encoding="utf-8")


def hours(data: Path, folder: Path) -> None:
    """The first 20 months of ETTh1, which published figures are of: of 30 days each, with a value an hour."""
    lines = (data / "ett" / "ETTh1.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "ett-hours.csv").write_text("".join(lines[: 1 + 20 * 30 * 24]), encoding="utf-8")


def _tsv(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None).writerows(
            [tuple(cell.replace("\t", " ") for cell in row) for row in rows]
        )


#: By the beginning of a file's name, the function that writes it.
MAKERS: dict[str, Callable[[Path, Path], None]] = {
    "timemachine": book, "fra-": translation, "mr-": reviews, "cmu-": pronunciations, "digits/": spoken_digits,
    "ett-": hours, "ewt-": few_sentences,
    "reversed-": reversed_numbers,
}  # fmt: skip
