"""The weights alone, in a file that any library of safetensors reads."""

from __future__ import annotations

from pathlib import Path

import torch

from composer.core.extras import extra
from composer.core.problems import UserError, listed
from composer.graph.graph import Graph

WEIGHTS = "model.safetensors"


def save_weights(graph: Graph, path: Path) -> Path:
    safetensors = extra("safetensors.torch", "Export as safetensors", "export")
    safetensors.save_model(graph, str(path))  # a tensor that two names share is kept once
    return path


def load_weights(graph: Graph, folder: Path) -> Graph:
    """The graph with the weights that were exported into ``folder``; it has to be the same graph."""
    safetensors = extra("safetensors.torch", "Reading safetensors", "export")
    path = folder / WEIGHTS
    if not path.is_file():
        raise UserError(f"there is no '{path}'. Export a run with --format safetensors first.")
    try:
        with torch.no_grad():
            missing, unexpected = safetensors.load_model(graph, str(path), strict=False)
    except RuntimeError as error:  # what torch says of another shape
        raise UserError(f"the weights in '{path}' are those of another graph: {error}") from error
    if missing or unexpected:
        raise UserError(
            f"the weights in '{path}' are those of another graph: "
            f"it lacks {listed(missing) or 'nothing'} and has {listed(unexpected) or 'nothing'} besides."
        )
    return graph
