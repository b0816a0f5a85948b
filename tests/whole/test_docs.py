"""Commands in the documentation are commands: each composes, compiles and is found sound, as far as training goes."""

import re
import shlex

import pytest
import yaml

from composer.config.composition import compose
from composer.core.signals import Field
from composer.graph.compiler import compile_graph
from composer.training.run.plan import prepare
from tests.support.paths import ROOT

SHELL = re.compile(r"```sh\n(.*?)```", re.S)


def commands():
    """The overrides of every train.py in the pages; a sweep's first combination."""
    for page in ("training.md", "graphs.md"):  # the others are run whole, by tests of their own
        for block in SHELL.findall((ROOT / "docs" / page).read_text()):
            for line in block.replace("\\\n", "").splitlines():
                words = shlex.split(line, comments=True)
                if "train.py" in words:
                    yield [word for word in words[words.index("train.py") + 1 :] if word != "-m"], "-m" in words


@pytest.mark.slow
@pytest.mark.parametrize(("overrides", "many"), list(commands()), ids=lambda value: str(value)[:60])
def test_a_documented_command_is_sound(overrides, many, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews.tsv").write_text("a good film\tyes\na bad film\tno\n" * 10)
    (tmp_path / "book.txt").write_text("The king and the queen. " * 100)
    monkeypatch.setattr("composer.training.run.plan.check_hardware", lambda hardware: None)  # there may be no GPU here
    if "logger=mlflow" in overrides:
        pytest.importorskip("mlflow")
    overrides = [word.split(",")[0] if many else word for word in overrides if not word.startswith("resume=")]
    prepare(compose(overrides))


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "graphs.md").read_text(), re.S))
def test_the_graphs_of_the_page_compile(text):
    """Each with the embeddings and the head that the page leaves out."""
    field = Field("ids", vocabulary=9, start=0, stop=1)
    embedding = {"kind": "embedding", "type": "token", "dim": 128}
    nodes = {"output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"}}
    nodes |= {f"{name}_embedding": {**embedding, "from": name} for name in ("source", "target") if f"{name}_e" in text}
    graph = compile_graph(nodes | yaml.safe_load(text)["nodes"], {"source": field, "target": field})
    assert graph.plan.generated == {"target"}
