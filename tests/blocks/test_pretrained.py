"""Pretrained vectors are those of their file, and a file that does not fit is refused with its line."""

import pytest
import torch

from composer.core import registry
from composer.core.meta import on_meta
from composer.core.problems import ConfigError, Invalid
from composer.core.signals import Contents, Field, Ids
from composer.graph.compiler import compile_graph
from tests.support.paths import ROOT
from tests.support.twins import make

GLOVE = ROOT.parent / "shared" / "data" / "glove" / "glove.50d.small.txt"


TOKENS = ("<unk>", "cat", "dog", "New York")
VECTORS = "cat 1 2 3\ndog 4 5 6\nunseen 7 8 9\nNew York 0.5 0.25 -1\ncat 9 9 9\n"


def pretrained(path, tokens=TOKENS, **knobs):
    knobs = {"dim": None, **knobs}
    return make("embedding", "pretrained", len(tokens), tokens, path=str(path), **knobs)


@pytest.mark.parametrize("header", ["", "5 3\n"], ids=["glove", "word2vec"])
def test_pretrained_rows_are_the_files(tmp_path, header, caplog):
    (tmp_path / "vectors.txt").write_text(header + VECTORS)
    block = pretrained(tmp_path / "vectors.txt")
    assert block.weight[1:].tolist() == [[1, 2, 3], [4, 5, 6], [0.5, 0.25, -1]]
    assert block.weight[0].abs().sum() > 0
    assert not block.weight.requires_grad
    assert "1 of 4 tokens are not in" in caplog.text
    assert "<unk>" in caplog.text
    y = block(Ids(torch.tensor([[2, 1], [3, 77]]), torch.tensor([2, 1])))
    assert y.values[0].tolist() == [[4, 5, 6], [1, 2, 3]]


def test_pretrained_can_be_tuned_and_projected(tmp_path):
    (tmp_path / "vectors.txt").write_text(VECTORS)
    block = pretrained(tmp_path / "vectors.txt", frozen=False, dim=2)
    assert block.weight.requires_grad
    y = block(Ids(torch.tensor([[1, 2]])))
    wanted = torch.tensor([[1.0, 2, 3], [4, 5, 6]]).double() @ block.project.weight.t()
    torch.testing.assert_close(y.values[0], wanted)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat 1 2 3\ndog 4 5\n", "line 2 of .* has 2 numbers, the file's width is 3"),
        ("cat 1 2 3\ndog 4 5 6 7\n", "line 2 of .* has 4 numbers, the file's width is 3"),
        ("2 3\ncat 1 2 3\ndog 4\n", "line 3 of .* has 1 numbers, the file's width is 3"),
        ("cat 1 2 x\n", "line 1 of .* has something that is no number"),
        ("cow 1 2 3\n", "none of the 4 tokens"),
        ("cat\n", "line 1 of .* expected a token and its numbers"),
        ("", "line 1 of .* expected a token and its numbers"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_line(tmp_path, text, words):
    (tmp_path / "vectors.txt").write_text(text)
    with pytest.raises(Invalid, match=words):
        pretrained(tmp_path / "vectors.txt")


def test_a_missing_file_is_a_problem_before_any_weight_exists(tmp_path):
    path = tmp_path / "no.txt"
    nodes = {
        "words": {"kind": "embedding", "type": "pretrained", "path": str(path), "dim": None, "from": "x"},
        "output": {"kind": "head", "type": "categorical", "from": "words", "predicts": "y"},
    }
    fields = {
        "x": Field("ids", vocabulary=4, contents=Contents(tokens=TOKENS)),
        "y": Field("ids", vocabulary=2, axis="x"),
    }
    with pytest.raises(ConfigError, match="there is no file") as caught:
        compile_graph(nodes, fields)
    assert caught.value.problems[0].path == "model.nodes.words.path"
    path.write_text(VECTORS)
    graph = compile_graph(nodes, fields)
    assert graph.plan.outputs["words"].dim == 3
    assert graph.materialise().nodes["words"].weight[2].tolist() == [4, 5, 6]
    with pytest.raises(ConfigError, match="does not name its tokens"):
        compile_graph(nodes, {**fields, "x": Field("ids", vocabulary=4)})


def test_on_meta_only_the_first_line_is_read(tmp_path):
    (tmp_path / "vectors.txt").write_text("cat 1 2 3\n" + "broken\n" * 3)
    with on_meta():
        block = registry.blocks("embedding")["pretrained"](4, TOKENS, path=str(tmp_path / "vectors.txt"), dim=None)
    assert block.weight.shape == (4, 3)
    assert block.weight.is_meta


@pytest.mark.skipif(not GLOVE.exists(), reason=f"needs {GLOVE}")
def test_glove_rows_are_the_files():
    lines = [line.split(" ") for line in GLOVE.read_text().splitlines()]
    tokens = ("<sos>", *(line[0] for line in lines))
    block = pretrained(GLOVE, tokens)
    for place, line in enumerate(lines, start=1):
        torch.testing.assert_close(block.weight[place], torch.tensor([float(text) for text in line[1:]]).double())
