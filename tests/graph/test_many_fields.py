"""A compilation does not grow with the number of declared fields, and tells the time axes of all of them apart."""

from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.core.problems import ConfigError
from composer.core.signals import Field
from composer.graph.compiler import compile_graph
from composer.graph.compiler.infer import examples
from composer.graph.signal_flow.inputs import TIME, draw_inputs
from composer.testing import graph_subject
from tests.graph.test_compiler import EMBED, HEAD

TARGET = Field("ids", vocabulary=7, start=0, stop=1)
OTHERS = [Field("ids", vocabulary=5), Field("vec", dim=4), Field("seq", dim=3), Field("label", vocabulary=3)]
COUNTS = [1, 18, 42, 60]


def texts(count):
    return {f"text{number}": Field("ids", vocabulary=5) for number in range(count)}


def embeddings(count):
    return {f"embedding{number}": {**EMBED, "from": f"text{number}"} for number in range(count)}


def decoder(mixer, **sources):
    return {
        "target_embedding": {**EMBED, "from": "target"},
        "decoder": {"kind": "mixer", "type": mixer, "from": {"x": "target_embedding", **sources}},
        "output": {**HEAD, "from": "decoder", "predicts": "target"},
    }


@pytest.mark.parametrize("count", COUNTS)
def test_fields_that_the_graph_does_not_read_get_no_example(count, monkeypatch):
    made, example = [], Field.example
    monkeypatch.setattr(Field, "example", lambda self, *sizes, **more: made.append(self) or example(self, *sizes))
    fields = {f"field{number}": OTHERS[number % len(OTHERS)] for number in range(count)} | {"target": TARGET}
    assert set(compile_graph(decoder("gru"), fields).plan.inputs) == {"target"}
    assert made == [TARGET]


@pytest.mark.slow
@pytest.mark.parametrize("count", [*COUNTS, 14])
@pytest.mark.parametrize("mixer", ["luong", "rnnsearch"])
def test_every_field_may_be_read_and_its_examples_stay_short(count, mixer):
    memory = {"memory": {"kind": "merge", "type": "append", "from": list(embeddings(count))}}
    nodes = embeddings(count) | memory | decoder(mixer, memory="memory")
    if count == 1:
        nodes = embeddings(count) | decoder(mixer, memory="embedding0")
    graph = compile_graph(nodes, texts(count) | {"target": TARGET}).materialise()
    assert len(graph.plan.inputs) == count + 1
    assert max(signal.time for signal in graph_subject(graph).inputs.values()) < 10
    drawn = draw_inputs(graph, torch.Generator()).values()
    assert all(TIME - 4 < signal.time <= TIME for signal in drawn)


def lengths(count):
    """The lengths of so many axes, each in every run of the nodes."""
    runs = examples(texts(count))
    return [tuple(signals[name].time for signals in runs) for name in texts(count)]


@pytest.mark.parametrize("count", [*range(2, 6), *COUNTS])
def test_no_time_axis_is_mistaken_for_another(count):
    every = lengths(count)
    assert len(set(every)) == count
    used = {length for axis in every for length in axis}
    assert max(used) < 20
    sums = {one + other for one in used for other in used}
    subsampled = {-(-length // stride) for length in used for stride in range(2, 20)}
    assert not used & (sums | subsampled | {length + 1 for length in used})


@pytest.mark.slow
@settings(max_examples=20)
@given(st.sampled_from(list(combinations(range(60), 2))))
def test_sequences_of_different_time_axes_are_not_added_among_sixty(pair):
    nodes = embeddings(60) | {
        "wrong": {"kind": "merge", "type": "add", "from": [f"embedding{number}" for number in pair]},
        "every": {"kind": "merge", "type": "append", "from": [*embeddings(60), "wrong"]},
        "pool": {"kind": "pool", "type": "mean", "from": "every"},
        "output": {**HEAD, "from": "pool", "predicts": "label"},
    }
    with pytest.raises(ConfigError, match="one time axis") as caught:
        compile_graph(nodes, texts(60) | {"label": Field("label", vocabulary=3)})
    assert [problem.path for problem in caught.value.problems] == ["model.nodes.wrong.from"]
