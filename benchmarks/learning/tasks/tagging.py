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
    "measured on 300 sentences of the development set.",
    data=data,
    contests=(attention_contest(MODEL, Tagger, steps="positions"), lstm_contest(MODEL, Tagger)),
    figures=("loss", "accuracy"),
    steps=150,
    validate_rows=300,
    files=(TRAIN, DEV),
)
