"""Every registered block obeys every law, in both directions where it has two, for any knobs, sizes and lengths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import FAMILIES, subjects

from composer.testing import LAWS
from composer.testing.laws import chunks


@pytest.mark.parametrize("law", [law for law in LAWS if law != "chunks"])
@pytest.mark.parametrize(("kind", "name"), FAMILIES)
@given(data=st.data())
def test_block_obeys(kind, name, law, data):
    LAWS[law](data.draw(subjects(kind, name)))


@pytest.mark.parametrize(("kind", "name"), FAMILIES)
@given(data=st.data())
def test_any_chunks_give_the_whole(kind, name, data):
    subject = data.draw(subjects(kind, name))
    steps = range(1, subject.axis.time) if subject.axis is not None else ()
    chunks(subject, data.draw(st.lists(st.sampled_from(steps), unique=True)) if steps else None)
