"""Which metrics fit a head: what it predicts, how, and from what."""

from __future__ import annotations

from dataclasses import replace

from composer.core.capabilities import said
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.metrics import numbers, steps, texts
from composer.metrics.metric import Metric


def metrics_for(graph: Graph) -> dict[str, list[Metric]]:
    """The metrics of every head, by its node's name. The loss always comes first."""
    return {head.name: [steps.LOSS, *_fitting(graph, head)] for head in graph.heads}


def aligned(graph: Graph, head: Node) -> bool:
    """Whether a head predicts every step of its target where it stands; one like CTC finds the places itself."""
    return said(graph.nodes[head.name], "aligned")


def binary(graph: Graph, head: Node) -> bool:
    """Whether what a head predicts is there or not, rather than more or less."""
    return said(graph.nodes[head.name], "binary")


def generates(graph: Graph, head: Node) -> bool:
    """Whether a head writes its target step by step, from what it has written."""
    return aligned(graph, head) and head.predicts in graph.plan.generated and head.name in graph.plan.streams


def decodes(graph: Graph, head: Node) -> bool:
    """Whether what a head generates can be right or wrong: something is given, and it alone is generated.

    What is there or not is drawn anew at every step: the most likely of all that is often nothing at all.
    """
    alone = len(graph.plan.generated) == 1 and not binary(graph, head)
    return generates(graph, head) and bool(graph.plan.given) and alone


def compares_texts(graph: Graph, head: Node) -> bool:
    """Whether whole sequences are compared rather than single steps."""
    tokens = graph.plan.targets[str(head.predicts)].kind == "ids"
    return tokens and (decodes(graph, head) or not aligned(graph, head))


def _fitting(graph: Graph, head: Node) -> list[Metric]:
    field = graph.plan.targets[str(head.predicts)]
    match field.kind:
        case "label":
            assert field.vocabulary is not None
            return [steps.ACCURACY, steps.macro_f1(field.vocabulary)]
        case "ids":
            return _of_tokens(graph, head)
        case _ if binary(graph, head):
            return [steps.BINARY_ACCURACY, steps.BINARY_F1]
        case _:
            errors = [numbers.MSE, numbers.MAE, *_over_naive(graph, head)]
            return [replace(metric, whole=decodes(graph, head)) for metric in errors]


def _of_tokens(graph: Graph, head: Node) -> list[Metric]:
    field = graph.plan.targets[str(head.predicts)]
    found: list[Metric] = []
    if generates(graph, head):
        found += [steps.PERPLEXITY, *([steps.BITS_PER_CHARACTER] if field.text else []), steps.TOKEN_ACCURACY]
    elif aligned(graph, head) and field.text:  # masked tokens: apart, they spell no text whose bits could be added
        found += [steps.PERPLEXITY, steps.TOKEN_ACCURACY]
    elif aligned(graph, head):
        assert field.vocabulary is not None
        found += [steps.ACCURACY, steps.macro_f1(field.vocabulary), steps.EXACT]
    if compares_texts(graph, head):
        found += [texts.EXACT, *([texts.BLEU, texts.CHRF, texts.CER] if field.text else []), texts.WER]
    return found


def _over_naive(graph: Graph, head: Node) -> list[Metric]:
    """Beside the last given step repeated, where the target goes on from one sequence as wide; else beside the mean."""
    field = graph.plan.targets[str(head.predicts)]
    assert field.dim is not None
    own = field.kind == "seq" and field.axis in (None, head.predicts)
    before = [name for name, seen in graph.plan.given.items() if (seen.kind, seen.dim) == ("seq", field.dim)]
    if own and len(before) == 1 and (decodes(graph, head) or not generates(graph, head)):
        return numbers.over_last(before[0])
    return [numbers.over_mean(field.dim)]
