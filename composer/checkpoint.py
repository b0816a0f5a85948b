"""A checkpoint: one file of plain data that rebuilds the model anywhere, alone, and never runs code.

It is written beside its place, flushed and renamed, so that at every instant the file is the old one or the new one.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from composer import __version__
from composer.config import Composed
from composer.files import sync_folder
from composer.graph import Graph
from composer.model import compile_config
from composer.objectives import Objective
from composer.problems import UserError

#: Raised when what a checkpoint holds changes its meaning.
FORMAT = 1

#: What every checkpoint has; a run's own has more, to go on from.
REQUIRED = ("format", "config", "source", "step", "model")


def save(path: Path, content: Mapping[str, Any]) -> None:
    """Write a checkpoint; the one before it stays until this one is whole."""
    whole = {"format": FORMAT, "version": __version__, **content}
    handle, name = -1, ""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            torch.save(whole, file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
        sync_folder(path.parent)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        before = f" The one before it is whole: {path}." if path.exists() else ""
        raise UserError(
            f"cannot write the checkpoint '{path}': {error.strerror}.{before} Make room, then go on with resume=..."
        ) from error


def load(path: Path) -> dict[str, Any]:
    """What a checkpoint holds: tensors and plain data, nothing that could run."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise UserError(f"there is no checkpoint '{path}'.") from error
    except pickle.UnpicklingError as error:
        raise UserError(
            f"'{path}' is refused: it holds something else than tensors and plain data, which could run code."
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        raise UserError(f"'{path}' is not a whole checkpoint: it cannot be read.") from error
    if not isinstance(content, dict) or any(key not in content for key in REQUIRED):
        raise UserError(f"'{path}' is not a checkpoint of Sequence Composer.")
    if content["format"] != FORMAT:
        raise UserError(
            f"'{path}' is of format {content['format']}, written by version {content.get('version')}; "
            f"this is version {__version__}, which reads format {FORMAT}."
        )
    return content


def rebuild(content: Mapping[str, Any], *, average: bool = True) -> tuple[Graph, Objective]:
    """The model of a checkpoint with its weights, or with their running mean where one was kept, and its data's names.

    Nothing else is needed: not the run's folder, nor the data it was trained on.
    """
    composed = Composed(content["config"], (), {})
    meta, objective = compile_config(composed, content["source"])
    graph = meta.materialise(composed.values["seed"])
    weights = dict(content["model"])
    if average and content.get("average"):
        weights |= content["average"]
    load_weights(graph, weights)
    return graph.eval(), objective


def load_weights(graph: Graph, weights: Mapping[str, torch.Tensor]) -> None:
    """Weights into a graph of the same shape; otherwise one sentence about the first that differs."""
    own = graph.state_dict()
    for name in own.keys() | weights.keys():
        found = tuple(weights[name].shape) if name in weights else "nothing"
        wanted = tuple(own[name].shape) if name in own else "nothing"
        if found != wanted:
            raise UserError(f"the checkpoint is of another model: it has {found} for '{name}', this one {wanted}.")
    graph.load_state_dict(dict(weights))
