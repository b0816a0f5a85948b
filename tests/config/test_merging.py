"""Files that are merged as plain data give what Hydra itself merges, node by node."""

import pytest
from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from composer.config import yaml_files
from composer.config.loading import quick_loader
from tests.support.paths import ROOT


def hydras_own(overrides):
    """The config that Hydra's own loader composes, as text; keys are in order. Or its error."""
    with initialize_config_module("conf", version_base="1.3"):
        return written(overrides)


def ours(overrides):
    with initialize_config_module("conf", version_base="1.3"):
        quick_loader()
        return written(overrides)


def written(overrides):
    try:
        return OmegaConf.to_yaml(hydra_compose("train", overrides=overrides, return_hydra_config=True), resolve=False)
    except (HydraException, OmegaConfBaseException) as error:
        return type(error)


EXPERIMENTS = sorted(file.stem for file in (ROOT / "conf" / "experiment").glob("*.yaml"))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_files_merged_as_plain_data_give_what_hydra_merges(experiment):
    overrides = [f"experiment={experiment}", "training.steps=3", "+model.more={a: [1, 2]}"]
    assert ours(overrides) == hydras_own(overrides)


#: Contents that are merged over others, of which some have a meaning of their own.
MERGED = [
    "training: 3", "training: null", "training: {steps: 7}", "training: ???", "training:\n  steps: ???", "mixer: [1]",
    "model: {nodes: {encoder: '${model.nodes.decoder}'}}\ndata: {type: '${nowhere}'}", "data: ${model}", "seed: {a: 1}",
    "runs: ???", "plugins: [a, b]", "plugins: {a: 1}", "hydra: {job: {name: x}}", "1: 2\ntrue: 3", "name: {b: {c: 1}}",
    "defaults: [override /mixer: gru]\nmodel: {nodes: {encoder: {mixer: {type: lstm}}}}",
]  # fmt: skip


@pytest.mark.parametrize("content", MERGED)
def test_every_kind_of_merge_gives_what_hydra_merges(tmp_path, content, monkeypatch):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(f"# @package _global_\n{content}\n")
    monkeypatch.setattr(yaml_files, "check_file", lambda *_: None)  # some of the contents are refused before
    overrides = ["experiment=mine", f"hydra.searchpath=[file://{tmp_path}]"]
    assert ours(overrides) == hydras_own(overrides)
