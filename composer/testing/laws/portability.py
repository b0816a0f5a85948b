"""The law ``portability``: a block runs on meta tensors and under autocast (mixed precision)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.meta import on_meta
from composer.core.signals import Signal
from composer.testing.laws.compared import LawBroken, leaves
from composer.testing.subjects import Subject


def portability(subject: Subject) -> None:
    """Runs on meta tensors; under autocast stays finite and keeps its state in float32."""
    outputs, _ = subject.run(subject.inputs)
    _on_meta(subject, outputs)
    if subject.scale == 1:
        _under_autocast(subject)


def _on_meta(subject: Subject, outputs: Mapping[str, Signal]) -> None:
    moved = replace(subject, module=copy.deepcopy(subject.module).to("meta"))
    moved.inputs = pytree.tree_map(lambda leaf: leaf.to("meta"), subject.inputs)
    with on_meta():
        shapes, _ = moved.run(moved.inputs)
        if subject.stateful and subject.causal:
            moved.run(moved.inputs, moved.start(moved.inputs))
    for name, output in outputs.items():
        if shapes[name].values.shape != output.values.shape:
            raise LawBroken(f"{subject.name}: on meta tensors the shape is {tuple(shapes[name].values.shape)}.")


def _under_autocast(subject: Subject) -> None:
    def single(leaf: Tensor) -> Tensor:
        return leaf.float() if leaf.is_floating_point() else leaf

    lower = replace(subject, module=copy.deepcopy(subject.module).float())
    lower.inputs = pytree.tree_map(single, subject.inputs)
    exact, _ = lower.run(lower.inputs)
    rounded, _ = replace(lower, module=_rounded(lower.module)).run(lower.inputs)
    before = after = None
    # oneDNN's bfloat16 kernels crash on CPUs that report AMX but do not permit its use; torch warns about GPU settings
    # whenever its flags change.
    plain = torch.backends.mkldnn.flags(enabled=False)
    autocast = torch.autocast("cpu", dtype=torch.bfloat16)
    with warnings.catch_warnings(action="ignore"), plain, autocast, torch.no_grad():
        outputs, _ = lower.run(lower.inputs)
        if subject.stateful and subject.causal:
            before = lower.start(lower.inputs)
            _, after = lower.run(lower.inputs, before)
    for name, output in outputs.items():
        rough, fine = output.filled().float(), exact[name].filled().float()
        # A deep graph, or one that chooses among experts, may move as far by rounded weights alone.
        sensitive = 4 * (rounded[name].filled().float() - fine).abs().max().item()
        if not torch.isfinite(rough).all() or not torch.allclose(
            rough, fine, rtol=0.1, atol=0.1 + 0.1 * fine.abs().max().item() + sensitive
        ):
            raise LawBroken(f"{subject.name}: under autocast its result is far from the one in float32.")
    for old, new in zip(leaves(before), leaves(after), strict=True):
        recurrent = old.shape == new.shape and not torch.equal(old, new)  # a KV cache grows, a memory stays unchanged
        if recurrent and new.is_floating_point() and new.dtype != torch.float32:
            raise LawBroken(f"{subject.name}: under autocast its state is {new.dtype}; keep it in float32.")


@torch.no_grad()
def _rounded(module: torch.nn.Module) -> torch.nn.Module:
    """A copy whose weights have the precision of bfloat16."""
    other = copy.deepcopy(module)
    for weight in other.parameters():
        weight.copy_(weight.bfloat16())
    return other
