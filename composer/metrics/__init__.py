"""Metrics, each a function of summed statistics of examples, registered under "metric".

A head class may declare its metrics (``metrics``). A head that declares none has the metrics that fit its target:

    class label                     loss, accuracy, accuracy_over_commonest, top5_accuracy (more than 5 classes),
                                    macro_f1
    tag for every step              those of a class label, exact, and for tags such as B-PER, I-PER, O: entity_f1,
                                    entity_precision, entity_recall
    masked tokens of a text         loss, perplexity, token_accuracy
    language model                  loss, perplexity, bits_per_character (text), token_accuracy
    sequence to sequence            those of a language model, and exact, bleu, chrf, cer (text), wer
    alignment by the head (CTC)     loss, exact, bleu, chrf, cer (text), wer
    numbers                         loss, mse, mae, mse_over_naive, mae_over_naive (where a naive forecast exists),
                                    coverage (of a trained model)
    several binary labels           loss, accuracy, micro_f1, macro_f1

The metric that chooses the best checkpoint (``training.monitor``) is, unless a head class declares another
(``monitor``): accuracy of classes and tags, entity_f1 of tags of entities, cer or wer of CTC, mse of numbers,
micro_f1 of several labels, and the loss of everything else and of several heads.

The metrics of a single head have bare names, those of several heads are called ``head/name``. ``loss`` always exists;
with several heads it is the sum of their losses. ``describe(name)`` returns the meaning of a metric. Every step counts
with its weight in the batch: padding, <blank> and tokens that were not masked have the weight 0. A metric without
anything to divide by, for example over no example, is nan.
"""

from composer.metrics.evaluation import Evaluation, Evaluator, evaluate, scores_for
from composer.metrics.fitting import metrics_for, monitor_for
from composer.metrics.lookup import LOSS, describe, direction, find_metric, headline, possible
from composer.metrics.metric import HeadBatch, Metric

__all__ = [
    "LOSS",
    "Evaluation",
    "Evaluator",
    "HeadBatch",
    "Metric",
    "describe",
    "direction",
    "evaluate",
    "find_metric",
    "headline",
    "metrics_for",
    "monitor_for",
    "possible",
    "scores_for",
]  # fmt: skip
