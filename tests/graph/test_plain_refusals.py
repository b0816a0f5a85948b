"""What a block cannot do is refused in a sentence, and never with an error of Python that the block ran into."""

import re

import pytest

from composer.core import registry
from composer.core.block import Signature
from composer.core.problems import ConfigError
from composer.core.signals import KINDS, Field
from composer.graph.compiler import compile_graph
from composer.testing.defaults import default_knobs
from tests.graph.test_compiler import EMBED, FIELDS, HEAD

#: The name of an exception, as Python writes it before a message.
EXCEPTION = re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception)|CannotStream)\b")
#: A field of every kind, with the sizes that its values have, and without a vocabulary.
UNKNOWN = {kind: Field(kind, dim=4, channels=1, height=8, width=8) for kind in KINDS}
NODES = [(k, n) for k in registry.kinds() for n, b in registry.blocks(k).items() if not Signature.of(b).inner]


def refusals(nodes, fields):
    try:
        compile_graph(nodes, fields)
    except ConfigError as error:
        return [problem.message for problem in error.problems]
    return []


@pytest.mark.parametrize(("kind", "name"), NODES)
def test_a_block_whose_input_has_no_known_vocabulary_is_refused_plainly(kind, name):
    block = registry.blocks(kind)[name]
    signature = Signature.of(block)
    for source in UNKNOWN:
        from_ = {port.name: source for port in signature.ports.values() if not port.optional}
        node = {"kind": kind, "type": name, **default_knobs(block), "from": from_ or source}
        for target in UNKNOWN if signature.target is not None else [None]:
            found = {"node": node if target is None else {**node, "predicts": target}}
            assert not [said for said in refusals(found, UNKNOWN) if EXCEPTION.search(said)]


@pytest.mark.parametrize("mixer", registry.blocks("mixer"))
def test_layers_that_read_both_directions_begin_with_no_states(mixer):
    knobs = {"type": mixer, **default_knobs(registry.blocks("mixer")[mixer])}
    nodes = {
        "source_embedding": {**EMBED, "from": "source"},
        "other_embedding": {**EMBED, "from": "target"},
        "first": {"kind": "stack", "mixer": "gru", "states": True, "from": "source_embedding"},
        "second": {
            "kind": "stack", "mixer": knobs, "causal": False, "from": {"x": "other_embedding", "states": "first"},
        },
        "pool": {"kind": "pool", "type": "mean", "from": "second"},
        "output": {**HEAD, "from": "pool", "predicts": "label"},
    }  # fmt: skip
    found = refusals(nodes, FIELDS)
    assert found
    assert not [said for said in found if EXCEPTION.search(said)]
