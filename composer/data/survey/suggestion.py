"""The section ``data`` and the model to start from, for the columns that were found."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

import yaml

from composer.core.examples import is_example
from composer.data.files import kind_of
from composer.data.layout.cutting import Cutting
from composer.data.survey.columns import LABELS, ColumnSummary
from composer.data.survey.surveying import Survey
from composer.data.tables import Column

#: Series have at least this number of steps.
STEPS = 100


@dataclass(frozen=True)
class Suggestion:
    """
    model: the template
    data: the section ``data``
    more: other overrides that the model needs
    why: what the model does with the data, in a few words
    """

    model: str
    data: dict[str, Any]
    why: str
    more: dict[str, str] = field(default_factory=dict)

    @property
    def section(self) -> str:
        """The section as YAML."""
        lines = ["data:"]
        for key, value in self.data.items():
            if isinstance(value, dict):
                lines += [f"  {key}:", *(f"    {name}: {_flow(item)}" for name, item in value.items())]
            else:
                lines.append(f"  {key}: {_flow(value)}")
        return "\n".join(lines)

    @property
    def command(self) -> str:
        """The command that trains with it."""
        words = ["python", "train.py", f"model={self.model}", f"data={self.data['type']}"]
        words += [f"{key}={value}" for key, value in self.more.items()]
        words += [f"data.{key}={_override(value)}" for key, value in self.data.items() if key != "type"]
        return shlex.join(words)


def suggest(found: Survey) -> Suggestion | None:
    """A section for the files; None where the columns leave open what to do with them."""
    match found.kind:
        case "parallel":
            data = _files(found, "pairs", path=str(found.first), parallel=str(found.columns[1].column))
            return Suggestion("seq2seq", data, "translates the lines of one file into those of the other")
        case "classes":
            return Suggestion("seq2vec", _files(found, "labelled", path=found.path), "tells the class of a line")
        case "text":
            return Suggestion("language_model", _files(found, "text"), "continues a text")
        case "recordings" | "pictures":
            data = _files(found, "audio" if found.kind == "recordings" else "images", path=found.path)
            return Suggestion("seq2vec", data, "tells the class of a file, by its folder or the beginning of its name")
        case "tagged":
            return _tagged(found)
        case "table":
            return _table(found)
        case "word_vectors":
            return None


def _files(found: Survey, preset: str, **keys: Any) -> dict[str, Any]:
    """The keys that name files and say what the files themselves leave open."""
    typed = len(found.files) > 1 or is_example(found.path)
    data: dict[str, Any] = {"type": preset, "path": found.path if typed else str(found.first), **keys}
    if found.valid is not None:
        data["valid"] = str(found.valid)
    if found.test is not None:
        data["test"] = str(found.test)
    return data


def _tagged(found: Survey) -> Suggestion:
    data = _files(found, "tagged")
    if kind_of(found.first) != "conllu":
        tags = [c for c in found.columns[1:] if c.guess == "class"]
        data |= {"words": found.columns[0].column, "tags": (tags or found.columns)[-1].column}
    return Suggestion("tagger", data, "tells the tag of every word")


def _table(found: Survey) -> Suggestion | None:
    kinds: dict[str, list[ColumnSummary]] = {}
    for column in found.columns:
        kinds.setdefault(column.guess, []).append(column)
    texts, numbers, classes = (kinds.get(guess, []) for guess in ("text", "number", "class"))
    label = _label(classes)
    files = _layout(found)
    if "split" in kinds:
        files["split_column"] = kinds["split"][0].column

    def table(source: dict[str, Any], target: dict[str, Any], model: str, why: str, **more: str) -> Suggestion:
        data = {**_files(found, "table"), "fields": {"source": source, "target": target}, **files}
        return Suggestion(model, data, why, more)

    for kind, embedding in (("image", "patches"), ("audio", "continuous")):
        if kind in kinds and label is not None:
            source = {"type": kind, "column": kinds[kind][0].column}
            return table(source, _class(label), "seq2vec", f"tells the class of the {kind}", embedding=embedding)
    if "image" in kinds and texts:
        picture = {"type": "image", "column": kinds["image"][0].column, "size": [32, 32]}
        fields = {"picture": picture, "caption": _generated(texts[0])}
        return Suggestion("captioner", {**_files(found, "table"), "fields": fields, **files}, "describes the picture")
    if "attributes" in kinds and texts:
        source = {"type": "attributes", "column": kinds["attributes"][0].column}
        return table(source, _generated(texts[0]), "vec2seq", "writes the text about the attributes")
    words = [column for column in found.columns if column.guess in ("text", "class")]
    if "features" in kinds and len(words) == 2:  # a lemma comes again and again, as a class does
        data = {**_files(found, "pairs"), **_pair([words[0], kinds["features"][0], words[1]]), **files}
        return Suggestion("seq2seq", data, "inflects the first word by its features")
    if texts and label is not None:
        return table(_text(texts), _class(label), "seq2vec", "tells the class of the text")
    if len(texts) > 1:
        return Suggestion("seq2seq", {**_files(found, "pairs"), **_pair(texts), **files}, _said(texts))
    if texts and numbers:
        target = {"type": "number", "column": numbers[-1].column}
        return table(_text(texts), target, "seq2vec", "tells the number from the text", head="gaussian")
    return _of_numbers(found, kinds, label, files)


def _of_numbers(
    found: Survey, kinds: dict[str, list[ColumnSummary]], label: ColumnSummary | None, files: dict[str, Any]
) -> Suggestion | None:
    """Columns of numbers alone: a series, or the features of a class."""
    numbers = kinds.get("number", [])
    features: list[Column] = [column.column for column in numbers]
    outside = label is not None and (label in (found.columns[0], found.columns[-1]) or _called_label(label))
    if "text" not in kinds and label is not None and outside and len(numbers) > 1:
        fields = {"source": {"type": "sequence", "columns": features}, "target": _class(label)}
        data = {**_files(found, "table"), "fields": fields, **files}
        return Suggestion("seq2vec", data, "tells the class from the numbers, read one after the other",
                          {"embedding": "continuous"})  # fmt: skip
    if numbers and "text" not in kinds and found.rows >= STEPS:
        data = _files(found, "series") | {key: files[key] for key in ("delimiter",) if key in files}
        return Suggestion("forecaster", data, "forecasts the columns of numbers")
    return None


def _label(classes: list[ColumnSummary]) -> ColumnSummary | None:
    """The column of classes to predict: by its name, or else the one with the fewest classes."""
    named = [column for column in classes if _called_label(column)]
    return next(iter(named or sorted(classes, key=lambda column: column.distinct)), None)


def _called_label(column: ColumnSummary) -> bool:
    return str(column.column).lower() in LABELS


def _text(texts: list[ColumnSummary]) -> dict[str, Any]:
    if len(texts) == 1:
        return {"type": "text", "column": texts[0].column}
    return {"type": "text", "columns": [column.column for column in texts], "separator": " | "}


def _pair(texts: list[ColumnSummary]) -> dict[str, Any]:
    """The columns of pairs, where they are not the first two: all texts but the last, and the last."""
    source: list[Column] = [column.column for column in texts[:-1]]
    chosen: dict[str, Any] = {"source": source if len(source) > 1 else source[0], "target": texts[-1].column}
    return {key: column for key, column in chosen.items() if column != {"source": 1, "target": 2}[key]}


def _said(texts: list[ColumnSummary]) -> str:
    return "turns the first text into the second" if len(texts) == 2 else "turns all texts but the last into the last"


def _generated(text: ColumnSummary) -> dict[str, Any]:
    return {"type": "text", "column": text.column, "sentences": "bpe"}


def _class(label: ColumnSummary) -> dict[str, Any]:
    return {"type": "class", "column": label.column}


def _layout(found: Survey) -> dict[str, Any]:
    """The keys that fix what was found in the table and its name does not say, so that other files are read alike."""
    layout = found.reading.layout(found.first)
    usual = Cutting(",", quoted=True) if kind_of(found.first) == "csv" else Cutting("\t")
    keys: dict[str, Any] = {}
    if layout.form == "delimited":
        if layout.cutting.delimiter != usual.delimiter:
            keys["delimiter"] = layout.cutting.name
        if layout.cutting.quoted != usual.quoted:
            keys["quotes"] = layout.cutting.quoted
        if layout.numerals.decimal != ".":
            keys["decimal"] = layout.numerals.decimal
    if layout.encoding != "utf-8":
        keys["encoding"] = layout.encoding
    return keys


def _flow(value: Any) -> str:
    """A value as YAML in one line."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=True, width=10**6)
    return text.removesuffix("...\n").strip()


def _override(value: Any) -> str:
    """A value as an override spells it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_override(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_override, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and not _plain(value):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


def _plain(text: str) -> bool:
    """Whether Hydra reads the text as it is: letters, digits and what stands in paths; not as a number."""
    return bool(text) and all(c.isalnum() or c in "_-./%+@?|*" for c in text) and not text.replace(".", "").isdigit()
