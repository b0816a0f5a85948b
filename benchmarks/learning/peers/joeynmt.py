"""JoeyNMT 2.3's models (Kreutzer et al., 2019) with its initialisation and its greedy search.

The model sections below are those of its configs for the reversing task, with our width and depth and without dropout.
The recurrent model keeps JoeyNMT's defaults for the forget gate and the first decoder state, in place of those that its
config for the reversing task has.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from benchmarks.learning.peers.matching import matched_width
from benchmarks.learning.task import PeerModel
from composer.core.signals import Field, Ids, Signal
from composer.training.run.plan import TrainingPlan

NEEDS = "joeynmt"
INSTALL = (
    "pip install --no-deps --target FOLDER joeynmt==2.3.0 sacrebleu subword-nmt sentencepiece portalocker tabulate "
    "colorama regex lxml importlib_metadata zipp lazy-importer, and tensorboard, then --peers FOLDER"
)

DIM, DEPTH, HEADS = 128, 2, 4


class Entries:
    """The vocabulary as JoeyNMT asks for it: our ids, and one more for padding."""

    specials: tuple[str, ...] = ()
    lang_tags: tuple[str, ...] = ()
    sep_index = unk_index = None

    def __init__(self, field: Field) -> None:
        self.size = field.vocabulary or 0
        self.bos_index, self.eos_index, self.pad_index = field.start, field.stop, self.size

    def __len__(self) -> int:
        return self.size + 1


class JoeyNMT(PeerModel):
    def __init__(self, config: dict[str, Any], source: Field, target: Field) -> None:
        super().__init__()
        from joeynmt.model import build_model

        logging.getLogger("joeynmt.model").setLevel(logging.WARNING)  # it announces every model
        entries = Entries(source)
        # JoeyNMT ties embeddings where both are the same object
        shared = source.contents.tokens == target.contents.tokens
        self.padding = source.vocabulary, target.vocabulary
        self.model = build_model(config, entries, entries if shared else Entries(target))

    def _source(self, inputs: Mapping[str, Signal]) -> dict[str, Tensor]:
        source = inputs["source"]
        assert isinstance(source, Ids)
        return {
            "src": source.filled(self.padding[0] or 0),
            "src_length": source.counts,
            "src_mask": _mask(source)[:, None],  # (B, 1, S)
        }

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        order, inputs = _longest_first(inputs)
        target = inputs["target"]
        assert isinstance(target, Ids)
        late = target.filled(self.padding[1] or 0)  # (B, T), one step late
        output, *_ = self.model._encode_decode(
            **self._source(inputs), trg_input=late, trg_mask=_mask(target)[:, None], trg_length=target.counts
        )
        return output[order.argsort(), :, :-1]  # (B, T, V), without the padding

    def decode(self, inputs: Mapping[str, Signal], length: int) -> Ids:
        from joeynmt.search import greedy

        order, inputs = _longest_first(inputs)
        source = self._source(inputs)
        output, hidden = self.model._encode(**source)
        tokens, *_ = greedy(source["src_mask"], length, self.model, output, hidden)
        ids = torch.as_tensor(tokens)[order.argsort()]  # (B, T), padded once a row has ended
        ended = (ids == self.model.eos_index) | (ids == self.model.pad_index)
        lengths = (ended.cumsum(1) == 0).sum(1)
        return Ids(ids.masked_fill(ids == self.model.pad_index, self.model.eos_index), lengths)


def _longest_first(inputs: Mapping[str, Signal]) -> tuple[Tensor, dict[str, Signal]]:
    """The rows by falling length of the source, as JoeyNMT's batches have them, and their order."""
    source = inputs["source"]
    assert isinstance(source, Ids)
    order = source.counts.argsort(descending=True, stable=True)
    return order, {name: pytree.tree_map(lambda leaf: leaf[order], signal) for name, signal in inputs.items()}


def _mask(signal: Ids) -> Tensor:
    """(B, T), True where a token is real."""
    return torch.arange(signal.time) < signal.counts[:, None]


def transformer_config(*, pre_norm: bool, tied: bool) -> dict[str, Any]:
    """Without ``pre_norm``, JoeyNMT's default: norms after the decoder's sublayers, before the encoder's."""
    norm = {"layer_norm": "pre"} if pre_norm else {}
    side = {
        "type": "transformer", "num_layers": DEPTH, "num_heads": HEADS, "hidden_size": DIM, "ff_size": 4 * DIM,
        "dropout": 0.0, "embeddings": {"embedding_dim": DIM, "scale": True}, **norm,
    }  # fmt: skip
    return {
        "initializer": "xavier_uniform", "embed_initializer": "xavier_uniform", "bias_initializer": "zeros",
        "tied_embeddings": True, "tied_softmax": tied, "encoder": dict(side), "decoder": dict(side),
    }  # fmt: skip


def recurrent_config(width: int) -> dict[str, Any]:
    side = {
        "type": "recurrent", "rnn_type": "lstm", "num_layers": DEPTH, "hidden_size": width, "dropout": 0.0,
        "embeddings": {"embedding_dim": DIM, "scale": False},
    }  # fmt: skip
    return {
        "initializer": "xavier_uniform", "embed_initializer": "normal", "embed_init_weight": 0.1,
        "bias_initializer": "zeros", "encoder": {**side, "bidirectional": True},
        "decoder": {**side, "attention": "luong", "input_feeding": True, "init_hidden": "bridge"},
    }  # fmt: skip


def _build(config: dict[str, Any], plan: TrainingPlan) -> JoeyNMT:
    fields = plan.objective.fields
    return JoeyNMT(config, fields["source"], fields["target"])


def transformer(plan: TrainingPlan, *, pre_norm: bool = False, tied: bool = True) -> PeerModel:
    """
    tied: whether the output has the matrix of the embeddings, as in JoeyNMT's config
    """
    return _build(transformer_config(pre_norm=pre_norm, tied=tied), plan)


def recurrent(plan: TrainingPlan) -> PeerModel:
    """With a width at which it has about as many parameters as our recurrent model."""
    return _build(recurrent_config(matched_width(plan, lambda width: _build(recurrent_config(width), plan))), plan)
