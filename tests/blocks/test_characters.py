"""The encoder of characters against single words, each read by itself."""

import pytest
import torch
from torch import nn

from composer.core.problems import ConfigError
from composer.core.signals import Field, Seq, Spelling
from composer.graph.compiler import compile_graph
from tests.support.twins import rows, same

WORDS = [[[3, 1, 4], [2, 0, 0], [5, 5, 0]], [[1, 0, 0], [99, 99, 99], [99, 99, 99]]]


def graph(mixer, pool, **fields):
    nodes = {
        "words": {
            "kind": "embedding", "type": "characters", "dim": 4, "mixer": mixer, "pool": pool, "from": "letters",
        },
        "output": {"kind": "head", "type": "categorical", "from": "words", "predicts": "tags"},
    }  # fmt: skip
    letters = Field("spelling", vocabulary=6, width=3, **fields)
    tags = Field("ids", vocabulary=2, axis="letters")
    return compile_graph(nodes, {"letters": letters, "tags": tags}).materialise().double()


def spelling(values=WORDS):
    return Spelling(torch.tensor(values), torch.tensor([3, 1]))


def test_a_convolution_with_max_pooling_is_that_of_ma_and_hovy():
    block = graph({"type": "conv", "kernel": 3, "form": "full"}, "max").nodes["words"]
    (conv,) = [part for part in block.modules() if isinstance(part, nn.Conv1d)]
    found = block(spelling())
    assert isinstance(found, Seq)
    wanted = []
    for word in ([3, 1, 4], [2], [5, 5], [1]):
        vectors = block.embedding.weight[torch.tensor(word)] * 2  # sqrt(4)
        around = nn.functional.pad(vectors, (0, 0, 1, 1))
        steps = [
            torch.einsum("odk,kd->o", conv.weight, around[t : t + 3]) + (0 if conv.bias is None else conv.bias)
            for t in range(len(word))
        ]
        wanted.append(torch.stack(steps).amax(0))
    same([torch.cat(rows(found))], [torch.stack(wanted)], module=block)


@pytest.mark.parametrize("mixer", ["lstm", {"type": "bidirectional", "mixer": "gru"}, "attention", "identity"])
@pytest.mark.parametrize("pool", ["mean", "last", "attention"])
def test_every_word_is_read_by_itself_and_its_padding_is_inert(mixer, pool):
    block = graph({"type": mixer} if isinstance(mixer, str) else mixer, pool).nodes["words"]
    found = rows(block(spelling()))
    alone = [
        torch.cat([block(Spelling(torch.tensor([[word]]))).values[0] for word in words])
        for words in ([[3, 1, 4], [2], [5, 5]], [[1]])
    ]
    same(found, alone, module=block)
    wider = spelling([[[*word, 0, 0] for word in row] for row in WORDS])
    same(rows(block(wider)), found, module=block)


def test_a_mixer_that_needs_more_than_a_word_is_refused():
    with pytest.raises(ConfigError, match="also reads memory, which a word does not have"):
        graph({"type": "rnnsearch"}, "max")
    with pytest.raises(ConfigError, match="also reads ids"):
        graph({"type": "conv"}, "tf_idf")


def test_other_blocks_refuse_characters():
    nodes = {"words": {"kind": "embedding", "type": "token", "dim": 4, "from": "letters"}}
    with pytest.raises(ConfigError, match="of kind spelling"):
        compile_graph(nodes, {"letters": Field("spelling", vocabulary=6, width=3)})
