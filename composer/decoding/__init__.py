"""Decoding: how the prediction of a head is obtained, and generation, one step of every row at a time.

    decode     what a head predicts for a batch, whatever kind of head it is: dispatch.py
    generate   tokens by greedy decoding, sampling or beam search, under constraints, with their log-probabilities
    steps      greedy decoding or sampling, which yields every token as soon as it is chosen (streaming)
    greedy     greedy decoding that returns the tokens alone, without scores; the fastest of these functions
    forecast   real values: the predicted means, or several sampled paths

Generation works on any graph. Nodes that do not depend on generated steps, such as an encoder, run once at the start,
and the prompt is read as one chunk. After that, every block carries its state (a KV cache for attention, the hidden
state of a recurrence), so no step is computed twice. The rows of a batch may be at different positions, and finished
rows leave the batch. ``graph.generating_head`` finds the head that generates. The head's ``predict`` gives the most
likely step; sampling, beam search and scores need its ``log_probabilities``, and sampled paths of real values its
``sample``. A head with a method ``decode`` decodes by itself.

    predictions.py   the types of predictions
    generation.py    ``generate`` and ``steps``; beams.py: beam search; settings.py: the settings of both
    rollout.py       ``greedy`` and ``forecast``
    stream.py        the state of a generation; written_rows.py: its values so far; growing_text.py: their texts
    token_choice.py  the choice of the next token
"""

import warnings
from typing import Any

from composer.decoding.dispatch import DecodeOptions, decode
from composer.decoding.generation import NextTokens, generate, steps
from composer.decoding.predictions import Aligned, Forecast, Generated, Hypothesis, Prediction, Scored
from composer.decoding.rollout import forecast, greedy
from composer.decoding.settings import Settings
from composer.decoding.stream import Stream

__all__ = [
    "Aligned", "DecodeOptions", "Forecast", "Generated", "Hypothesis", "NextTokens", "Prediction", "Scored", "Settings",
    "Stream", "decode", "forecast", "generate", "greedy", "steps",
]  # fmt: skip

#: Names of earlier versions, which still work, and their names now.
_RENAMED = {"Result": "Generated", "roll": "forecast"}


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is now {__name__}.{_RENAMED[name]}.", DeprecationWarning, stacklevel=2)
    return globals()[_RENAMED[name]]
