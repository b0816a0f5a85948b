"""The weights alone, as a safetensors file."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_model, save_model

from composer.core.problems import UserError, listed
from composer.graph.graph import Graph
from composer.runs.checkpoint import check_finite

WEIGHTS = "model.safetensors"


def save_weights(graph: Graph, path: Path) -> None:
    save_model(graph, str(path))  # a tensor with two names (tied weights) is stored once


def load_weights(graph: Graph, folder: Path) -> Graph:
    """Load the weights that were exported into ``folder``. The graph has to be the exported one."""
    path = folder / WEIGHTS
    if not path.is_file():
        raise UserError(f"there is no '{path}'. Export a run with --format safetensors first.")
    try:
        with torch.no_grad():
            missing, unexpected = load_model(graph, str(path), strict=False)
    except RuntimeError as error:  # torch's error for a tensor of another shape
        raise UserError(f"the weights in '{path}' are those of another graph: {error}") from error
    if missing or unexpected:
        raise UserError(
            f"the weights in '{path}' are those of another graph: "
            f"it lacks {listed(missing) or 'nothing'} and has {listed(unexpected) or 'nothing'} besides."
        )
    check_finite(path, graph.state_dict())
    return graph
