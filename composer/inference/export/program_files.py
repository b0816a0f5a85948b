"""Programs as files: of ONNX, and of torch.export.

``torch.export.load(path).module()`` takes and returns dicts of tensors.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.export import ExportedProgram

from composer.inference.export.functions import GraphFunction
from composer.inference.export.programs import quick_tracing


def save_onnx(function: GraphFunction, program: ExportedProgram, folder: Path) -> Path:
    path = folder / f"{function.name}.onnx"
    with _quiet(), quick_tracing():
        found = torch.onnx.export(
            program, (), dynamo=True, verbose=False, input_names=list(function.inputs), output_names=function.outputs,
            dynamic_shapes={"inputs": function.axes},
        )  # fmt: skip
        assert found is not None
        for node in found.model.graph.all_nodes():
            node.metadata_props.clear()  # debugging data of the exporter, larger than the rest of the file
        found.save(path)
    return path


def save_torch(function: GraphFunction, program: ExportedProgram, folder: Path) -> Path:
    path = folder / f"{function.name}.pt2"
    with _quiet():
        torch.export.save(program, path)
    return path


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch's notices and warnings."""
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")  # reports a missing torchvision
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # a deprecation inside torch
            warnings.filterwarnings("ignore", message=".*axis name: .* will not be used")  # inputs share their sizes
            yield
    finally:
        logger.setLevel(level)
