"""Every registered block obeys every law, in both directions where it has two, for any knobs, sizes and lengths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.core import registry
from composer.core.problems import ConfigError
from composer.core.signals import Field
from composer.graph.compiler import compile_graph
from composer.testing import LAWS
from composer.testing.laws import chunks
from composer.testing.strategies import subjects_of
from tests.support.registered import FAMILIES, INNER, with_defaults


@pytest.mark.parametrize(
    "law", [law for law in LAWS if law not in ("chunks", "export", "signals")]
)  # signals: test_signals.py
@pytest.mark.parametrize(("kind", "name"), FAMILIES)
@given(data=st.data())
def test_block_obeys(kind, name, law, data):
    LAWS[law](data.draw(subjects_of(registry.blocks(kind)[name])))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), FAMILIES)
def test_block_exports(kind, name):
    """With its defaults alone: torch.export takes a second, and test_export.py has every block in a graph."""
    LAWS["export"](with_defaults(kind, name))


@pytest.mark.parametrize(("kind", "name"), FAMILIES)
@given(data=st.data())
def test_any_chunks_give_the_whole(kind, name, data):
    subject = data.draw(subjects_of(registry.blocks(kind)[name]))
    steps = range(1, subject.axis.time) if subject.axis is not None else ()
    chunks(subject, data.draw(st.lists(st.sampled_from(steps), unique=True)) if steps else None)


@pytest.mark.parametrize(("kind", "name"), INNER)
def test_a_block_that_acts_only_inside_another_is_refused_as_a_node(kind, name):
    with pytest.raises(ConfigError) as caught:
        compile_graph({"lost": {"kind": kind, "type": name, "from": "x"}}, {"x": Field("seq", dim=4)})
    said = next(problem.message for problem in caught.value.problems if problem.path == "model.nodes.lost.type")
    assert f"'{name}' acts only inside another block" in said
    assert f"slot '{kind}'" in said
