"""Export of a graph into a folder. All files are made in a temporary folder first; the manifest is written last."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from composer.core.capabilities import can_export
from composer.core.extras import need
from composer.core.problems import UserError, listed
from composer.core.registry import block_name
from composer.core.storage.atomic_files import write_text
from composer.graph.graph import Graph
from composer.inference.export.manifest import describe
from composer.inference.export.program_files import save_onnx, save_torch
from composer.inference.export.programs import Programs, trace
from composer.inference.export.weights_file import WEIGHTS, save_weights

Format = Literal["onnx", "torch", "safetensors"]
FORMATS: tuple[Format, ...] = get_args(Format)

MANIFEST = "manifest.json"

#: The packages that a format needs besides torch.
PACKAGES: dict[Format, tuple[str, ...]] = {"onnx": ("onnx", "onnxscript"), "torch": (), "safetensors": ("safetensors",)}


def export(graph: Graph, folder: Path, format: Format, metadata: Mapping[str, Any]) -> list[Path]:
    """Write a graph with its weights into ``folder``, and return the paths of the files.

    Blocks that cannot be exported are reported before any file is written.

    metadata: plain data to store in the manifest, such as the config
    """
    if format not in FORMATS:
        raise UserError(f"there is no format '{format}' to export to. Use one of {listed(FORMATS)}.")
    for package in PACKAGES[format]:
        need(package, f"Export as {format}", "export")
    graph = copy.deepcopy(graph).cpu().eval().requires_grad_(False)
    if format != "safetensors":
        _refuse(graph, format)
    programs = Programs([]) if format == "safetensors" else trace(graph)
    save = save_onnx if format == "onnx" else save_torch
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".export.") as temporary:
            if format == "safetensors":
                save_weights(graph, Path(temporary) / WEIGHTS)
            files = {part.name: save(part, program, Path(temporary)).name for part, program in programs.parts}
            manifest = json.dumps(describe(graph, programs, format, files, metadata), indent=2, ensure_ascii=False)
            (folder / MANIFEST).unlink(missing_ok=True)  # the manifest of an earlier export does not fit the new files
            written = []
            for path in sorted(Path(temporary).iterdir()):
                os.replace(path, folder / path.name)
                written.append(folder / path.name)
    except OSError as error:
        raise UserError(f"cannot export into '{folder}': {error.strerror}.") from error
    write_text(folder / MANIFEST, manifest + "\n")
    return [*written, folder / MANIFEST]


def _refuse(graph: Graph, format: Format) -> None:
    """Raise an error that names every block whose class declares that it cannot be exported."""
    unable = {
        f"'{block_name(module)}' in node '{name}'": None
        for name, node in graph.nodes.items()
        for module in node.modules()
        if not can_export(module, format)
    }
    if unable:
        raise UserError(
            f"this graph cannot be exported as {format}: {listed(unable)} cannot. "
            "Use another block in its place, or export the weights alone, as safetensors."
        )
