"""What to predict from a table, by the types and the names of its columns, or the tasks to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from composer.data.files.lines import kind_of
from composer.data.layout.cutting import Cutting
from composer.data.survey.column_survey import ColumnSummary
from composer.data.survey.roles import Roles
from composer.data.survey.suggestion import Advice, Suggestion, file_keys
from composer.data.survey.surveying import Survey
from composer.data.tables.table import Column

#: The section of a declared field.
FieldSection = dict[str, Any]

#: A series has at least this number of steps. One with fewer than the second gets shorter windows than usual.
STEPS, SHORT = 40, 500

#: The usual number of steps to forecast, from four times as many. Where the stretches without a gap have fewer steps
#: than this number of times as many, on average, gaps are filled.
HORIZON, FREE = 24, 10

#: The embedding of a model that reads such a field, where it is not that of tokens.
EMBEDDINGS = {"sequence": "continuous", "audio": "continuous", "image": "patches"}

#: The largest number of tasks to choose from that are shown.
CHOICES = 5


def advise_table(found: Survey) -> Advice:
    """The task that a person would take a table for; where the columns leave it open, those to choose from."""
    roles = Roles(found)
    suggestion = next(_tasks(found, roles), None)
    if suggestion is None:
        choices = tuple(_choices(found, roles))[:CHOICES]
        unsure = "The columns do not say what is to be predicted."
        return Advice(
            None, choices, f"{unsure} {'Choose:' if choices else 'Declare fields: docs/data.md, data=table.'}"
        )
    read = _read(suggestion.data)
    if suggestion.data["type"] == "series" and "channels" not in suggestion.data:
        return Advice(suggestion)
    left = [c for c in found.columns if c.column not in read]
    unread = {c.column: roles.unread.get(c.column) or _other(c, roles, suggestion) for c in left}
    return Advice(suggestion, unread=unread)


def _tasks(found: Survey, roles: Roles) -> Iterator[Suggestion]:
    """The tasks that the columns fit, the likeliest first."""
    yield from _media(found, roles)
    yield from _lists(found, roles)
    attributes, features = roles.first("attributes"), roles.first("features")
    if attributes is not None and roles.texts:
        source, target = _field("attributes", attributes), _generated(roles.texts[0])
        yield _table(found, source, target, "vec2seq", "writes the text about the attributes")
    words = [c for c in found.columns if c.guess in ("text", "class") and c.column not in roles.unread]
    if features is not None and len(words) == 2:  # a lemma comes again and again, as a class does
        yield _inflection(found, words[0], words[1], features)
    if not roles.is_series or roles.named_label is not None:
        yield from _of_texts(found, roles)
    yield from _of_numbers(found, roles)


def _media(found: Survey, roles: Roles) -> Iterator[Suggestion]:
    pictures, sounds = roles.first("image"), roles.first("audio")
    for kind, files in (("image", pictures), ("audio", sounds)):
        if files is not None and roles.label is not None:
            yield _classification(found, _field(kind, files), roles.label, f"tells the class of the {kind}")
    if pictures is not None and roles.texts:
        fields = {"picture": _field("image", pictures, size=[32, 32]), "caption": _generated(roles.texts[0])}
        yield Suggestion("captioner", _with_fields(found, fields), "describes the picture")


def _lists(found: Survey, roles: Roles) -> Iterator[Suggestion]:
    """Cells that are lists: of words, with a tag for each or a class for all; of numbers, with a class."""
    if (tagged := roles.tagged) is not None:
        yield _tagger(found, *tagged, roles.named_label)
    words = [c for c in found.columns if c.guess == "words" and not (roles.texts and c in roles.classes)]
    if len(words) == 1 and roles.label is not None and not roles.texts:
        yield _classification(found, _field("words", words[0]), roles.label, "tells the class of the words")
    if (numbers := roles.first("sequence")) is None:
        return
    if roles.named_value is not None and roles.named_label is None:
        yield _regression(found, _field("sequence", numbers), roles.named_value, "the sequence")
    elif roles.label is not None:
        yield _classification(found, _field("sequence", numbers), roles.label, "tells the class of the sequence")


def _tagger(found: Survey, words: ColumnSummary, tags: ColumnSummary, label: ColumnSummary | None) -> Suggestion:
    """A tag for every word, and the class of the sentence, if there is one."""
    if label is None:
        target = _field("tags", tags, along="source")
        return _table(found, _field("words", words), target, "tagger", "tells the tag of every word")
    fields = {"words": _field("words", words), "tags": _field("tags", tags, along="words"), "intent": _class(label)}
    why = "tells the tag of every word and the class of the sentence"
    return Suggestion("tagger_classifier", _with_fields(found, fields), why)


def _inflection(found: Survey, lemma: ColumnSummary, form: ColumnSummary, features: ColumnSummary) -> Suggestion:
    parts = {
        "lemma": _field("text", lemma, tokeniser={"type": "characters"}),
        "features": _field("words", features, separator=";", shapes=False),
    }
    why = "inflects the lemma, read by letters, by its features"
    return _table(found, {"type": "joined", "parts": parts}, _field("text", form), "seq2seq", why)


def _of_texts(found: Survey, roles: Roles) -> Iterator[Suggestion]:
    texts, numbers, pair = roles.texts, roles.numbers, roles.pair
    if pair is not None and roles.named_label is None:
        yield _pairs(found, *pair)
    if texts and roles.label is not None:
        what = "the class" if roles.label.guess == "class" else "all labels"
        yield _classification(found, _text(texts), roles.label, f"tells {what} of the text")
    if len(texts) == 2:
        yield _pairs(found, texts[:1], texts[1])
    value = roles.named_value or (numbers[0] if len(numbers) == 1 else None)
    if len(texts) == 1 and value is not None:
        yield _regression(found, _text(texts), value, "the text")
    if len(texts) == 1 and not numbers:
        fields = {"target": _generated(texts[0])}
        yield Suggestion("language_model", _with_fields(found, fields), "continues a text")


def _of_numbers(found: Survey, roles: Roles) -> Iterator[Suggestion]:
    """Columns of numbers: the features of a class or of a value, or a series."""
    label, value = roles.named_label or (None if roles.has_time else roles.edge_label), roles.named_value
    if label is not None and not roles.texts and (inputs := _beside(roles.numbers, label)):
        why = f"tells {label.column} from the numbers, read one after the other"
        yield _classification(found, inputs, label, why)
    if value is not None and not roles.calendar and not roles.texts and (inputs := _beside(roles.numbers, value)):
        yield _regression(found, inputs, value, "the other numbers")
    if roles.is_series and found.rows >= STEPS:
        yield _series(found, roles)


def _series(found: Survey, roles: Roles) -> Suggestion:
    """All numbers that are no parts of a date, as channels; the windows of a short series are short."""
    layout = {key: value for key, value in _layout(found).items() if key != "quotes"}
    data = {**file_keys(found, "series"), **layout}
    if found.columns != roles.numbers:
        data["channels"] = [c.column for c in roles.numbers]
    if found.times is not None:
        time = list(found.times.columns)
        data["time"] = time[0] if len(time) == 1 else time
        data |= {} if found.times.ordered else {"sort": True}
    horizon = max(1, found.rows // 24) if found.rows < SHORT and found.whole else HORIZON
    if horizon != HORIZON:
        data |= {"length": 4 * horizon, "horizon": horizon}
    why = "forecasts the channels; data.forecast=[...] names some of them to forecast"
    gaps = sum(c.empty for c in roles.numbers) + (found.times.gaps if found.times is not None else 0)
    if gaps and found.rows / gaps < FREE * horizon:
        data["fill"], why = "linear", f"{why}, and data.fill says how gaps are filled"
    return Suggestion("forecaster", data, why)


def _choices(found: Survey, roles: Roles) -> Iterator[Suggestion]:
    """A task for every column that may be the one to predict."""
    texts, numbers = roles.texts, roles.numbers
    for value in reversed(numbers):
        if texts:
            yield _regression(found, _text(texts), value, "the text" if len(texts) == 1 else "the texts")
        elif inputs := _beside(numbers, value):
            yield _regression(found, inputs, value, "the other numbers")
    for text in reversed(texts[1:]):
        yield _pairs(found, texts[:1], text)
    if numbers and not texts and found.rows >= STEPS and (roles.has_time or not roles.calendar):
        yield _series(found, roles)
    for label in roles.classes:
        if inputs := _beside(numbers, label):
            yield _classification(found, inputs, label, f"tells {label.column} from the numbers")


def _table(found: Survey, source: FieldSection, target: FieldSection, model: str, why: str) -> Suggestion:
    embedding = EMBEDDINGS.get(source["type"])
    more = {} if embedding is None else {"embedding": embedding}
    return Suggestion(model, _with_fields(found, {"source": source, "target": target}), why, more)


def _classification(found: Survey, source: FieldSection, label: ColumnSummary, why: str) -> Suggestion:
    return _table(found, source, _class(label), "seq2vec", why)


def _regression(found: Survey, source: FieldSection, value: ColumnSummary, given: str) -> Suggestion:
    return _table(found, source, _field("number", value), "seq2vec", f"tells the number {value.column} from {given}")


def _with_fields(found: Survey, fields: Mapping[str, FieldSection]) -> dict[str, Any]:
    """The section of a table with these fields. Rows without a class or a number to predict are left out."""
    lacking = {c.column for c in found.columns if c.empty}
    bad = [field for field in fields.values() if field["type"] in ("class", "number") and field["column"] in lacking]
    skip = {"skip_bad": True} if bad else {}
    return {**file_keys(found, "table"), "fields": fields, **_layout(found), **_split_column(found), **skip}


def _split_column(found: Survey) -> dict[str, Any]:
    named = [c.column for c in found.columns if c.guess == "split"]
    return {"split_column": named[0]} if named else {}


def _pairs(found: Survey, sources: Sequence[ColumnSummary], target: ColumnSummary) -> Suggestion:
    usual: dict[str, Any] = {"source": 1, "target": 2}  # the columns of data=pairs
    given = [source.column for source in sources]
    chosen = {"source": given if len(given) > 1 else given[0], "target": target.column}
    columns = {key: column for key, column in chosen.items() if column != usual[key]}
    layout = {key: value for key, value in _layout(found).items() if key != "decimal"}  # texts have no numbers
    data = {**file_keys(found, "pairs"), **columns, **layout, **_split_column(found)}
    return Suggestion("seq2seq", data, f"writes {_named(target)} from {' and '.join(map(_named, sources))}")


def _beside(numbers: Sequence[ColumnSummary], target: ColumnSummary) -> FieldSection | None:
    """The numbers without the target, read one after the other; None where there is no other."""
    inputs = [c for c in numbers if c is not target]
    fill = {"fill": "mean"} if any(c.empty for c in inputs) else {}
    return {"type": "sequence", "columns": [c.column for c in inputs], **fill} if inputs else None


def _field(kind: str, column: ColumnSummary, **more: Any) -> FieldSection:
    return {"type": kind, "column": column.column, **more}


def _text(texts: Sequence[ColumnSummary]) -> FieldSection:
    if len(texts) == 1:
        return _field("text", texts[0])
    return {"type": "text", "columns": [column.column for column in texts], "separator": " | "}


def _generated(text: ColumnSummary) -> FieldSection:
    return _field("text", text, sentences="bpe")


def _class(label: ColumnSummary) -> FieldSection:
    if label.guess == "class":
        return _field("class", label)
    between = {} if label.separator in (",", None) else {"separator": label.separator}
    return _field("classes", label, **between)


def _named(column: ColumnSummary) -> str:
    return f"column {column.column}" if isinstance(column.column, int) else f"'{column.column}'"


def _read(data: Any) -> set[Column]:
    """The columns that a section reads."""
    if not isinstance(data, dict):
        return set()
    paired = {"source": 1, "target": 2} if data.get("type") == "pairs" else {}
    read: set[Column] = set()
    for key, value in (paired | data).items():
        if key in ("column", "columns", "channels", "time", "split_column", *paired):
            read |= set(value) if isinstance(value, list) else {value}
        read |= _read(value)
    return read


def _other(column: ColumnSummary, roles: Roles, suggestion: Suggestion) -> str:
    """Why a column that could be read is not."""
    if column.column in roles.calendar:
        return "a part of the date"
    what = {"class": "classes", "classes": "labels", "text": "a text", "number": "a number"}.get(column.guess)
    target = suggestion.data.get("fields", {}).get("target", {})
    if what is not None and target.get("type") in (column.guess, "class", "classes") and column in roles.classes:
        return f"{what}, of which data.fields.target could be made instead"
    return what or column.guess


def _layout(found: Survey) -> dict[str, Any]:
    """The keys that fix what was found in the table and its name does not say, so that other files are read alike."""
    layout = found.reading.layout(found.first)
    keys: dict[str, tuple[Any, Any]] = {"encoding": (layout.encoding, "utf-8")}  # what was found, and the usual
    if layout.form == "delimited":
        usual = Cutting(",", quoted=True) if kind_of(found.first) == "csv" else Cutting("\t")
        keys |= {
            "delimiter": (layout.cutting.name, usual.name),
            "quotes": (layout.cutting.quoted, usual.quoted),
            "decimal": (layout.numerals.decimal, "."),
        }
    return {key: value for key, (value, usual_value) in keys.items() if value != usual_value}
