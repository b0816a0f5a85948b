"""Finds a user's own block by its address: ``leaky.py:Leaky``, or ``my_blocks.leaky:Leaky`` in an installed package."""

from __future__ import annotations

import inspect

from torch import nn

from composer.core import registry
from composer.core.block import Signature
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.signals import KINDS


def find_block(address: str) -> type[nn.Module]:
    """Import the class at an address. Anything that is not a block is a user error."""
    plugin, _, name = address.rpartition(":")
    if not plugin or not name:
        raise UserError(f"--block: '{address}' should be a file and a class in it, as in leaky.py:Leaky.")
    module = registry.import_plugin(plugin)
    classes = [key for key, value in vars(module).items() if _is_module(value) and value.__module__ == module.__name__]
    block = getattr(module, name, None)
    if block is None:
        hint = did_you_mean(name, classes)
        raise UserError(f"{plugin} has no class '{name}'.{hint}  (blocks in it: {listed(classes) or 'none'})")
    if not _is_module(block):
        raise UserError(f"'{name}' in {plugin} is no block: a block is a subclass of torch.nn.Module.")
    _check_forward(block, f"'{name}' in {plugin} is no block")
    return block


def _is_module(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, nn.Module)


def _check_forward(block: type[nn.Module], trouble: str) -> None:
    """Raise an error if ``forward`` breaks the block protocol. A module without ``forward`` is an inner block."""
    forward = inspect.signature(block.forward).parameters
    if "state" in forward and not hasattr(block, "start"):
        raise UserError(f"{trouble}: its forward takes a state, but it has no method start(batch).")
    kinds = listed(kind.__name__ for kind in KINDS.values())
    for port in Signature.of(block).ports.values():
        if not port.kinds:
            raise UserError(f"{trouble}: annotate '{port.name}' in its forward with a kind of signal.  ({kinds})")
