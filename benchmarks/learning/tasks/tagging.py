"""Parts of speech of English words (Universal Dependencies, EWT)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.learning.peers.torch_nn import Tagger
from benchmarks.learning.task import Task
from benchmarks.learning.tasks.word_models import attention_contest, lstm_contest

TRAIN, DEV = "ud_ewt/en_ewt-ud-train.conllu", "ud_ewt/en_ewt-ud-dev.conllu"
#: Words alone, as the others read them: by default, a tagger reads their characters, too.
MODEL = ("model=tagger", "~model/tagger_for@model", "model.dim=128", "model.nodes.encoder.depth=2")


def data(folder: Path) -> tuple[str, ...]:
    return ("data=tagged", f"data.path='{folder / TRAIN}'", f"data.valid='{folder / DEV}'", "training.batch=64")


TAGGING = Task(
    name="tagging",
    title="Tagging words",
    description="Parts of speech in 12,544 English sentences (UD EWT), by words, batches of 64, width 128, 2 layers; "
    "measured on 300 sentences of the development set. Three quarters of an epoch.",
    data=data,
    contests=(attention_contest(MODEL, Tagger, steps="positions"), lstm_contest(MODEL, Tagger)),
    findings="Rotary positions account for nearly all of the distance to the pre-norm nn.TransformerEncoder: ours "
    "with its positions reaches 0.3578, beside 0.364 for the peer and 0.2962 for ours with rotary positions "
    "as well. x-transformers, with rotary positions alone, lies between. The distance between our LSTM and "
    "nn.LSTM is that of residuals, norms, MLP, scaled embeddings and schedule together: the residual LSTM, "
    "which has them and torch's initialisation, is not distinguishable from ours.",
    figures=("loss", "accuracy"),
    steps=150,
    validate_rows=300,
    files=(TRAIN, DEV),
)
