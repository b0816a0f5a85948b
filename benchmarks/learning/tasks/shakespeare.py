"""Characters of Shakespeare: nanoGPT's recipe for a CPU, cut to 400 steps."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.learning.peers import nanogpt
from benchmarks.learning.peers.torch_nn import lstm_language_model
from benchmarks.learning.task import Contest, Ours, Peer, Task

FILE = "tinyshakespeare/input.txt"
DIM, DEPTH, HEADS = 128, 4, 4
MODEL = (
    "model=language_model", "objective=next_token", f"model.dim={DIM}", f"model.nodes.decoder.depth={DEPTH}",
)  # fmt: skip


def data(folder: Path) -> tuple[str, ...]:
    return ("data=text", f"data.path='{folder / FILE}'", "data.length=64", "data.tokeniser.type=characters",
            "training.batch=12")  # fmt: skip


SHAKESPEARE = Task(
    name="shakespeare",
    title="Characters of Shakespeare",
    description="Tiny Shakespeare by characters, 64 at a time, batches of 12, width 128, 4 layers, 4 heads; measured "
    "on 300 stretches of 64 characters, drawn from the last tenth. nanoGPT has its own recipe: AdamW with "
    "weight decay 0.1, a warm-up of 100 steps, then a cosine down to a tenth of the rate.",
    data=data,
    contests=(
        Contest(
            Ours("ours, attention", (*MODEL, "mixer=attention", f"mixer.heads={HEADS}")),
            (
                Peer(
                    "nanoGPT", partial(nanogpt.nanogpt, depth=DEPTH, heads=HEADS, dim=DIM),
                    optimiser={"type": "adamw", "weight_decay": 0.1, "beta2": 0.99},
                    schedule={"type": "cosine", "warmup": 100, "final": 0.1},
                    needs=nanogpt.NEEDS, install=nanogpt.INSTALL,
                ),
            ),
        ),
        Contest(
            Ours("ours, lstm", (*MODEL, "mixer=lstm")),
            (Peer("nn.LSTM", partial(lstm_language_model, depth=DEPTH)),),
        ),
    ),
    figures=("loss", "token_accuracy"),
    files=(FILE,),
    steps=400,
    validate_rows=300,
)  # fmt: skip
