"""The tensors of a checkpoint: unsharded and on the CPU, so that a run can resume with any strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


def whole(tensor: Tensor) -> Tensor:
    """The full tensor. If it is sharded over processes, this is a collective call: every process has to make it."""
    from torch.distributed.tensor import DTensor

    if isinstance(tensor, DTensor):
        tensor = tensor.full_tensor()
    return tensor.detach()


def share(tensor: Tensor, like: Tensor) -> Tensor:
    """A full tensor, moved to the device of ``like`` and sharded as ``like`` is."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    tensor = tensor.to(like.device)
    if isinstance(like, DTensor) and tensor.shape == like.shape:
        return distribute_tensor(tensor, like.device_mesh, like.placements)
    return tensor


def all_whole(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: whole(tensor).cpu() for name, tensor in tensors.items()}


def optimiser_state(optimiser: Optimizer, model: nn.Module) -> dict[str, dict[str, Any]]:
    """The optimiser's state (such as Adam's moments) for every weight, by the weight's name."""
    return {
        name: {key: whole(value).cpu() if isinstance(value, Tensor) else value for key, value in known.items()}
        for name, parameter in model.named_parameters()
        if (known := optimiser.state.get(parameter))
    }


def restore_optimiser(optimiser: Optimizer, model: nn.Module, state: Mapping[str, Mapping[str, Any]]) -> None:
    for name, parameter in model.named_parameters():
        if name in state:
            optimiser.state[parameter] = {
                key: share(value, parameter) if isinstance(value, Tensor) else value
                for key, value in state[name].items()
            }


@contextmanager
def gathered(model: nn.Module) -> Iterator[None]:
    """Unshard all weights inside the ``with`` block, so that every process can run the model independently."""
    from torch.distributed.fsdp import FSDPModule

    spread = [module for module in model.modules() if isinstance(module, FSDPModule)]
    for module in spread:
        module.set_reshard_after_forward(False, recurse=False)
        module.unshard()
    try:
        yield
    finally:
        for module in spread:
            module.set_reshard_after_forward(True, recurse=False)
            module.reshard()


def random_state() -> dict[str, Tensor]:
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
