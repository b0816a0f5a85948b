"""The metrics of a head, and its monitor: those that its class declares, or that fit its kind of target."""

from __future__ import annotations

from composer.core.capabilities import declared
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.target import Target
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.metrics.classes import has_top
from composer.metrics.entities import marks_entities
from composer.metrics.lookup import LOSS, find_metric
from composer.metrics.metric import Metric
from composer.metrics.real_values import naive_forecast


def metrics_for(graph: Graph) -> dict[str, dict[str, Metric]]:
    """For every head, by the name of its node, its metrics by their names. The loss always comes first."""
    return {head.name: _metrics(graph, head) for head in graph.heads}


def _metrics(graph: Graph, head: Node) -> dict[str, Metric]:
    target, own = graph.target(head), declared(graph.nodes[head.name], "metrics")
    names = own(target) if callable(own) else own
    if names is None:
        names = default_metrics(target)
    if head.name in graph.bounds:
        names = (*names, "coverage")
    try:
        return {name: find_metric(name)(target) for name in dict.fromkeys((LOSS, *names))}
    except UserError as error:
        raise UserError(f"the metrics of the head '{head.name}': {error}") from error


def monitor_for(graph: Graph) -> str:
    """The metric by which users judge a model of this graph.

    Of several heads it is the sum of their losses, because metrics of different heads cannot be added.
    """
    if len(graph.heads) != 1:
        return LOSS
    [head], [metrics] = graph.heads, metrics_for(graph).values()
    target, node = graph.target(head), graph.nodes[head.name]
    own = declared(node, "monitor") or declared(node, "judge")
    name = own(target) if callable(own) else own
    if name is None:
        name = default_monitor(target)
        return name if name in metrics else LOSS  # the head has metrics of its own, and says nothing of these
    if name not in metrics:
        raise UserError(
            f"the head '{head.name}' is judged by '{name}', which is none of its metrics.{did_you_mean(name, metrics)}"
            f"  (metrics: {listed(metrics, 40)})"
        )
    return name


def default_monitor(target: Target) -> str:
    """The metric by which the users of a kind of target judge a model; the loss where they do not agree on one.

    Texts that are generated are judged by the loss: which metric counts depends on the task (exact, BLEU, WER), and
    validations decode a part of their rows only. So are words out of a vocabulary, and labels that are sampled.
    """
    field = target.field
    match field.kind:
        case "label":
            return "accuracy"
        case "ids" if not target.aligned:
            return "cer" if field.contents.text else "wer"
        case "ids" if target.generates or field.contents.text:
            return LOSS
        case "ids":
            return "entity_f1" if marks_entities(field.contents.tokens) else "accuracy"
        case _ if target.binary:
            return LOSS if target.generates else "micro_f1"
        case _:
            return "mse"


def default_metrics(target: Target) -> tuple[str, ...]:
    """The names of the metrics that fit the kind of a target, besides the loss."""
    match target.field.kind:
        case "label":
            return _of_classes(target)
        case "ids":
            return (*_of_steps(target), *_of_texts(target))
        case _ if target.binary:
            return ("accuracy", "micro_f1", "macro_f1")
        case _:
            beside = ("mse_over_naive", "mae_over_naive") if naive_forecast(target) else ("mse_over_naive",)
            return ("mse", "mae", *beside)


def _of_steps(target: Target) -> tuple[str, ...]:
    """Metrics of single tokens, predicted with teacher forcing."""
    if target.generates:
        return ("perplexity", *(("bits_per_character",) if target.contents.text else ()), "token_accuracy")
    if not target.aligned:
        return ()
    if target.contents.text:  # masked tokens are no contiguous text, so there are no characters to count bits over
        return ("perplexity", "token_accuracy")
    entities = ("entity_f1", "entity_precision", "entity_recall") if marks_entities(target.contents.tokens) else ()
    return (*_of_classes(target), *entities, "exact")


def _of_classes(target: Target) -> tuple[str, ...]:
    """Metrics of classes and of tags."""
    return ("accuracy", "accuracy_over_commonest", *(("top5_accuracy",) if has_top(target) else ()), "macro_f1")


def _of_texts(target: Target) -> tuple[str, ...]:
    """Metrics of whole sequences of tokens."""
    if not target.compares_texts:
        return ()
    return ("exact", *(("bleu", "chrf", "cer") if target.contents.text else ()), "wer")
