"""Metrics, each a function of summed statistics of examples, registered under "metric".

A head says which are its own (``metrics`` on its class). One that says nothing has those that fit its target:

    a label                         loss, accuracy, f1
    a tag a step                    loss, accuracy, f1, exact
    masked tokens of a text         loss, perplexity, token_accuracy
    a language model                loss, perplexity, bits_per_character (text), token_accuracy
    tokens generated from something the same, and exact, bleu, chrf, cer (text), wer
    an alignment of its own (CTC)   loss, exact, bleu, chrf, cer (text), wer
    numbers                         loss, mse, mae, mse_over_naive, mae_over_naive (where the last given step is naive)
    labels there or not (binary)    loss, accuracy, f1

Names are bare for one head and ``head/name`` for several; ``loss`` is there in any case, then the sum of the heads'.
``describe(name)`` says what each means. Every step counts as the batch's weights say: padding, <blank> and what is not
masked count nowhere. What has nothing to divide by, no example at all for one, is nan.
"""

from composer.metrics.evaluation import Evaluation, evaluate, scores_for
from composer.metrics.fitting import metrics_for
from composer.metrics.metric import HeadBatch, Metric
from composer.metrics.names import JUDGE, describe, direction, find_metric, headline

__all__ = [
    "JUDGE",
    "Evaluation",
    "HeadBatch",
    "Metric",
    "describe",
    "direction",
    "evaluate",
    "find_metric",
    "headline",
    "metrics_for",
    "scores_for",
]  # fmt: skip
