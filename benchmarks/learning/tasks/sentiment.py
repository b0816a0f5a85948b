"""Sentences of film reviews, for or against (Pang and Lee, 2005): an epoch, and until the loss rises."""

from __future__ import annotations

from pathlib import Path

from benchmarks.learning.peers.torch_nn import Classifier
from benchmarks.learning.task import Task
from benchmarks.learning.tasks.word_models import attention_contest, lstm_contest

FILES = ("mr/rt-polarity.pos", "mr/rt-polarity.neg")


def model(dim: int) -> tuple[str, ...]:
    return "model=seq2vec", f"model.dim={dim}", "model.nodes.encoder.depth=2"


def data(folder: Path) -> tuple[str, ...]:
    return ("data=labelled", f"data.path='{folder}/mr/rt-polarity.*'", "data.encoding=latin-1",
            "data.tokeniser.type=words", "training.batch=64")  # fmt: skip


SENTIMENT = Task(
    name="sentiment",
    title="Sentiment of sentences",
    description="10,662 sentences of film reviews in two classes (MR), by words, batches of 64, width 128, 2 layers; "
    "measured on 500 sentences. One epoch.",
    data=data,
    contests=(attention_contest(model(128), Classifier, steps="layers"), lstm_contest(model(128), Classifier)),
    figures=("loss", "accuracy"),
    steps=150,
    files=FILES,
    validate_rows=500,
)

SENTIMENT_LONG = Task(
    name="sentiment_long",
    title="Sentiment of sentences, until the loss rises",
    description="The same sentences and width 64, four epochs, the schedule stretched over them. Measured every 50 "
    "steps on all 1,066 sentences of the validation split; a run ends when its loss has not fallen for three "
    "measurements, an epoch. Only the peers that are most like ours.",
    data=data,
    contests=(
        attention_contest(model(64), Classifier, nearest=True),
        lstm_contest(model(64), Classifier, nearest=True),
    ),
    figures=("loss", "accuracy"),
    steps=600,
    files=FILES,
    validate_rows=None,
    measured=12,
    patience=3,
)
