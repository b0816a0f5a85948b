"""Autoregressive decoding: a graph generates sequences, one step of every row at a time.

    generate   tokens by greedy decoding, sampling or beam search, under constraints, with their log-probabilities
    steps      greedy decoding or sampling, which yields every token as soon as it is chosen (streaming)
    greedy     greedy decoding that returns the tokens alone, without scores; the fastest of these functions
    roll       real values: the predicted means, or several sampled paths

All of them work on any graph. Nodes that do not depend on generated steps, such as an encoder, run once at the start,
and the prompt is read as one chunk. After that, every block carries its state (a KV cache for attention, the hidden
state of a recurrence), so no step is computed twice. The rows of a batch may be at different positions, and finished
rows leave the batch. ``graph.generating_head`` finds the head that generates. The head's ``predict`` gives the most
likely step; sampling, beam search and scores need its ``log_probabilities``, and sampled paths of real values its
``sample``.
"""

from composer.decoding.generation import NextTokens, generate, steps
from composer.decoding.greedy import greedy
from composer.decoding.real_values import roll
from composer.decoding.results import Hypothesis, Result
from composer.decoding.settings import Settings
from composer.decoding.stream import Stream

__all__ = ["Hypothesis", "NextTokens", "Result", "Settings", "Stream", "generate", "greedy", "roll", "steps"]
