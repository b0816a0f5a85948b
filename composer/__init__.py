"""Sequence Composer: neural sequence models composed in YAML, proven before they are built.

What a plugin or a program imports is here, under one address:

    from composer import Seq, State, register
    model = composer.load("runs/first")

The names lie in the rooms below (see CONTRIBUTING.md) and are imported when they are first asked for, so that commands
which need no torch start quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from composer.core.version import __version__

if TYPE_CHECKING:
    from composer.core.block import Positive, Probability, Range, Recipe, Reference, Scale, Slot
    from composer.core.problems import Invalid, UserError
    from composer.core.recording import add_loss, show, show_layer, show_terms
    from composer.core.registry import register
    from composer.core.signals import Field, Ids, Image, Label, Seq, Signal, Spelling, State, Vec
    from composer.core.streaming.block_steps import refuse_to_stream
    from composer.core.streaming.pointwise import Pointwise
    from composer.core.streaming.recurrence import Recurrence
    from composer.core.streaming.streaming_copy import constant
    from composer.core.target import Asked, Target
    from composer.data.codecs.class_codec import ClassCodec
    from composer.data.codecs.codec import NumberCodec, TextCodec
    from composer.data.fields.field_type import Cells, FieldKeys, FieldType
    from composer.data.source import Source
    from composer.decoding.settings import Settings
    from composer.graph.signal_flow import measure
    from composer.graph.trained import TrainedGraph, TrainedLayers
    from composer.inference.export.weights import load_weights
    from composer.inference.model import load
    from composer.metrics.metric import HeadBatch, Metric
    from composer.objectives.objective import Batch, Objective
    from composer.studies.comparison import compare
    from composer.training.loggers.logger import Logger, RunInfo
    from composer.training.schedules import Schedule

#: The module of every public name.
_MODULES = {
    "Asked": "core.target",
    "Batch": "objectives.objective",
    "Cells": "data.fields.field_type",
    "ClassCodec": "data.codecs.class_codec",
    "Field": "core.signals",
    "FieldKeys": "data.fields.field_type",
    "FieldType": "data.fields.field_type",
    "Ids": "core.signals",
    "Image": "core.signals",
    "Invalid": "core.problems",
    "Label": "core.signals",
    "Logger": "training.loggers.logger",
    "Metric": "metrics.metric",
    "NumberCodec": "data.codecs.codec",
    "Objective": "objectives.objective",
    "Pointwise": "core.streaming.pointwise",
    "Positive": "core.block",
    "Probability": "core.block",
    "Range": "core.block",
    "Recipe": "core.block",
    "Recurrence": "core.streaming.recurrence",
    "Reference": "core.block",
    "RunInfo": "training.loggers.logger",
    "Scale": "core.block",
    "Schedule": "training.schedules",
    "HeadBatch": "metrics.metric",
    "Seq": "core.signals",
    "Settings": "decoding.settings",
    "Signal": "core.signals",
    "Slot": "core.block",
    "Source": "data.source",
    "Spelling": "core.signals",
    "State": "core.signals",
    "Target": "core.target",
    "TextCodec": "data.codecs.codec",
    "TrainedGraph": "graph.trained",
    "TrainedLayers": "graph.trained",
    "UserError": "core.problems",
    "Vec": "core.signals",
    "add_loss": "core.recording",
    "compare": "studies.comparison",
    "constant": "core.streaming.streaming_copy",
    "load": "inference.model",
    "load_weights": "inference.export.weights",
    "measure": "graph.signal_flow",
    "refuse_to_stream": "core.streaming.block_steps",
    "register": "core.registry",
    "show": "core.recording",
    "show_layer": "core.recording",
    "show_terms": "core.recording",
}

__all__ = [
    "Asked",
    "Batch",
    "Cells",
    "ClassCodec",
    "Field",
    "FieldKeys",
    "FieldType",
    "HeadBatch",
    "Ids",
    "Image",
    "Invalid",
    "Label",
    "Logger",
    "Metric",
    "NumberCodec",
    "Objective",
    "Pointwise",
    "Positive",
    "Probability",
    "Range",
    "Recipe",
    "Recurrence",
    "Reference",
    "RunInfo",
    "Scale",
    "Schedule",
    "Seq",
    "Settings",
    "Signal",
    "Slot",
    "Source",
    "Spelling",
    "State",
    "Target",
    "TextCodec",
    "TrainedGraph",
    "TrainedLayers",
    "UserError",
    "Vec",
    "__version__",
    "add_loss",
    "compare",
    "constant",
    "load",
    "load_weights",
    "measure",
    "refuse_to_stream",
    "register",
    "show",
    "show_layer",
    "show_terms",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'composer' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"composer.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
