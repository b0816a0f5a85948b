"""Every value of a composed config has the place from which it came: a line of a file that sets it, or an override."""

from functools import cache

import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from composer.config.composition import compose
from composer.config.environment import leaves
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

EXPERIMENTS = sorted(file.stem for file in (ROOT / "conf" / "experiment").glob("*.yaml"))
MIXERS = sorted(file.stem for file in (ROOT / "conf" / "mixer").glob("*.yaml"))
VALUES = ["training.steps=7", "model.dim=16", "+model.nodes.output.weight=2", "seed=5", "optimiser.learning_rate=0.5"]


@cache
def set_in(file):
    """For every line of a file, the keys that it sets, with their values as PyYAML reads them; None for containers."""
    found = {}

    def walk(node):
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            alone = value.value if isinstance(value, yaml.ScalarNode) else None
            alone = yaml.safe_load(alone) if alone is not None and value.style is None else alone
            found.setdefault(key.start_mark.line + 1, {})[key.value] = alone
            walk(value)
        for item in node.value if isinstance(node, yaml.SequenceNode) else ():
            walk(item)

    walk(yaml.compose((ROOT / file).read_text()))
    return found


def same(written, value):
    return written == value or (isinstance(written, str) and str(float(written)) == str(float(value)))


@settings(max_examples=30, phases=[Phase.generate])
@given(st.sampled_from([None, *EXPERIMENTS]), st.sampled_from(MIXERS), st.lists(st.sampled_from(VALUES), unique=True))
def test_every_value_was_written_at_its_place(experiment, mixer, values):
    slot = f"mixer@model.nodes.encoder.mixer={mixer}"
    overrides = [slot if experiment is None else f"experiment={experiment}", *values]
    composed = compose(overrides, to_compile=True)
    for keys, value in leaves(composed.values):
        path = [str(key) for key in keys if not isinstance(key, int)]
        place = composed.locate(".".join(path))
        if place.startswith("command line: "):
            override = place.removeprefix("command line: ")
            key, _, text = override.lstrip("+").partition("=")
            assert override in overrides
            here = ".".join(path)
            assert override == slot or (composed.references.get(here, here) == key and yaml.safe_load(text) == value)
            continue
        file, line = place.rsplit(":", 1)
        target = composed.references.get(".".join(path), "").split(".")
        keys_there = set_in(file).get(int(line), {})
        assert keys_there.keys() & {*path, *target}, f"{'.'.join(path)} is not set in {place}"
        written = keys_there.get(path[-1])
        if len(keys_there) == 1 and written is not None and "$" not in str(written) and path == [*map(str, keys)]:
            assert same(written, value), f"{'.'.join(path)} is {value!r}, and not {written!r} of {place}"


@pytest.mark.parametrize("override", VALUES)
def test_an_override_is_the_place_of_its_value(override):
    path, _, value = override.lstrip("+").partition("=")
    composed = compose([override])
    assert composed.locate(path) == f"command line: {override}"
    found = composed.values
    for key in path.split("."):
        found = found[key]
    assert found == yaml.safe_load(value)
