"""A block in a slot replaced by another, by every way that a user may take, and widths without a 'model.dim'."""

import pytest

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core.problems import ConfigError

pytestmark = pytest.mark.slow  # a composition takes half a second

NO_DIM = """\
nodes:
  embedding: {kind: embedding, type: token, dim: 16, from: target}
  decoder: {kind: stack, mixer: gru, depth: 1, from: embedding}
  output: {kind: head, type: categorical, from: decoder, predicts: target}
"""


def written(folder, name, text):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return folder


def decoder_mixer(overrides, folder=None):
    return compose(overrides, folder).values["model"]["nodes"]["decoder"]["mixer"]


def test_a_model_whose_widths_are_all_given_needs_no_dim(tmp_path):
    graph, _ = compile_config(compose(["model=mine"], written(tmp_path, "model/mine.yaml", NO_DIM)))
    assert graph.plan.outputs["decoder"].dim == 16


@pytest.mark.parametrize("mixer", ["bilstm", "{type: bilstm, join: mean}", "{type: bilstm, mixer: {bias: false}}"])
def test_an_option_made_of_others_can_be_named_in_a_node(tmp_path, mixer):
    nodes = NO_DIM.replace("mixer: gru, depth: 1", f"mixer: {mixer}, depth: 1").replace("target", "source")
    folder = written(tmp_path, "model/mine.yaml", f"{nodes}  pool: {{kind: pool, type: mean, from: decoder}}\n")
    found = decoder_mixer(["model=mine"], folder)
    join = "mean" if "mean" in mixer else "sum"
    assert found == {"type": "bidirectional", "join": join, "mixer": {"type": "lstm", "bias": "bias" not in mixer}}


@pytest.mark.parametrize("override", ["model.nodes.decoder.mixer=bilstm", "+model.nodes.decoder.mixer.type=bilstm"])
def test_an_option_made_of_others_can_be_named_on_the_command_line(override):
    assert decoder_mixer([override.removeprefix("+")])["type"] == "bidirectional"


def test_a_new_type_in_a_file_brings_its_own_keys(tmp_path):
    text = "# @package _global_\nmodel: {nodes: {decoder: {mixer: {type: sliding_window, window: 4}}}}\n"
    found = decoder_mixer(["experiment=mine"], written(tmp_path, "experiment/mine.yaml", text))
    expected = decoder_mixer(["mixer@model.nodes.decoder.mixer=sliding_window", "model.nodes.decoder.mixer.window=4"])
    assert found == expected


def test_the_same_type_again_keeps_the_keys(tmp_path):
    text = "# @package _global_\nmodel: {nodes: {decoder: {mixer: {type: attention, heads: 2}}}}\n"
    found = decoder_mixer(["experiment=mine"], written(tmp_path, "experiment/mine.yaml", text))
    assert found == decoder_mixer(["model.nodes.decoder.mixer.heads=2"])


def test_a_new_type_on_the_command_line_keeps_the_keys_beside_it():
    assert decoder_mixer(["model.nodes.decoder.mixer.type=gru", "model.nodes.decoder.mixer.bias=false"]) == {
        "type": "gru",
        "bias": False,
    }


def test_a_node_keeps_its_edges_under_another_type(tmp_path):
    text = "# @package _global_\nmodel: {nodes: {target_embedding: {type: one_hot}}}\n"
    composed = compose(["experiment=mine"], written(tmp_path, "experiment/mine.yaml", text))
    node = composed.values["model"]["nodes"]["target_embedding"]
    assert (node["kind"], node["type"], node["from"]) == ("embedding", "one_hot", "target")
    assert "tied" not in node


def test_what_every_optimiser_has_stays_under_another_optimiser():
    found = compose(["optimiser.type=sgd"]).values["optimiser"]
    assert found == compose(["optimiser=sgd"]).values["optimiser"]


def test_numbers_of_a_new_type_are_numbers(tmp_path):
    """YAML's own rules read 1e-8 as a text."""
    folder = written(tmp_path, "optimiser/mine.yaml", "type: mine\nlearning_rate: 1e-3\n")
    found = compose(["optimiser=mine", "optimiser.type=adamw"], folder).values["optimiser"]
    assert found == compose(["optimiser=adamw"]).values["optimiser"]


def test_a_default_changed_in_a_file_reaches_every_slot(tmp_path):
    folder = written(tmp_path, "experiment/mine.yaml", "# @package _global_\nmixer: {type: gru, bias: false}\n")
    assert decoder_mixer(["experiment=mine"], folder) == {"type": "gru", "bias": False}


def test_a_slot_with_a_block_of_its_own_takes_nothing_from_the_default():
    composed = compose(["model.nodes.decoder.mixer=gru", "mixer.heads=2"])
    nodes = composed.values["model"]["nodes"]
    assert (nodes["decoder"]["mixer"], nodes["encoder"]["mixer"]["heads"]) == ("gru", 2)
    with pytest.raises(ConfigError, match="no slot of this model takes the default mixer"):
        compose(["model.nodes.decoder.mixer=gru", "model.nodes.encoder.mixer=gru", "mixer.heads=2"])
