"""Heads that predict an input of the graph, and several heads on one target: they work, or the compiler says why.

A graph that compiles is described, obeys the laws, is validated and decoded. The graphs here once compiled and crashed.
"""

import pytest
import torch

from composer.core.problems import ConfigError
from composer.core.signals import Field
from composer.decoding import generate
from composer.graph.compiler import compile_graph
from composer.graph.describe import summarise
from composer.metrics import evaluate
from composer.testing import LAWS, graph_subject, hold
from composer.testing.leaks import find_leak
from tests.graph.test_compiler import EMBED, FIELDS, HEAD, seq2seq
from tests.graph.test_telling import made

RECURRENT = {"kind": "mixer", "type": "gru"}
CLASSIFIER = {
    "embedding": {**EMBED, "from": "source"},
    "encoder": {**RECURRENT, "from": "embedding"},
    "pool": {"kind": "pool", "type": "mean", "from": "encoder"},
    "output": {**HEAD, "from": "pool", "predicts": "label"},
    "language_model": {**HEAD, "from": "encoder", "predicts": "source"},
}
AUXILIARY = seq2seq(
    encoder={**RECURRENT, "from": "source_embedding"},
    language_model={**HEAD, "from": "encoder", "predicts": "source"},
)
UNCONDITIONED = seq2seq(
    alone={**RECURRENT, "from": "target_embedding"},
    second={**HEAD, "from": "alone", "predicts": "target"},
)
CTC = seq2seq(second={"kind": "head", "type": "ctc", "from": "encoder", "predicts": "target"})
WORKING = {"classifier": CLASSIFIER, "auxiliary": AUXILIARY, "unconditioned": UNCONDITIONED, "ctc": CTC}
QUICK = [law for law in LAWS if law not in ("export", "exactness", "signals", "stateless")]


@pytest.mark.slow
@pytest.mark.parametrize("nodes", WORKING.values(), ids=WORKING)
def test_the_graph_is_described_and_obeys_the_laws(nodes):
    graph = compile_graph(nodes, FIELDS)
    summarise(graph, 8)
    hold(graph_subject(graph.materialise()), QUICK)


@pytest.mark.slow
def test_a_late_head_is_exported():
    hold(graph_subject(compile_graph(CLASSIFIER, FIELDS).materialise()), ["export"])


def test_a_text_that_a_classifier_reads_is_given_and_its_language_model_reads_one_step_late():
    graph = compile_graph(CLASSIFIER, FIELDS)
    assert not graph.plan.generated
    graph = graph.materialise().double()
    source = graph_subject(graph).inputs["source"]
    before = graph.run({"source": source})
    source.values[:, 3] = (source.values[:, 3] + 1) % 9
    after = graph.run({"source": source})
    moved = (before["language_model"].values != after["language_model"].values).any(-1)[0]
    assert moved.tolist() == [False] * 4 + [True] * (len(moved) - 4)
    assert not torch.equal(before["output"].values, after["output"].values)


def test_the_first_step_of_a_late_head_depends_on_nothing():
    graph = compile_graph(CLASSIFIER, FIELDS).materialise()
    outputs = graph.run(graph_subject(graph).inputs)["language_model"].values
    assert torch.equal(outputs[0, 0], outputs[1, 0])


def test_a_head_that_reads_no_given_field_is_a_language_model_and_is_not_decoded():
    """Its one row was once compared with the rows of the batch."""
    graph = compile_graph(UNCONDITIONED, FIELDS)
    targets = {head.name: graph.target(head) for head in graph.heads}
    assert (targets["output"].decodes, targets["second"].decodes) == (True, False)
    assert (targets["output"].generates, targets["second"].generates) == (True, True)


def test_two_heads_on_one_target_are_validated_and_each_generates():
    objective = made("supervised")
    graph = compile_graph(UNCONDITIONED, objective.fields).materialise().eval()
    found = evaluate(graph, objective, [objective.batch("valid", range(3))], forced=[objective.batch("valid", [3, 4])])
    assert {"output/exact", "second/perplexity"} <= set(found.values)
    assert len(generate(graph, {}, head="second", batch=2).rows) == 2


def test_a_late_head_has_no_leak_on_real_data():
    objective = made("supervised")
    graph = compile_graph(AUXILIARY, objective.fields).materialise().double().eval()
    assert find_leak(graph, objective) == ""


def test_a_target_that_another_head_reads_step_by_step_is_generated_all_the_same():
    """A second head on the decoder does not take the decoder's generation away."""
    nodes = seq2seq(second={**HEAD, "from": "decoder", "predicts": "marks"})
    fields = FIELDS | {"marks": Field("ids", vocabulary=3, axis="target")}
    assert compile_graph(nodes, fields).plan.generated == {"target"}


TAGS = {"tags_embedding": {**EMBED, "from": "tags"}, "words": {**EMBED, "from": "source"}}


@pytest.mark.parametrize("predicts", ["tags", "source"])
def test_a_sequence_along_a_given_one_cannot_be_generated(predicts):
    """A tagger that reads its own earlier tags, and the same graph the other way round."""
    nodes = TAGS | {
        "both": {"kind": "merge", "type": "concat", "from": ["words", "tags_embedding"]},
        "encoder": {**RECURRENT, "from": "both"},
        "output": {**HEAD, "from": "encoder", "predicts": predicts},
    }
    with pytest.raises(ConfigError, match="cannot be generated") as caught:
        compile_graph(nodes, FIELDS)
    assert [problem.path for problem in caught.value.problems] == ["model.nodes.output.predicts"]
