"""Damage to a file of a run's folder: torn, lost, replaced by junk, or with a value of another type inside."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import yaml

from composer.runs import checkpoint

JUNK = [b"", b"\0", b"null", b"[]", b"{}", b"7", b'"x"', b"\xff\xfe junk", b"{" * 2000, b"a: [", b"PK\x03\x04"]

#: Values that are put in the place of another one.
VALUES: list[Any] = [None, True, 0, -1, 4_000_000, 10**30, 2.5, float("nan"), "x", "", [], ["x"], [[]], {}, {"x": 1}]


def damage(run: Path, draw: random.Random) -> str:
    """Damage one file of a run's folder. Returns what was done to it."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name not in (".lock", "graph.svg"))
    path = draw.choice(files)
    ways: list[Callable[[Path, random.Random], str]] = [tear, lose, replace_content]
    inside = {
        ".json": in_json, ".jsonl": in_lines, ".yaml": in_yaml, ".safetensors": in_checkpoint, ".pt": in_checkpoint,
    }.get(path.suffix)  # fmt: skip
    if inside is not None:
        ways += [inside] * 5
    return f"{path.relative_to(run)}: {draw.choice(ways)(path, draw)}"


def tear(path: Path, draw: random.Random) -> str:
    content = path.read_bytes()
    at = draw.randint(0, len(content))
    path.write_bytes(content[:at])
    return f"torn at byte {at}"


def lose(path: Path, draw: random.Random) -> str:
    path.unlink()
    return "deleted"


def replace_content(path: Path, draw: random.Random) -> str:
    content = draw.choice(JUNK)
    path.write_bytes(content)
    return f"replaced by {content[:20]!r}"


def in_json(path: Path, draw: random.Random) -> str:
    content = json.loads(path.read_bytes())
    what = change(content, draw)
    path.write_text(json.dumps(content), encoding="utf-8")
    return what


def in_lines(path: Path, draw: random.Random) -> str:
    lines = path.read_text(encoding="utf-8").splitlines() or ["{}"]
    at = draw.randrange(len(lines))
    content = json.loads(lines[at])
    what = change(content, draw)
    lines[at] = json.dumps(content if draw.random() < 0.8 else draw.choice(VALUES))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return f"line {at + 1}: {what}"


def in_yaml(path: Path, draw: random.Random) -> str:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    what = change(content, draw)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return what


def in_checkpoint(path: Path, draw: random.Random) -> str:
    """Another value in a checkpoint whose digest fits: somebody wrote it so."""
    content = checkpoint.load(path)
    what = change(content, draw)
    checkpoint.save(path, content)
    return what


def change(content: Any, draw: random.Random) -> str:
    """Change or remove a value somewhere in plain data, so that values near the top are as likely as those below."""
    path, holder = [], content
    if not content:
        return "nothing"
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = draw.choice(keys)
        path.append(str(key))
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.25:
            break
        holder = inner
    name = ".".join(path)
    if draw.random() < 0.2:
        del holder[key]
        return f"{name} removed"
    other = other_value(inner, draw)
    holder[key] = other
    return f"{name} is {str(other)[:40]}"


def other_value(value: Any, draw: random.Random) -> Any:
    if isinstance(value, torch.Tensor) and draw.random() < 0.6:
        others = [value.double(), value.new_zeros(0), value.new_zeros(3, 5), value.flatten(), value.long(), [value]]
        return draw.choice(others)
    if isinstance(value, str) and draw.random() < 0.5:
        return value + "x" if draw.random() < 0.5 else value[:-1]
    if isinstance(value, dict | list) and draw.random() < 0.4:
        return list(value.items()) if isinstance(value, dict) else {str(i): each for i, each in enumerate(value)}
    return draw.choice(VALUES)
