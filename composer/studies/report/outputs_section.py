"""The arms' outputs for the same inputs, beside the reference, with the differences marked and disagreements first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from composer.views.tables import cut_text

#: Examples on the page, those of a task where there are many tasks, and characters of a text, at most.
EXAMPLES = 24
FEWEST = 3
LONGEST = 400

#: The keys of a sample that are not inputs of the model.
NOT_INPUTS = ("step", "head", "wanted", "found", "right")

Sample = Mapping[str, Any]


def outputs_of(tasks: Sequence[Sequence[tuple[str, Iterable[Sample]]]]) -> dict[str, Any] | None:
    """The examples that at least one arm has an output for, with the numbers of their tasks; None without any.

    tasks: of each, the name of each arm with the samples of one of its runs
    """
    each = max(FEWEST, EXAMPLES // max(1, len(tasks)))
    found, left_out = [], 0
    for number, samples in enumerate(tasks):
        examples = _examples(samples)
        found += [{**example, "task": number} for example in examples[:each]]
        left_out += max(0, len(examples) - each)
    return {"examples": found, "left_out": left_out, "longest": LONGEST} if found else None


def _examples(samples: Sequence[tuple[str, Iterable[Sample]]]) -> list[dict[str, Any]]:
    """The examples of a task, those on which its arms disagree first."""
    examples: dict[str, dict[str, Any]] = {}
    for arm, own in samples:
        for place, sample in enumerate(own):
            key = _identity(sample, place)
            example = examples.setdefault(key, _example(sample))
            if all(output["arm"] != arm for output in example["outputs"]):
                example["outputs"].append(_output(arm, sample))
    return sorted(examples.values(), key=_interest)


def _identity(sample: Sample, place: int) -> str:
    """Equal for the same example of two runs. A language model's samples have no input, and are matched by place."""
    given = {name: value for name, value in sample.items() if name not in ("step", "found", "right")}
    alone = not given.keys() - {"head"}
    return json.dumps([given, place if alone else None], sort_keys=True, default=str)


def _example(sample: Sample) -> dict[str, Any]:
    return {
        "head": sample.get("head"),
        "inputs": {name: _text(value) for name, value in sample.items() if name not in NOT_INPUTS},
        "wanted": _text(sample["wanted"]) if sample.get("wanted") is not None else None,
        "outputs": [],
    }


def _output(arm: str, sample: Sample) -> dict[str, Any]:
    found, wanted, right = _text(sample.get("found", "")), sample.get("wanted"), sample.get("right")
    # Numbers are never quite equal, so that marks would hide them: only what can be right is marked.
    marked = wanted is not None and right is not None
    return {
        "arm": arm,
        "right": right if isinstance(right, bool) else None,
        "pieces": pieces(_text(wanted), found) if marked else [["same", found]],
    }


def _interest(example: Mapping[str, Any]) -> tuple[int, int]:
    """Disagreements between the arms first, then examples that more of the arms get wrong."""
    distinct = len({json.dumps(output["pieces"]) for output in example["outputs"]})
    wrong = sum(output["right"] is False for output in example["outputs"])
    return -distinct, -wrong


def pieces(wanted: str, found: str) -> list[list[str]]:
    """The output in pieces that equal the reference or are wrong, and what is missing between them.

    Texts of several words are compared by word, others by character: place by place if the texts are equally long and
    differ in few places, else by their longest common parts.
    """
    parts = r"\s+|\S+" if " " in wanted.strip() or " " in found.strip() else r"(?s:.)"  # words and the spaces between
    left, right = re.findall(parts, wanted), re.findall(parts, found)
    if len(left) == len(right) and 2 * sum(map(str.__ne__, left, right)) <= len(left):
        return _merged([("same" if a == b else "wrong", b) for a, b in zip(left, right, strict=True)])
    marked = []
    for kind, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "delete":
            marked.append(("missing", "".join(left[i:j])))
        else:
            marked.append(("same" if kind == "equal" else "wrong", "".join(right[k:m])))
    return _merged(marked)


def _merged(marked: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Neighbours of the same kind joined."""
    return [[kind, "".join(text for _, text in group)] for kind, group in groupby(marked, key=lambda piece: piece[0])]


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return cut_text(text, LONGEST)
