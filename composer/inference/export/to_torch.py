"""Programs as files of torch.export: ``torch.export.load(path).module()`` takes and returns dicts of tensors."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch.export import ExportedProgram

from composer.inference.export.functions import TracedFunction


def save(part: TracedFunction, program: ExportedProgram, folder: Path) -> Path:
    path = folder / f"{part.name}.pt2"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # a deprecation inside torch
        torch.export.save(program, path)
    return path
