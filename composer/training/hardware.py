"""Devices, processes and mixed precision: from the config's ``trainer`` section to arguments of Lightning's Trainer."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import torch
from torch import nn

from composer.core.capabilities import declared
from composer.core.problems import UserError
from composer.training.settings import Hardware

PRECISIONS = {"float32": "32-true", "bfloat16": "bf16-mixed", "float16": "16-mixed"}


#: Threads that any machine may have; a machine with many cores may have 4 for each. A process with too many is killed.
MOST_THREADS = 64


def check_hardware(hardware: Hardware) -> None:
    """Raise an error if this machine lacks the configured accelerator or precision."""
    if hardware.accelerator == "gpu" and not torch.cuda.is_available():
        raise UserError("trainer.accelerator=gpu: No GPU found. Use trainer=cpu, or check the driver.")
    most = max(MOST_THREADS, 4 * (os.cpu_count() or 1))
    if hardware.threads is not None and hardware.threads > most:
        raise UserError(
            f"trainer.threads={hardware.threads}: this machine has {os.cpu_count()} cores, and takes at most {most} "
            "threads here. Use about one for each core, or null."
        )
    if hardware.precision == "bfloat16" and chosen(hardware) == "cpu":
        try_bfloat16()


def chosen(hardware: Hardware) -> str:
    """The accelerator: cpu or gpu."""
    if hardware.accelerator == "auto":
        return "gpu" if torch.cuda.is_available() else "cpu"
    return hardware.accelerator


def trainer_options(hardware: Hardware, graph: nn.Module) -> dict[str, Any]:
    """Keyword arguments for Lightning's Trainer."""
    accelerator = chosen(hardware)
    devices: int | str = hardware.devices
    if devices == "auto":
        devices = torch.cuda.device_count() if accelerator == "gpu" else 1
    return {
        "accelerator": accelerator,
        "devices": devices,
        "num_nodes": hardware.nodes,
        "precision": PRECISIONS[hardware.precision],
        "strategy": strategy(hardware, graph, int(devices) * hardware.nodes),
    }


def strategy(hardware: Hardware, graph: nn.Module, processes: int) -> Any:
    if hardware.strategy == "ddp":
        from lightning.pytorch.strategies import DDPStrategy

        # Buffers are constants here, so they need no broadcast. Searching for parameters without a gradient costs time
        # at every step, so it is on only if a block declares that some batches leave weights unused (``sparse``), as
        # in a mixture of experts.
        sparse = any(declared(module, "sparse") for module in graph.modules())
        return DDPStrategy(broadcast_buffers=False, find_unused_parameters=sparse)
    if hardware.strategy == "fsdp":
        from lightning.pytorch.strategies import ModelParallelStrategy

        return ModelParallelStrategy(data_parallel_size=processes, tensor_parallel_size=1)
    return "auto"


PROBE = """
import torch
a = torch.randn(64, 64, requires_grad=True)
with torch.autocast("cpu", torch.bfloat16):
    (torch.nn.functional.linear(a, a) @ a).float().sum().backward()
"""


def try_bfloat16() -> None:
    """Try bfloat16 in another process: some CPUs report support for it, but kill the process that computes with it."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, check=False)
    if done.returncode != 0:
        raise UserError(
            "trainer.precision=bfloat16: a trial of it killed its process, so this CPU does not compute it. "
            "Use trainer.precision=float32."
        )
