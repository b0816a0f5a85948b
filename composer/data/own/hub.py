"""Texts with another text, a class or a value as target, in a data set of the Hugging Face hub."""

from __future__ import annotations

from functools import partial
from typing import Literal

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.fields.class_fields import Class
from composer.data.fields.field_type import FieldKeys, FieldType
from composer.data.fields.number_fields import Number
from composer.data.fields.text_field import Text
from composer.data.file_keys import FileKeys, Share
from composer.data.file_source import FileSource
from composer.data.own.hub_reader import HubData, HubReader
from composer.data.tokenisers.tokeniser import Tokenising


@register("data", "hub")
def hub(
    *,
    name: str | None = None,
    config: str | None = None,
    source: str = "text",
    target: str = "label",
    output: Literal["text", "class", "value"] = "class",
    train: str = "train",
    valid: Share = 0.1,
    test: Share = 0.0,
    seed: int = 0,
    download: bool = False,
    tokeniser: Tokenising = Tokenising(type="auto"),  # noqa: B008 - frozen
    target_tokeniser: Tokenising | None = None,
    normalise: bool = True,
) -> FileSource:
    """source: the text of one column; target: the text, class or value of another."""
    if target_tokeniser is not None and output != "text":
        raise Invalid("target_tokeniser", f"has no effect on a {output}: output is not text.")
    key = FieldKeys(column="target", tokeniser="target_tokeniser" if target_tokeniser else "tokeniser")
    wanted: FieldType
    match output:
        case "text":
            own = target_tokeniser or tokeniser
            wanted = Text(key, column=target, tokeniser=own, sentences="bpe", drop_words=False)
        case "class":
            wanted = Class(key, column=target)
        case "value":
            wanted = Number(key, column=target, normalise=normalise)
    given = Text(
        FieldKeys(column="source"), column=source, tokeniser=tokeniser, sentences="bpe" if output == "text" else "words"
    )
    data, files = HubData(name, config, train, download), FileKeys(valid=valid, test=test, seed=seed, skip_bad=None)
    data.key = FieldKeys()
    return FileSource({"source": given, "target": wanted}, partial(HubReader, data=data), files, data.find)
