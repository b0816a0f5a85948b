"""Any acyclic wiring of the registry's blocks compiles and obeys the laws; any broken one is reported."""

import copy

import pytest
import torch
from hypothesis import given, note, settings
from hypothesis import strategies as st

from composer.core.problems import ConfigError
from composer.graph.compiler import compile_graph
from composer.testing import LAWS, graph_subject
from tests.support.graphs import BREAKAGES, corruptions, graphs

pytestmark = pytest.mark.slow

# Exactness and export hold for a composition if they hold for its blocks, and are slow. Signals depend on the wiring.
GRAPH_LAWS = [law for law in LAWS if law not in ("exactness", "export", "signals")]


@settings(max_examples=60)
@given(graph=graphs(), seed=st.integers(0, 9))
def test_a_random_graph_compiles_and_obeys_the_laws(graph, seed):
    nodes, fields = graph
    compiled = compile_graph(nodes, fields)
    assert all(parameter.is_meta for parameter in compiled.parameters())
    subject = graph_subject(compiled.materialise(seed), seed=seed)
    for law in GRAPH_LAWS:
        LAWS[law](subject)


@settings(max_examples=300)
@given(corruption=corruptions())
def test_a_corrupted_graph_is_reported(corruption):
    nodes, fields, what = corruption
    note(f"{what}\n{nodes}")
    with pytest.raises(ConfigError) as caught:
        compile_graph(nodes, fields)
    assert all(problem.path.startswith("model.nodes") and problem.message for problem in caught.value.problems)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.__name__)
@settings(max_examples=15)
@given(data=st.data())
def test_every_breakage_is_reported(breakage, data):
    nodes, fields = data.draw(graphs())
    nodes = copy.deepcopy(nodes)
    breakage(data.draw, nodes, data.draw(st.sampled_from(sorted(nodes))))
    with pytest.raises(ConfigError):
        compile_graph(nodes, fields)


@settings(max_examples=15)
@given(graph=graphs())
def test_the_same_seed_gives_the_same_weights(graph):
    compiled = compile_graph(*graph)
    one, other = (compiled.materialise(3).state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
