"""Every mixer in every template trains, or is refused for a reason; every bad parameter of every block is a problem."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
import torch

from composer.core import registry
from composer.core.block import Knob, Range, Recipe, Reference, Signature, alternatives
from composer.core.problems import ConfigError
from composer.core.signals import Field
from composer.graph.compiler import compile_graph
from tests.support.registered import FAMILIES
from tests.support.templates import TEMPLATES, batch, composed, mean_loss, needs_memory, nodes, refusals


@pytest.mark.slow
@pytest.mark.parametrize(("template", "mixer"), [*((each, "conv") for each in TEMPLATES), ("tagger", "bidirectional")])
def test_the_templates_compose_with_a_mixer_as_they_are_put_together_here(template, mixer):
    assert nodes(template, mixer) == composed(template, mixer)


@pytest.mark.slow
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("mixer", registry.blocks("mixer"))
def test_every_mixer_trains_in_every_template(template, mixer):
    reasons = refusals(template, mixer)
    if reasons:
        with pytest.raises(ConfigError) as caught:
            compile_graph(nodes(template, mixer), TEMPLATES[template])
        for problem in caught.value.problems:
            assert any(reason in problem.message for reason in reasons), problem
        return
    learns(nodes(template, mixer), template)


@pytest.mark.slow
@pytest.mark.parametrize("mixer", [name for name in registry.blocks("mixer") if needs_memory(name)])
def test_a_mixer_that_needs_a_memory_trains_where_there_is_one(mixer):
    found = nodes("seq2seq", "attention")
    learns(found | {"decoder": found["decoder"] | {"mixer": mixer, "cross": None}}, "seq2seq")


def learns(found: dict[str, Any], template: str) -> None:
    """The loss on a fixed batch falls within a few steps."""
    graph = compile_graph(found, TEMPLATES[template]).materialise(seed=1)
    rows = batch(template)
    optimizer = torch.optim.Adam(graph.parameters(), 0.01)
    losses = []
    while len(losses) < 12 and not fallen(losses):
        optimizer.zero_grad()
        loss = mean_loss(graph, rows)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert fallen(losses), f"the loss does not fall: {losses}"
    assert all(p.grad is None or p.grad.isfinite().all() for p in graph.parameters())


def fallen(losses: list[float]) -> bool:
    return bool(losses) and losses[-1] < 0.8 * losses[0]


# Parameters -----------------------------------------------------------------------------------------------------------

KNOBS = [(kind, name, knob) for kind, name in FAMILIES for knob in Signature.of(registry.blocks(kind)[name]).knobs]


def bad_values(knob: Knob) -> list[tuple[Any, str]]:
    """Values that a knob's type does not allow, each with a word that the problem has to say."""
    options = alternatives(knob.type)
    found: list[tuple[Any, str]] = [({"no": "such"}, "")]
    for option in options:
        if get_origin(option) is Annotated:
            base, bound = get_args(option)
            found += [(value, "at least" if bound.low is not None else "above") for value in _outside(base, bound)]
            found += [("many", "number"), (True, "number")]
        elif get_origin(option) is Literal:
            found += [(f"{choice}x", f"Did you mean '{choice}'?") for choice in get_args(option)]
        elif option is bool:
            found += [(1, "true or false"), ("yes", "true or false")]
        elif option is Recipe:
            known = next(iter(registry.blocks(knob.name)))
            found += [(3, "name of a"), (f"{known}x", f"Did you mean '{known}'?")]
        elif option is Reference:
            found += [("no_such_node", "no other node")]
    return [(value, word) for value, word in found if not _allowed(value, options)]


def _outside(base: type, bound: Range) -> list[float]:
    """The nearest values on the wrong side of every bound."""
    values: list[float] = []
    if bound.low is not None:
        values.append(bound.low - 1 if base is int else bound.low - 0.1)
    if bound.above is not None:
        values.append(bound.above)
    if bound.high is not None:
        values.append(bound.high + 1)
    if bound.below is not None:
        values.append(bound.below)
    return values


def _allowed(value: Any, options: tuple[Any, ...]) -> bool:
    """Whether another member of the union takes it: a mapping is a bad number, but may be a good group of layers."""
    plain = {str: str, bool: bool}
    return any(isinstance(value, kind) for option, kind in plain.items() if option in options) or (
        isinstance(value, dict) and any(get_origin(option) is dict for option in options)
    )


@pytest.mark.parametrize(("kind", "name", "knob"), KNOBS, ids=[".".join(entry) for entry in KNOBS])
def test_a_bad_parameter_is_a_problem_with_a_suggestion(kind, name, knob):
    fields = {"x": Field("seq", dim=4)}
    knobs = Signature.of(registry.blocks(kind)[name]).knobs
    width = {"dim": 4} if "dim" in knobs else {}
    for value, word in bad_values(knobs[knob]):
        with pytest.raises(ConfigError) as caught:
            compile_graph({"node": {"kind": kind, "type": name, "from": "x", **width, knob: value}}, fields)
        mine = [p for p in caught.value.problems if p.path.startswith(f"model.nodes.node.{knob}")]
        assert mine, f"{knob}={value!r} passed: {caught.value}"
        assert any(word in problem.message for problem in mine), f"{knob}={value!r}: {mine}"


HEADS = [(kind, name) for kind, name, knob in KNOBS if knob == "heads"]


@pytest.mark.parametrize(("kind", "name"), HEADS)
def test_heads_that_do_not_divide_the_width_are_refused_with_ones_that_do(kind, name):
    fields = {"x": Field("seq", dim=8), "memory": Field("seq", dim=8)}
    ports = Signature.of(registry.blocks(kind)[name]).ports
    node = {"kind": kind, "type": name, "heads": 3, "from": {port: port for port in ports if port in fields}}
    graph = {"node": node, "output": {"kind": "head", "type": "gaussian", "from": "node", "predicts": "x"}}
    with pytest.raises(ConfigError) as caught:
        compile_graph(graph, fields)
    problem = next(problem for problem in caught.value.problems if problem.path == "model.nodes.node.heads")
    assert "3 heads do not divide the width 8. Use 1, 2, 4" in problem.message


@pytest.mark.slow
def test_an_unknown_parameter_names_the_nearest():
    for kind, name, knob in KNOBS:
        with pytest.raises(ConfigError) as caught:
            compile_graph(
                {"node": {"kind": kind, "type": name, "from": "x", f"{knob}s": 1}}, {"x": Field("seq", dim=4)}
            )
        messages = [p.message for p in caught.value.problems if p.path == f"model.nodes.node.{knob}s"]
        assert len(messages) == 1
        assert "Did you mean" in messages[0], f"{kind} {name}: {messages}"
