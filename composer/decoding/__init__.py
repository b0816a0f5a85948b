"""Generating what a graph predicts, one step of every row at a time, from nothing but the graph's plan.

    generate   tokens: greedy, sampled or by beam search, under constraints, with their log-probabilities
    steps      the same for greedy and sampled tokens, each step as it comes
    greedy     the most likely tokens alone, as fast as can be
    roll       real values: means, or samples of several paths

What depends on nothing generated has run once when a generation starts; a prompt is read as one chunk; nothing is
ever read again. Rows stand each at a place of their own and leave the batch when they are done. ``graph.driver`` finds
the head to follow. Its ``predict`` gives the most likely step; drawing, beam search and scores need its
``log_probabilities``, and drawn paths of real values its ``sample``.
"""

from composer.decoding.generation import NextTokens, generate, steps
from composer.decoding.greedy import greedy
from composer.decoding.real_values import roll
from composer.decoding.results import Hypothesis, Result
from composer.decoding.settings import Settings
from composer.decoding.stream import Stream

__all__ = ["Hypothesis", "NextTokens", "Result", "Settings", "Stream", "generate", "greedy", "roll", "steps"]
