"""A user's own block, from a file or a package that the config names: registered, composed, checked, trained."""

from collections import OrderedDict

import pytest
from torch import nn

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.capabilities import check_capabilities
from composer.core.problems import UserError
from composer.testing import LAWS
from tests.support import processes
from tests.support.paths import ROOT

BLOCK = '''
"""A leaky average: h_t = keep * h_{t-1} + (1 - keep) * x_t."""

import torch
from torch import nn

from composer.core.block import Probability
from composer.core.registry import register
from composer.core.signals import Seq, State


@register("mixer", "NAME")
class Leaky(nn.Module):
    causal = True

    def __init__(self, dim: int, *, keep: Probability = 0.5) -> None:
        super().__init__()
        self.keep = keep
        self.scale = nn.Parameter(torch.ones(dim))

    def start(self, batch: int) -> State:
        return {"h": self.scale.new_zeros(batch, self.scale.shape[0])}

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        h, outputs, mask = (state or self.start(x.batch))["h"], [], x.mask
        for t, step in enumerate(x.filled().unbind(1)):
            new = self.keep * h + (1 - self.keep) * step * self.scale
            h = new if mask is None else torch.where(mask[:, t, None], new, h)
            outputs.append(h)
        return x.like(torch.stack(outputs, dim=1)), None if state is None else {"h": h}
'''


@pytest.mark.slow
def test_a_file_end_to_end(tmp_path):
    """Composed by Hydra, compiled, checked against the laws and trained, in a process of its own."""
    (tmp_path / "mine.py").write_text(BLOCK.replace("NAME", "leaky"))
    (tmp_path / "conf" / "mixer").mkdir(parents=True)
    (tmp_path / "conf" / "mixer" / "leaky.yaml").write_text("# A leaky average.\ntype: leaky\nkeep: 0.9\n")
    overrides = ["plugins=[mine.py]", "mixer=leaky", "model.dim=16", "data=copy", "data.length=4"]
    check = ["-m", "composer", "check", *overrides, "--config-dir", "conf"]
    done = processes.program(check, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("holds") == len(LAWS)
    train = [ROOT / "train.py", "--config-dir", "conf", *overrides, "training.steps=2"]
    small = ["data.train_size=50", "data.valid_size=10", "training.figures=false"]
    done = processes.program([*train, *small], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 x leaky +" in done.stdout


@pytest.mark.slow
def test_a_package(tmp_path, monkeypatch):
    package = tmp_path / "leaky_blocks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "deep.py").write_text(BLOCK.replace("NAME", "leaky_packaged"))
    monkeypatch.syspath_prepend(tmp_path)
    graph, _ = compile_config(compose(["plugins=[leaky_blocks]", "model.nodes.decoder.mixer=leaky_packaged"]))
    assert "leaky_packaged" in graph.nodes["decoder"].contents()[0]
    registry.forget("mixer", "leaky_packaged")


@pytest.mark.slow
def test_what_is_not_named_is_not_loaded(tmp_path, monkeypatch):
    (tmp_path / "unnamed.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for value in ("unnamed", "unnamed.Block", "unnamed:Block"):
        with pytest.raises(UserError, match="there is no mixer"):
            compile_config(compose([f"model.nodes.decoder.mixer='{value}'"]))


def test_a_plugin_with_a_missing_dependency_says_which(tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_package")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        registry.load([str(tmp_path / "broken.py")])


def test_two_blocks_cannot_share_a_name(tmp_path):
    (tmp_path / "clash.py").write_text(BLOCK.replace("NAME", "lstm"))
    with pytest.raises(UserError, match="already registered"):
        registry.load([str(tmp_path / "clash.py")])


def test_a_module_that_registers_nothing_is_no_plugin(tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    for plugin in ("os", "json", str(tmp_path / "empty.py")):
        with pytest.raises(UserError, match=r"is no plugin: it registers nothing, so naming it has no effect"):
            registry.load([plugin])


def test_a_plugin_may_register_by_the_modules_that_it_imports(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "leaky_inner.py").write_text(BLOCK.replace("NAME", "leaky_inner"))
    (tmp_path / "outer.py").write_text("import leaky_inner\n")
    for _ in range(2):
        registry.load([str(tmp_path / "outer.py")])
    registry.forget("mixer", "leaky_inner")


def test_a_declared_attribute_may_be_of_a_class_made_of_its_type():
    check_capabilities(type("Own", (nn.Module,), {"rate_factors": OrderedDict(decay=0.1), "out_dim": 4}))
    with pytest.raises(UserError, match="says out_dim = True, expected int or None"):
        check_capabilities(type("Own", (nn.Module,), {"out_dim": True}))


def test_a_file_of_the_catalogue_is_the_module_that_is_loaded():
    module = registry.import_plugin(str(ROOT / "blocks" / "norm" / "rms.py"))
    assert module.RMSNorm is registry.blocks("norm")["rms"]
