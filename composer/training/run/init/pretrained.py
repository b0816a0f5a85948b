"""The run whose weights another run begins with. Its files are read as tensors and plain data: nothing in them can run.

A safetensors file has weights alone. If the manifest of its export stands beside it, the config and the vocabularies
are read from there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from composer.core.problems import UserError
from composer.core.signals import Field
from composer.data import load_source
from composer.objectives import Objective, load_objective
from composer.runs import checkpoint, checkpoint_file
from composer.runs.folder import SUFFIX, RunFolder, present

MANIFEST = "manifest.json"


@dataclass(frozen=True, eq=False)
class Pretrained:
    """
    given: the path as the config has it
    file: the checkpoint or safetensors file
    nodes: the tensors of every node, by their names within the node; the moving average of the weights if there is one
    step: the optimiser step of the checkpoint; None if it is unknown
    config: the run's config; empty if it is unknown
    state: the state of its data source (vocabularies); None if it is unknown
    """

    given: str
    file: Path
    nodes: dict[str, dict[str, Tensor]]
    step: int | None
    config: Mapping[str, Any]
    state: Mapping[str, Any] | None

    @classmethod
    def read(cls, given: str, plugins: Sequence[str] = ()) -> Pretrained:
        """
        plugins: the plugins of the new run, which have to include those of the other run
        """
        file, known = find_file(given), None
        if file.suffix == SUFFIX and not checkpoint_file.is_checkpoint(file):
            tensors, manifest = read_safetensors(file), read_manifest(file.with_name(MANIFEST))
            config, state, step = manifest.get("config") or {}, manifest.get("data"), manifest.get("step")
        else:
            content = checkpoint.load(file)
            tensors = averaged(content["model"], content.get("average") or {})
            config, state, step = (content[key] for key in ("config", "source", "step"))
            known = content.get("plugins")
        if config:
            checkpoint.check_plugins(config, plugins, known)
            checkpoint.check_no_files(config)
        return cls(given, file, by_node(tensors), step, config, state)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        with self.file.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def record(self) -> dict[str, Any]:
        """Where the weights came from, as plain data for the checkpoint and run.json."""
        return {"from": str(self.file.resolve()), "step": self.step, "digest": f"sha256:{self.digest}"}

    @cached_property
    def objective(self) -> Objective | None:
        """The objective of the other run, over a source that has its vocabularies and reads no file."""
        if not self.config or self.state is None:
            return None
        return load_objective(self.config["objective"], load_source(self.config["data"], state=self.state))

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        """The fields of the other run's graph; none where they are unknown."""
        return {} if self.objective is None else self.objective.fields

    def learned(self, field: str) -> Any:
        """What the other run's data has learned of one of its fields."""
        assert self.state is not None
        return self.state[field]

    @property
    def node_configs(self) -> Mapping[str, Any]:
        return self.config["model"]["nodes"] if self.config else {}

    def source_field(self, field: str) -> str | None:
        """The data's field that a field of the graph is made from, where the data has learned something of it."""
        return None if self.objective is None else source_field(self.objective, self.state or {}, field)


def source_field(objective: Objective, state: Mapping[str, Any], field: str) -> str | None:
    """The one field of the data that a field of an objective is made from, if the data's state has an entry for it."""
    names = objective.needs({field})
    return next((name for name in names if name in state), None) if len(names) == 1 else None


def find_file(given: str) -> Path:
    """The file of weights that a path means: itself, the best checkpoint of a run, or the weights of an export."""
    path = present(Path(given).expanduser())
    if path.is_file():
        return path
    exported = path / f"model{SUFFIX}"
    return exported if exported.is_file() else RunFolder.find(path).chosen()


def averaged(weights: Mapping[str, Tensor], average: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights with their moving average in their place. Tied weights have several names, their average has one."""
    found = {**weights, **average}
    for name in weights.keys() - average.keys():
        if weights[name].dim() >= 2:
            twin = next((n for n in average if torch.equal(weights[n], weights[name])), None)
            found[name] = weights[name] if twin is None else average[twin]
    return found


def by_node(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Tensors by node and name: 'nodes.encoder.norm.weight' is 'norm.weight' of 'encoder', with or without 'nodes.'."""
    found: dict[str, dict[str, Tensor]] = {}
    for full, tensor in tensors.items():
        node, _, name = full.removeprefix("nodes.").partition(".")
        found.setdefault(node, {})[name] = tensor
    return found


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """All tensors of the file, with tied weights under each of their names."""
    try:
        with safe_open(path, framework="pt", backend="pread") as file:
            tensors, names = file.get_tensors(), file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise UserError(f"'{path}' is not a whole safetensors file: {error}.") from error
    checkpoint.check_finite(path, tensors)
    return tensors | {name: tensors[kept] for name, kept in names.items() if kept in tensors}


def read_manifest(path: Path) -> Mapping[str, Any]:
    """What an export's manifest says of the run; nothing without a manifest."""
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))["metadata"]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise UserError(f"'{path}' is not the manifest of an export.") from error
