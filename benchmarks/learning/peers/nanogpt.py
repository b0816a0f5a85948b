"""nanoGPT's model (github.com/karpathy/nanoGPT, MIT), from a copy of its model.py in the folder of peers."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Mapping

from torch import Tensor

from benchmarks.learning.task import PeerModel
from composer.core.signals import Signal
from composer.training.run.plan import TrainingPlan

NEEDS = "nanogpt.model"
INSTALL = "copy model.py of github.com/karpathy/nanoGPT to FOLDER/nanogpt/model.py, then --peers FOLDER"


class NanoGPT(PeerModel):
    def __init__(self, vocabulary: int, *, context: int, depth: int, heads: int, dim: int) -> None:
        super().__init__()
        module = importlib.import_module(NEEDS)
        config = module.GPTConfig(
            block_size=context, vocab_size=vocabulary, n_layer=depth, n_head=heads, n_embd=dim, dropout=0.0, bias=False
        )
        with contextlib.redirect_stdout(io.StringIO()):  # nanoGPT prints its number of parameters
            self.model = module.GPT(config)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        ids = inputs["target"].values
        logits, _ = self.model(ids, targets=ids)  # without targets nanoGPT gives the last step alone
        return logits


def nanogpt(plan: TrainingPlan, *, depth: int, heads: int, dim: int) -> PeerModel:
    vocabulary = plan.objective.fields["target"].vocabulary or 0
    return NanoGPT(vocabulary, context=plan.composed.values["data"]["length"], depth=depth, heads=heads, dim=dim)
