"""Files and overrides that are merged as plain data give what Hydra composes of files that Hydra itself reads."""

import contextlib

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from composer.config import yaml_files
from composer.config.search_path import SearchPath
from composer.core.problems import UserError
from tests.support.paths import ROOT


@contextlib.contextmanager
def initialised(folder=None):
    GlobalHydra.instance().clear()
    before = yaml_files.user_folder.set(folder)
    try:
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            yield
    finally:
        yaml_files.user_folder.reset(before)


def hydras_own(overrides, folder=None):
    """The config that Hydra composes by its own readers of files, as text; keys are in order. None for an error."""
    search = [f"hydra.searchpath=[file://{folder}]"] if folder else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_files.ConfigFolder, "of", lambda entry: None)
        with initialised(), contextlib.suppress(HydraException, OmegaConfBaseException):
            return OmegaConf.to_yaml(hydra_compose("train", overrides=[*overrides, *search]), resolve=False)


def ours(overrides, folder=None):
    with initialised(folder), contextlib.suppress(UserError, HydraException, OmegaConfBaseException):
        return OmegaConf.to_yaml(OmegaConf.create(SearchPath().merge("train", overrides).layers.values), resolve=False)


EXPERIMENTS = sorted(file.stem for file in (ROOT / "conf" / "experiment").glob("*.yaml"))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_config_is_the_one_that_hydra_composes(experiment):
    overrides = [f"experiment={experiment}", "training.steps=3", "+model.more={a: [1, 2]}"]
    assert ours(overrides) == hydras_own(overrides) is not None


#: Contents that are merged over others, of which some have a meaning of their own.
MERGED = [
    "training: 3", "training: null", "training: {steps: 7}", "training: ???", "training:\n  steps: ???", "mixer: [1]",
    "model: {nodes: {encoder: '${model.nodes.decoder}'}}\ndata: {type: '${nowhere}'}", "data: ${model}", "seed: {a: 1}",
    "runs: ???", "plugins: [a, b]", "plugins: {a: 1}", "1: 2\ntrue: 3", "name: {b: {c: 1}}",
    "init: 5\nbudget: [{a: 1}]",
    "defaults: [override /mixer: gru]\nmodel: {nodes: {encoder: {mixer: {type: lstm}}}}",
    "defaults: [more]\ndata: ${mixer}", "defaults: [more]\ndata: ${name}", "a: &x {b: 1, c: [2]}\nd: {<<: *x, b: 2}",
]  # fmt: skip

#: A file that is merged over some of them.
MORE = "# @package _global_\ndata: {b: 1}\n"


@pytest.mark.parametrize("content", MERGED)
def test_every_kind_of_merge_gives_what_hydra_merges(tmp_path, content):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(f"# @package _global_\n{content}\n")
    (tmp_path / "experiment" / "more.yaml").write_text(MORE)
    assert ours(["experiment=mine"], tmp_path) == hydras_own(["experiment=mine"], tmp_path)


#: Overrides that set, add and remove values, of which Hydra refuses some.
OVERRIDES = [
    "seed=2", "+seed=2", "++seed=2", "~seed", "~seed=1", "~seed=2", "~model.nodes", "~nothing", "~training={steps: 1}",
    "training={steps: 1}", "training.steps={a: 1}", "+training.new=1", "training.new=1", "++a.b.c=[1,2]", "+a.b={c: d}",
    "plugins=[a]", "plugins.0=a", "+plugins.0=a", "+training={new: 1}", "training.steps.x=1", "+training.steps.x=1",
    "name=${seed}", "name='${oc.env:HOME}'", "model.nodes.encoder=null", "model.nodes.encoder=[1]", "mixer={type: gru}",
    "mixer=gru", "+mixer=gru", "mixer@model.nodes.decoder.mixer=gru", "~mixer", "~logger", "seed@a=3", "a b", "=",
    "mixer.heads=8", "+mixer@model.nodes.new=gru", "logger=[csv,wandb]", "logger=[]", "training.steps=???",
    "seed='1,2'",
]  # fmt: skip


@pytest.mark.parametrize("override", OVERRIDES)
def test_overrides_have_the_effect_that_they_have_in_hydra(override):
    expected = hydras_own([override])
    assert ours([override]) == expected
    assert ours(["training.batch=8", override]) == hydras_own(["training.batch=8", override])
