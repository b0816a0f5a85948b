"""A checkpoint: one file of tensors and plain data, from which alone the model can be rebuilt. Loading never runs code.

A checkpoint is written to a temporary file, flushed and renamed, so that its path always holds a complete checkpoint:
a killed process never leaves weights beside the optimiser, average or random states of another step.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from composer.config.assembly import compile_config
from composer.config.composition import Composed
from composer.config.environment import with_environment
from composer.core.bounds import Bounds
from composer.core.plugin_identity import digest, plugin_name
from composer.core.problems import Report, UserError, listed
from composer.core.version import __version__
from composer.graph.compiler.bind import bind_nodes, refuse_files
from composer.graph.graph import Graph
from composer.objectives import Objective
from composer.runs import checkpoint_file, old_checkpoint_file
from composer.runs.checkpoint_content import REQUIRED, misfit
from composer.runs.checkpoint_file import Damaged
from composer.runs.folder import present
from composer.runs.record import with_present_keys

#: Incremented when the meaning of a checkpoint's content changes. Since format 2, token embeddings and learned
#: positions are multiplied by the square root of their width in the forward pass. Format 3 is a safetensors file.
FORMAT = 3

#: The formats that are read.
READ = (2, 3)


def save(path: Path, content: Mapping[str, Any], *, previous: Path | None = None) -> None:
    """Write a checkpoint. The checkpoint before it at this path stays until the new one is complete.

    previous: the path at which the checkpoint before it is kept after that
    """
    try:
        checkpoint_file.write(path, {**content, "format": FORMAT, "version": __version__}, previous)
    except OSError as error:
        raise UserError(
            f"cannot write the checkpoint '{path}': {error.strerror}.{_left(path, previous)} Make room, then go on "
            "with resume=..."
        ) from error


def _left(path: Path, previous: Path | None) -> str:
    """Where the checkpoint before one that could not be written is."""
    if path.exists():
        return " The file still holds the checkpoint before it, whole."
    return f" The checkpoint before it is '{previous}'." if previous is not None and previous.exists() else ""


def load(path: Path) -> dict[str, Any]:
    """Read a checkpoint of this version or an earlier one: tensors and plain data, nothing of which is run.

    A file that is torn, changed or of another form raises ``Damaged``.
    """
    path = present(path)
    try:
        file = checkpoint_file if checkpoint_file.is_safetensors(path) else old_checkpoint_file
        content = file.read(path)
    except FileNotFoundError as error:
        raise UserError(f"there is no checkpoint '{path}'.") from error
    if not isinstance(content, dict) or any(key not in content for key in REQUIRED):
        raise Damaged(f"'{path}' is not a checkpoint of Sequence Composer.")
    if isinstance(found := content["format"], int) and found not in READ:
        raise UserError(
            f"'{path}' is of format {found}, written by version {content.get('version')}; "
            f"this is version {__version__}, which reads formats {listed(READ)}. Weights do not mean the same in both. "
            + ("Train the model again, or use that version." if found < READ[0] else "Use a newer version.")
        )
    content = with_present_keys(content)
    if isinstance(progress := content.get("progress"), Mapping):
        content["progress"] = with_present_keys(progress)
    if (problem := misfit(content)) is not None:
        raise Damaged(f"'{path}' is not a checkpoint of Sequence Composer: {problem}.")
    for weights in (content["model"], content.get("average") or {}):
        check_finite(path, weights)
    return content


def verify(path: Path) -> None:
    """Raise ``Damaged`` for a checkpoint of any version that is torn or changed, without loading it."""
    if checkpoint_file.is_safetensors(path):
        checkpoint_file.verify(path)
    else:
        old_checkpoint_file.verify(path)
        old_checkpoint_file.check_archive(path)


def check_finite(path: Path, weights: Mapping[str, torch.Tensor]) -> None:
    """Raise ``Damaged`` for weights of a file with which nothing can be computed."""
    name = next((name for name, tensor in weights.items() if not bool(tensor.isfinite().all())), None)
    if name is not None:
        raise Damaged(f"'{path}' is not usable: its weights '{name.removeprefix('nodes.')}' hold NaN or infinity.")


def rebuild(content: Mapping[str, Any], *, plugins: Sequence[str] = ()) -> tuple[Graph, Objective]:
    """The model of a checkpoint, and its objective. Neither the run's folder nor the data is needed.

    Plugins are code, so a checkpoint may not choose which ones run: the caller has to name those that it trusts.
    """
    config, _ = with_environment(content["config"], needed=False)
    composed = Composed({**config, "plugins": check_plugins(config, plugins, content.get("plugins"))}, (), {})
    meta, objective = compile_config(composed, content["source"])
    return materialise(meta, content), objective


def check_no_files(config: Mapping[str, Any]) -> None:
    """Raise an error if a block would be built from a file, which no config of a checkpoint may choose."""
    model = config.get("model")
    refuse_files(bind_nodes(model.get("nodes") if isinstance(model, Mapping) else None, "model.nodes", Report()))


def check_plugins(
    config: Mapping[str, Any], named: Sequence[str], known: Sequence[Mapping[str, Any]] | None = None
) -> list[str]:
    """The plugins that the caller named, which have to include those of a checkpoint: files and packages of the same
    name, wherever they lie.

    known: the names and digests of the checkpoint's plugins; older checkpoints have none
    """
    ours = {plugin_name(plugin): plugin for plugin in named}
    missing = [plugin for plugin in config.get("plugins") or [] if plugin_name(plugin) not in ours]
    for plugin in known or []:
        found = ours.get(plugin.get("name", ""))
        if found is not None and plugin.get("digest") not in (None, digest(found)):
            print(f"note: {found} has changed since this model was trained with it.", file=sys.stderr)
    if missing:
        raise UserError(
            f"this model was made with blocks of your own, from {', '.join(missing)}. They are code, which a "
            f"checkpoint cannot choose to run: if you trust them, name them, plugins=[{','.join(missing)}] or --plugin."
        )
    return list(named)


def materialise(meta: Graph, content: Mapping[str, Any]) -> Graph:
    """A graph with the weights of a checkpoint, or with their moving average where it was kept, in evaluation mode."""
    check_weights(meta, content)  # before a config of another width allocates anything
    graph = meta.materialise()
    graph.load_state_dict(dict(content["model"]))
    if content.get("average"):
        with torch.no_grad():
            for name, parameter in graph.named_parameters():
                parameter.copy_(content["average"][name])
    graph.bounds = {head: Bounds(**tensors) for head, tensors in (content.get("bounds") or {}).items()}
    return graph.eval()


def check_weights(graph: Graph, content: Mapping[str, Any]) -> None:
    """Raise an error if the weights of a checkpoint are not those of a graph, which may be on the meta device."""
    wanted = {"model": graph.state_dict()}
    if content.get("average"):
        wanted["average"] = dict(graph.named_parameters())
    for part, own in wanted.items():
        weights = content[part]
        for name in sorted(own.keys() | weights.keys()):
            found = tuple(weights[name].shape) if name in weights else "nothing"
            needed = tuple(own[name].shape) if name in own else "nothing"
            if found != needed:
                raise UserError(f"the checkpoint is of another model: it has {found} for '{name}', this one {needed}.")
    widths = {head.name: graph.target(head).field.dim for head in graph.heads}
    for head, bounds in (content.get("bounds") or {}).items():
        if widths.get(head) != bounds["scale"].shape[1]:
            raise UserError(f"the checkpoint is of another model: its bounds for '{head}' do not fit this one.")
