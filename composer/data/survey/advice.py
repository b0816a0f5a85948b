"""What to do with the files that were found: the section ``data`` and the model to start from."""

from __future__ import annotations

from typing import Any

from composer.data.files.lines import kind_of
from composer.data.survey.split_choice import split_name
from composer.data.survey.suggestion import Advice, Suggestion, file_keys
from composer.data.survey.surveying import Survey
from composer.data.survey.table_tasks import advise_table


def advise(found: Survey) -> Advice:
    """A suggestion for the files, or what to choose from where the files leave open what to do with them."""
    match found.kind:
        case "parallel":
            data = file_keys(found, "pairs", path=str(found.first), parallel=str(found.columns[1].column))
            return Advice(Suggestion("seq2seq", data, "translates the lines of one file into those of the other"))
        case "classes":
            return _classes(found)
        case "text":
            return Advice(Suggestion("language_model", file_keys(found, "text"), "continues a text"))
        case "recordings" | "pictures":
            return _media(found)
        case "tagged":
            return Advice(_tagged(found))
        case "table":
            return advise_table(found)
        case "word_vectors":
            return Advice(None)


def _classes(found: Survey) -> Advice:
    if any(split_name(file) for file in found.files):
        unclear = "The names of the files tell splits, but not which file of a split goes with which of another."
        return Advice(None, unsure=f"{unclear} Give the path of one training file, or one folder for each split.")
    return Advice(Suggestion("seq2vec", file_keys(found, "labelled"), "tells the class of a line"))


def _media(found: Survey) -> Advice:
    """Files of one class each, which their folders or names tell."""
    folder, name = (next(c for c in found.columns if c.column == column) for column in ("folder", "name"))
    told = folder if folder.distinct > 1 else name
    classes = told.distinct
    if told is name and found.parts is not None and found.parts.label is not None:
        classes = found.parts.different[found.parts.label]
    if classes < 2 or 2 * classes > found.rows:
        unclear = "Neither the folders nor the beginnings of the names tell classes that come again."
        return Advice(
            None, unsure=f"{unclear} Name the parts of the names: data.pattern and data.label, docs/files.md."
        )
    data = file_keys(found, "audio" if found.kind == "recordings" else "images") | _name_parts(found)
    by = "folder" if told is folder else "the beginning of its name"
    return Advice(Suggestion("seq2vec", data, f"tells the class of a file, by {by}"))


def _name_parts(found: Survey) -> dict[str, Any]:
    """The keys that keep the files of a group, such as a speaker, in one split; none where splits are files."""
    parts = found.parts
    if parts is None or "valid" in found.others or not (parts.group or parts.told):
        return {}
    label = {} if parts.label is None else {"label": parts.label}
    group = {} if parts.group is None else {"split_by": parts.group}
    return {"pattern": parts.pattern, **label, **group}


def _tagged(found: Survey) -> Suggestion:
    data = file_keys(found, "tagged")
    if kind_of(found.first) != "conllu":
        tags = [c for c in found.columns[1:] if c.guess == "class"]
        data |= {"words": found.columns[0].column, "tags": (tags or found.columns)[-1].column}
    return Suggestion("tagger", data, "tells the tag of every word")
