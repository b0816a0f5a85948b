"""Sentences of film reviews, for or against (Pang and Lee, 2005)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.learning.peers.torch_nn import Classifier, lstm_over_words, transformer_over_words
from benchmarks.learning.task import Contest, Ours, Peer, Task

MODEL = ("model=seq2vec", "model.dim=128", "model.nodes.encoder.depth=2")


def data(folder: Path) -> tuple[str, ...]:
    return ("data=labelled", f"data.path='{folder}/mr/rt-polarity.*'", "data.encoding=latin-1",
            "data.tokeniser.type=words", "training.batch=64")  # fmt: skip


SENTIMENT = Task(
    name="sentiment",
    title="Sentiment of sentences",
    description="10,662 sentences of film reviews in two classes (MR), by words, batches of 64, width 128, 2 layers; "
    "measured on 500 sentences.",
    data=data,
    contests=(
        Contest(
            Ours("ours, attention", (*MODEL, "mixer=attention", "mixer.heads=4")),
            (Peer("nn.TransformerEncoder", partial(transformer_over_words, model=Classifier)),),
        ),
        Contest(
            Ours("ours, lstm", (*MODEL, "mixer=lstm")),
            (Peer("nn.LSTM", partial(lstm_over_words, model=Classifier)),),
        ),
    ),
    figures=("loss", "accuracy"),
    steps=150,
    files=("mr/rt-polarity.pos", "mr/rt-polarity.neg"),
    validate_rows=500,
)
