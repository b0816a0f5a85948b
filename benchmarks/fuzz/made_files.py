"""Small data files, of every kind that a source reads."""

from __future__ import annotations

import random
import wave
from collections.abc import Callable
from pathlib import Path

from PIL import Image

WORDS = ("the", "a", "man", "woman", "dog", "sees", "hears", "eats", "sleeps", "runs", "red", "big", "house", "tree")
ROWS = 24

#: The columns of a wide table: so many of each type of field.
GROUPS = 12
WIDE = [f"{kind}{group}" for group in range(GROUPS) for kind in ("text", "words", "tags", "steps", "number", "kind")]


def make_files(folder: Path) -> None:
    """Write one file or folder for each source that reads the user's files. The content depends on nothing else."""
    draw = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)

    def sentence() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 6)))

    def numbers(count: int) -> list[str]:
        return [f"{draw.gauss(0, 1):.3f}" for _ in range(count)]

    _lines(folder / "pairs.tsv", [f"{sentence()}\t{sentence()}" for _ in range(ROWS)])
    _lines(folder / "labelled.tsv", [f"{sentence()}\t{draw.choice('abc')}" for _ in range(ROWS)])
    _lines(folder / "text.txt", [sentence() for _ in range(8 * ROWS)])
    _lines(folder / "series.csv", ["x,y", *(",".join(numbers(2)) for _ in range(8 * ROWS))])
    _lines(folder / "vectors.csv", ["a,b,text", *(",".join([*numbers(2), sentence()]) for _ in range(ROWS))])
    tagged = [[f"{word}\t{draw.choice(['N', 'V'])}" for word in sentence().split()] for _ in range(ROWS)]
    _lines(folder / "tagged.conll", [line for words in tagged for line in [*words, ""]])
    header = "text,words,tags,steps,a,b,c,d,kind"
    _lines(folder / "table.csv", [header, *(_table_row(draw, sentence(), numbers) for _ in range(ROWS))])
    wide = [[",".join(_cells(draw, sentence(), numbers)) for _ in range(GROUPS)] for _ in range(ROWS)]
    _lines(folder / "wide.csv", [",".join(WIDE), *map(",".join, wide)])
    for index in range(ROWS):
        kind = folder / "pictures" / ("dark" if index % 2 else "light")
        kind.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8), 40 if index % 2 else 200).save(kind / f"{index}.png")
        _tone(folder / "sounds" / f"{index % 2}_{index}.wav")


def _table_row(draw: random.Random, text: str, numbers: Callable[[int], list[str]]) -> str:
    *cells, _, kind = _cells(draw, text, numbers)
    return ",".join([*cells, *numbers(4), kind])


def _cells(draw: random.Random, text: str, numbers: Callable[[int], list[str]]) -> list[str]:
    """A text, words, their tags, steps, a number and a class."""
    tags = " ".join(draw.choice(["N", "V"]) for _ in text.split())
    steps = "; ".join(f"{draw.gauss(0, 1):.2f} {draw.gauss(0, 1):.2f}" for _ in range(draw.randint(2, 5)))
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 4))), text, tags, steps, *numbers(1), draw.choice("xyz")]


def _lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _tone(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(3200))
