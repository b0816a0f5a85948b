"""A slot that is written as empty is empty; one of which nothing is said may take a block of the stack."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.core import registry
from composer.core.block import Signature
from composer.core.problems import ConfigError
from composer.core.signals import Field
from composer.graph.combinators.layers import SLOTS
from composer.graph.combinators.stack import Stack
from composer.graph.compiler import compile_graph
from composer.graph.describe import settings

FIELDS = {"source": Field("ids", vocabulary=5), "target": Field("ids", vocabulary=7, start=0, stop=1)}
BLOCKS = {"mixer": "gru", "cross": "cross_attention", "ffn": "mlp"}
TURNED = [name for name, block in registry.blocks("mixer").items() if "position" in Signature.of(block).slots]
EMPTY = st.sampled_from([None, "none", {"type": "none"}])


def decoder(memory=False, **stack):
    """A decoder's node and its module."""
    embed = {"kind": "embedding", "type": "token", "dim": 8}
    nodes = {
        "embedding": {**embed, "from": "target"},
        "decoder": {"kind": "stack", "from": {"x": "embedding"}, **stack},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }
    if memory:
        nodes["source_embedding"] = {**embed, "from": "source"}
        nodes["decoder"]["from"]["memory"] = "source_embedding"
    graph = compile_graph(nodes, FIELDS)
    return next(node for node in graph.plan.nodes if node.name == "decoder"), graph.nodes["decoder"]


@pytest.mark.parametrize("slot", SLOTS)
@given(empty=EMPTY)
def test_an_empty_slot_of_a_named_layer_does_not_take_the_block_of_the_stack(slot, empty):
    layers = {"own": {slot: empty}, "plain": {}}
    node, stack = decoder(memory=True, **BLOCKS, layers=layers, pattern=["own", "plain"], depth=2)
    own, plain = (set(layer) & set(SLOTS) for layer in stack.layers)
    assert (own, plain) == (set(SLOTS) - {slot}, set(SLOTS))
    assert f"layers.own.{slot}" not in settings(node)


@pytest.mark.parametrize("slot", [slot for slot in Signature.of(Stack).slots if slot != "mixer"])
@given(empty=EMPTY)
def test_an_empty_slot_of_a_stack_is_as_if_nothing_were_said(slot, empty):
    written, unwritten = decoder(mixer="gru", **{slot: empty}), decoder(mixer="gru")
    assert str(written[1]) == str(unwritten[1])
    assert settings(written[0]) == settings(unwritten[0])


@pytest.mark.parametrize("mixer", TURNED)
def test_attention_that_is_said_to_have_no_position_does_not_take_that_of_the_stack(mixer):
    def inside(**knobs):
        layers = {"own": {"mixer": {"type": mixer, **knobs}}, "plain": {"mixer": mixer}}
        stack = decoder(layers=layers, pattern=["own", "plain"], depth=2, position="rotary")[1]
        return ["Rotary" in str(layer["mixer"]) for layer in stack.layers]

    assert inside() == inside(position=None) == [True, True]
    assert inside(position="none") == [False, True]


def test_a_position_that_no_attention_takes_is_refused():
    with pytest.raises(ConfigError, match="'rotary' acts inside attention"):
        decoder(mixer={"type": "attention", "position": "none"}, position="rotary")


def test_a_layer_without_any_block_is_refused():
    with pytest.raises(ConfigError, match="has no slot filled"):
        decoder(mixer="gru", layers={"own": {"mixer": None}, "plain": {}}, pattern=["own", "plain"], depth=2)
