"""YAML in, graph out: every leaf lists every knob, and every override does something or is refused."""

import pytest
import yaml

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.block import Signature
from composer.core.problems import UserError
from composer.graph.combinators.stack import Stack
from tests.support.paths import ROOT

CONF = ROOT / "conf"
LEAVES = [(kind, name) for kind in registry.kinds() for name in registry.blocks(kind)]


def refused(*overrides):
    with pytest.raises(UserError) as caught:
        compile_config(compose(list(overrides)))
    return str(caught.value)


@pytest.mark.parametrize(("kind", "name"), LEAVES)
def test_every_block_has_a_leaf_that_lists_its_knobs_with_their_defaults(kind, name):
    text = (CONF / kind / f"{name}.yaml").read_text()
    assert text.startswith("# "), "the first line says what it is"
    leaf = yaml.safe_load(text)
    slots = {entry.partition("@")[2].partition(":")[0] for entry in _entries(leaf) if "@" in entry}
    knobs = Signature.of(registry.blocks(kind)[name]).knobs
    written = set(leaf) - {"type", "kind", "causal", "defaults"}
    assert written | slots == set(knobs)
    assert leaf.get("type", name) == name
    for key in written:
        knob = knobs[key]
        if not knob.required and knob.slot is None:
            assert leaf[key] == knob.default, key


def _entries(leaf):
    return [str(next(iter(e))) if isinstance(e, dict) else str(e) for e in leaf.get("defaults", [])]


@pytest.mark.parametrize("leaf", sorted(CONF.glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_leaf_names_a_block_that_does_not_exist(leaf):
    kind, values = leaf.parent.name, yaml.safe_load(leaf.read_text())
    if kind in registry.kinds() and "type" in values and values["type"] != "none":
        assert values["type"] in registry.blocks(kind)


@pytest.mark.slow
def test_the_default_config_compiles():
    graph, _ = compile_config(compose())
    assert [node.name for node in graph.plan.nodes] == [
        "source_embedding", "encoder", "target_embedding", "decoder", "output",
    ]  # fmt: skip


@pytest.mark.slow
def test_one_override_swaps_a_block_everywhere():
    nodes = compose(["mixer=mingru"]).values["model"]["nodes"]
    assert nodes["encoder"]["mixer"] == nodes["decoder"]["mixer"] == {"type": "mingru", **_knobs("mixer", "mingru")}


@pytest.mark.slow
def test_one_override_swaps_it_in_one_slot():
    nodes = compose(["mixer@model.nodes.decoder.mixer=gru"]).values["model"]["nodes"]
    assert (nodes["encoder"]["mixer"]["type"], nodes["decoder"]["mixer"]["type"]) == ("attention", "gru")


@pytest.mark.slow
def test_a_slot_can_be_swapped_by_name_alone():
    graph, _ = compile_config(compose(["model.nodes.decoder.mixer=gru"]))
    assert graph.nodes["decoder"].contents() == ["2 x gru + cross_attention + mlp"]


@pytest.mark.slow
def test_a_knob_of_the_default_reaches_every_slot_that_takes_it():
    overrides = ["mixer.heads=8", "mixer@model.nodes.decoder.mixer=gru"]
    nodes = compose(overrides).values["model"]["nodes"]
    assert nodes["encoder"]["mixer"]["heads"] == 8
    assert "heads" not in nodes["decoder"]["mixer"]


@pytest.mark.slow
def test_a_slots_own_knob_wins_over_the_defaults():
    nodes = compose(["mixer.heads=8", "model.nodes.decoder.mixer.heads=2"]).values["model"]["nodes"]
    assert (nodes["encoder"]["mixer"]["heads"], nodes["decoder"]["mixer"]["heads"]) == (8, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["pool=last"], ["pool", "command line: pool=last", "has no effect"]),
        (["pool.x=3"], ["pool.x=3", "has no key 'x'"]),
        (["+pool.x=3"], ["command line: +pool.x=3", "has no effect"]),
        (["mixer=lstm", "+mixer.heads=2"], ["command line: +mixer.heads=2", "'lstm' has no parameter 'heads'"]),
        (["+model.width=3"], ["model.width", "has no effect", "${model.width}"]),
        (["+traning.steps=3"], ["there is no section 'traning'", "Did you mean 'training'?"]),
        (["mixr=lstm"], ["has no key 'mixr'", "Did you mean 'mixer'?"]),
        (["mixer=lstn"], ["there is no mixer 'lstn'", "Did you mean 'lstm'?", "command line: mixer=lstn"]),
        (["model.nodes.encoder.depht=3"], ["has no key 'depht'", "Did you mean 'depth'?"]),
        (["mixer@model.nodes.encodr.mixer=gru"], ["mixer@model.nodes.encodr.mixer=gru"]),
        (["model.nodes.encoder.mixer.heads=${nothing}"], ["command line: model.nodes.encoder.mixer.heads", "nothing"]),
        (["experiment=nothing"], ["there is no experiment 'nothing'"]),
        (["a b"], ["a b", "key=value"]),
        (["data.locales=[xx]"], ["data.locales", "command line: data.locales=[xx]", "no locale 'xx'"]),
        (["data=datez"], ["there is no data 'datez'", "Did you mean 'dates'?"]),
        (["seed=one"], ["seed   command line: seed=one", "expected a whole number, found 'one'"]),
        (["plugins=[nothing]"], ["command line: plugins=[nothing]", "there is no package 'nothing'"]),
        (["plugins=[nothing.py]"], ["there is no file 'nothing.py'"]),
    ],
)
def test_an_override_without_effect_is_refused(overrides, words):
    text = refused(*overrides)
    for word in words:
        assert word in text, text


@pytest.mark.slow
def test_a_problem_names_the_file_and_the_line_or_the_override(tmp_path):
    folder = tmp_path / "mixer"
    folder.mkdir()
    (folder / "mine.yaml").write_text("# Mine.\ntype: attention\n# spelled wrong:\nheadz: 4\n")
    overrides = ["mixer@model.nodes.encoder.mixer=mine", "mixer@model.nodes.decoder.mixer=bilstm"]
    with pytest.raises(UserError) as caught:
        compile_config(compose(overrides, tmp_path))
    text = str(caught.value)
    assert "2 problems in this graph:" in text
    assert "model.nodes.encoder.mixer.headz" in text
    assert "mixer/mine.yaml:4" in text
    assert "'attention' has no parameter 'headz'. Did you mean 'heads'?" in text
    assert "model.nodes.decoder   command line: mixer@model.nodes.decoder.mixer=bilstm" in text
    assert "reads the future: 'target' -> target_embedding -> decoder -> output" in " ".join(text.split())


def test_broken_yaml_is_one_sentence_with_file_and_line(tmp_path):
    (tmp_path / "mixer").mkdir()
    (tmp_path / "mixer" / "mine.yaml").write_text("type: attention\nheads: [1,\n")
    with pytest.raises(UserError) as caught:
        compose(["mixer=mine"], tmp_path)
    assert "mine.yaml:3" in str(caught.value)


@pytest.mark.slow
def test_nothing_in_a_config_can_import_or_call(tmp_path):
    """Dotted paths and Hydra's own keys are unknown names like any other."""
    marker = tmp_path / "called"
    for overrides in (
        ["+model.nodes.encoder._target_=pathlib.Path.touch"],
        ["model.nodes.encoder.mixer=os.system"],
        [f"model.nodes.encoder.mixer={{_target_:os.mkdir,_args_:['{marker}']}}"],
        ["+data._target_=os.getcwd"],
    ):
        refused(*overrides)
    assert not marker.exists()


def _knobs(kind, name):
    return {knob.name: knob.default for knob in Signature.of(registry.blocks(kind)[name]).knobs.values()}


#: elmo reads another run: tests/benchmarks/test_gallery.py
EXPERIMENTS = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml") if path.stem != "elmo")


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_compiles(experiment):
    compile_config(compose([f"experiment={experiment}"]))


@pytest.mark.slow
def test_an_experiment_can_be_varied():
    graph, _ = compile_config(compose(["experiment=hybrid", "model.nodes.decoder.depth=6"]))
    assert graph.nodes["decoder"].contents() == [
        "2 x mingru + cross_attention + mlp", "1 x attention + cross_attention + mlp",
    ] * 2  # fmt: skip


MADE_OF_OTHERS = [
    (path.parent.name, path.stem)
    for path in sorted(CONF.glob("*/*.yaml"))
    if path.parent.name in Stack.__init__.__annotations__ and "defaults:" in path.read_text()
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), MADE_OF_OTHERS)
def test_an_option_made_of_others_can_be_the_default_everywhere(kind, name):
    nodes = compose([f"{kind}={name}", "model=tagger"]).values["model"]["nodes"]
    assert nodes["encoder"][kind]["type"] in registry.blocks(kind)


def test_a_file_is_read_again_once_it_has_changed_and_what_hydra_changes_stays_out_of_memory(tmp_path):
    leaf = tmp_path / "mixer" / "mine.yaml"
    leaf.parent.mkdir()
    leaf.write_text("type: gru\n")
    first, again = (compose(["mixer=mine"], tmp_path) for _ in range(2))
    assert first == again
    leaf.write_text("# moved\nkernel: 3\ntype: convolution\n")
    changed = compose(["mixer=mine"], tmp_path)
    assert changed.values["model"]["nodes"]["encoder"]["mixer"] == {"type": "convolution", "kernel": 3}
    assert changed.locate("mixer.kernel").endswith("mine.yaml:2")
    leaf.unlink()
    with pytest.raises(UserError, match="there is no mixer 'mine'"):
        compose(["mixer=mine"], tmp_path)
