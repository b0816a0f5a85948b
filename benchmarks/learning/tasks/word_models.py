"""The models that read words, ours and the peers': the same for every task on words."""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias

from benchmarks.learning.peers import torch_nn, x_transformers
from benchmarks.learning.peers.torch_nn import Reader
from benchmarks.learning.task import Contest, Ours, Peer, trained_as_ours

Steps: TypeAlias = Literal["layers", "positions"]


def attention_contest(
    model: tuple[str, ...], reader: Reader, *, nearest: bool = False, steps: Steps | None = None
) -> Contest:
    """
    nearest: with the peer that is most like ours alone
    steps: what is shown between nn.TransformerEncoder and ours: it with more of our layers, or ours with its positions
    """
    transformer = partial(torch_nn.transformer_over_words, model=reader)
    plain = Peer(
        "nn.TransformerEncoder", transformer,
        differs="post-norm; embeddings N(0, 1), not scaled; sinusoidal positions alone; ReLU; torch's initialisation; "
        "Adam with a constant rate",
    )  # fmt: skip
    pre_norm = Peer(
        "pre-norm nn.TransformerEncoder", partial(transformer, scale="unit", pre_norm=True),
        differs="`norm_first` and a final norm, embeddings scaled by sqrt(D), our optimiser and schedule; what remains "
        "is sinusoidal positions alone, ReLU and torch's initialisation",
    )  # fmt: skip
    rotary = Peer(
        "x-transformers", partial(x_transformers.over_words, model=reader), needs=x_transformers.NEEDS,
        install=x_transformers.INSTALL,
        differs="its `Encoder` behind embeddings scaled by sqrt(D), our optimiser and schedule; pre-norm with a final "
        "norm, GELU; what remains is rotary positions alone, no biases in attention and norms, its initialisation",
    )  # fmt: skip
    between = (
        Peer("nn.TransformerEncoder, N(0, 1) times sqrt(D)", partial(transformer, scale="times"),
             differs="nn.TransformerEncoder with its embeddings times sqrt(D)"),
        Peer("nn.TransformerEncoder, N(0, 1/D) times sqrt(D)", partial(transformer, scale="unit"),
             differs="nn.TransformerEncoder with embeddings as ours"),
        Peer("... and pre-norm", partial(transformer, scale="unit", pre_norm=True),
             differs="the one above with `norm_first` and a final norm; with our optimiser and schedule it is the "
             "pre-norm nn.TransformerEncoder"),
    )  # fmt: skip
    ours = (*model, "mixer=attention", "mixer.heads=4")
    positions = Ours(
        "ours, sinusoidal positions",
        (*ours, "position=sinusoidal"),
        differs="ours with nn.TransformerEncoder's positions",
    )
    shown: dict[Steps | None, tuple[Ours | Peer, ...]] = {None: (), "layers": between, "positions": (positions,)}
    return Contest(
        Ours("ours, attention", ours),
        (trained_as_ours(pre_norm),) if nearest else (plain, trained_as_ours(pre_norm), trained_as_ours(rotary)),
        shown[steps],
    )


def lstm_contest(model: tuple[str, ...], reader: Reader, *, nearest: bool = False) -> Contest:
    """
    nearest: with the peer that is most like ours alone
    """
    plain = Peer(
        "nn.LSTM", partial(torch_nn.lstm_over_words, model=reader),
        differs="no residuals, norms or MLP; both directions side by side; embeddings N(0, 1), not scaled; torch's "
        "initialisation; Adam with a constant rate; a width at which it has about as many parameters as ours",
    )  # fmt: skip
    residual = Peer(
        "residual LSTM", partial(torch_nn.residual_lstm_over_words, model=reader),
        differs="our layers written with torch.nn: x + LSTM(norm(x)), x + MLP(norm(x)), a final norm, embeddings "
        "scaled by sqrt(D), our optimiser and schedule; what remains is torch's initialisation",
    )  # fmt: skip
    ours = Ours("ours, lstm", (*model, "mixer=lstm"))
    return Contest(ours, (trained_as_ours(residual),) if nearest else (plain, trained_as_ours(residual)))
