"""Damaged forms of a config: words of the command line and lines of YAML that are wrong, missing or elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import yaml

from benchmarks.fuzz.cases import CONF, Case

#: The damaged forms of every random config.
FORMS = 7

JUNK = [
    "abc", "", "null", "-1", "0", "1.5", "1e400", "nan", "true", "[]", "[1,2]", "{}", "{a: 1}", "${model.dim}",
    "${nowhere}", "'\\n'", "9" * 23, "../x", "auto", "é",
]  # fmt: skip

#: What is put before a line of YAML, or in the place of its value, beside ``JUNK``.
BEFORE = ["  ", "- ", "\t", "? ", "&a ", "*a", "!!python/name:os.system "]
INSTEAD = ["*a", "&a [*a]", "!!binary x", "\0"]

LETTERS = "abz019 :=.-_~+@${}[]()'\"\\/,*&!#%|<>?\n\téß中\u200b\U0001f600\udcff"


@cache
def keys() -> list[str]:
    """The paths of all keys of the config's sections outside of the model."""
    found = []

    def walk(value: Any, path: str) -> None:
        found.append(path)
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{path}.{key}")

    for key, value in yaml.safe_load((CONF / "train.yaml").read_text(encoding="utf-8")).items():
        if key not in ("defaults", "hydra"):
            walk(value, key)
    return [
        *found, "model", "model.dim", "model.nodes.encoder.depth", "model.nodes.decoder.depth", "data", "data.type",
        "data.seed", "optimiser.type", "optimiser.learning_rate", "schedule.type", "schedule.warmup",
    ]  # fmt: skip


def mutations(case: Case, draw: random.Random) -> Iterator[Case]:
    """Damaged forms of a case: of its words, or of the text of its graph."""
    for number in range(FORMS):
        if case.experiment is not None and number % 3:
            yield damaged_text(case, draw)
        else:
            yield damaged_overrides(case, draw)


def damaged_overrides(case: Case, draw: random.Random) -> Case:
    """A case with overrides whose key or value is wrong, or that delete a key."""
    words = list(case.overrides)
    for _ in range(draw.randint(1, 2)):
        key = draw.choice(keys())
        match draw.randrange(6):
            case 0:
                words.append(f"{key}={draw.choice(JUNK)}")
            case 1:
                place = draw.randrange(len(words))
                words[place] = words[place].split("=")[0] + "=" + draw.choice(JUNK)
            case 2:
                words.append(f"{draw.choice(['~', '+', '++', '--', ''])}{key}")
            case 3:
                words.append(f"+{key}.{draw.choice(['type', 'x', '_target_'])}={draw.choice(JUNK)}")
            case 4:
                cut = draw.randint(0, len(key))
                words.append(f"{key[:cut]}z{key[cut:]}=1")
            case _:
                words.append(noise(draw, 8))
    return replace(case, overrides=tuple(words), damaged=True, kind="damaged overrides")


def damaged_text(case: Case, draw: random.Random) -> Case:
    """The YAML of a graph with lines removed, repeated, swapped, indented or overwritten."""
    assert case.experiment is not None
    lines = case.experiment.split("\n")
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(lines))
        match draw.randrange(6):
            case 0:
                del lines[at : at + 1]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                other = draw.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = draw.choice(BEFORE) + lines[at]
            case 4:
                lines[at] = lines[at].split(":")[0] + ": " + draw.choice([*JUNK, *INSTEAD])
            case _:
                lines[at] = noise(draw, 12)
        lines = lines or [""]
    return replace(case, experiment="\n".join(lines), damaged=True, kind="damaged YAML")


def noise(draw: random.Random, longest: int) -> str:
    return "".join(draw.choice(LETTERS) for _ in range(draw.randint(0, longest)))
