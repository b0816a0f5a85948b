"""What was trained, used by a program from its checkpoint alone."""

import json
import shutil
import subprocess
import sys

import pytest
import torch

import composer
from composer.core.problems import Invalid, UserError
from tests.support.paths import ROOT
from tests.support.trained import GENERATING, TYPED


def test_in_another_process_and_folder_the_checkpoint_alone_says_the_same(runs, tmp_path):
    here = {}
    for family in ("language_model", "seq2seq", "seq2vec"):
        shutil.copy(runs(family) / "checkpoints" / "best.safetensors", tmp_path / f"{family}.pt")
        model = composer.load(runs(family))
        here[family] = {"predicted": model.predict(TYPED[family]), "vectors": model.embed(TYPED[family]).tolist()}
        if family in GENERATING:
            here[family]["generated"] = [g.plain() for g in model.generate(TYPED[family], length=9)]
    code = """
import json, sys, torch, composer
torch.set_num_threads(1)
asked, out = json.load(sys.stdin), {}
for family, typed in asked.items():
    model = composer.load(f"{family}.pt")
    out[family] = {"predicted": model.predict(typed), "vectors": model.embed(typed).tolist()}
    if model.graph.plan.generated:
        out[family]["generated"] = [g.plain() for g in model.generate(typed, length=9)]
print(json.dumps(out))
"""
    asked = json.dumps({family: TYPED[family] for family in here})
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, input=asked, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert json.loads(done.stdout) == json.loads(json.dumps(here))


def test_embed_gives_a_vector_a_row_whatever_the_rows_beside_it(runs):
    for family in ("language_model", "seq2seq", "seq2vec", "tagger", "forecaster", "copy"):
        model = composer.load(runs(family))
        rows = TYPED[family]
        width = 48 if family == "tagger" else 16  # 32 of them from the characters of words
        together = model.embed(rows)
        assert together.shape == (2, width)
        torch.testing.assert_close(together[1:], model.embed(rows[1:]))
        last = model.embed(rows, pool="last")
        assert last.shape == (2, width)
    model = composer.load(runs("seq2seq"))
    signal = model.objective.encode("source", ["red green"])
    state = model.graph.start({"source": signal}, 1)["once"]["encoder"].values
    torch.testing.assert_close(model.embed("red green")[0], state[0].mean(0))
    with pytest.raises(UserError, match="'decoder' reads target"):
        model.embed("red", node="decoder")
    with pytest.raises(UserError, match="Did you mean 'encoder'"):
        model.embed("red", node="encodr")
    with pytest.raises(UserError, match="depends on what is generated"):
        composer.load(runs("vec2seq")).embed("stars=1")


def test_a_language_model_has_read_its_last_token_when_it_embeds(runs):
    model = composer.load(runs("language_model"))
    one, other = model.embed(["red gree", "red gred"], pool="last")
    assert not torch.allclose(one, other)


def test_neighbours_are_the_nearest_by_cosine(runs):
    model = composer.load(runs("seq2seq"))
    tokens, matrix = model.token_vectors("source")
    assert len(tokens) == len(matrix)
    found = model.neighbours("e", 3, field="source")
    alike = torch.nn.functional.cosine_similarity(matrix, matrix[tokens.index("e")][None])
    order = [tokens[i] for i in alike.argsort(descending=True).tolist() if tokens[i] != "e"]
    assert [token for token, _ in found] == order[:3]
    with pytest.raises(UserError, match="has no token"):
        model.neighbours("zz")
    with pytest.raises(UserError, match="no embedding"):
        composer.load(runs("forecaster")).token_vectors()


def test_the_best_checkpoint_is_used_where_there_is_one(runs, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(runs("copy"), folder)
    assert composer.load(folder).path == folder / "checkpoints" / "best.safetensors"
    assert composer.load(folder, checkpoint="last").path == folder / "checkpoints" / "last.safetensors"
    (folder / "checkpoints" / "best.safetensors").unlink()
    assert composer.load(folder).path == folder / "checkpoints" / "last.safetensors"
    with pytest.raises(UserError, match="has no best checkpoint"):
        composer.load(folder, checkpoint="best")


def test_settings_and_wishes_that_cannot_be_are_named(runs):
    model = composer.load(runs("seq2seq"))
    with pytest.raises(Invalid, match=r"lenght: there is no such setting\. Did you mean 'length'"):
        model.generate("red", lenght=3)
    with pytest.raises(Invalid, match="beams"):
        model.predict("red", beams=0)


def test_a_trained_model_is_called_with_tensors_as_with_the_signals_of_its_data(runs):
    model = composer.load(runs("seq2seq"))
    objective = model.objective
    signals = {name: objective.encode(name, ["abc", "b"]) for name in ("source", "target")}
    values = {name: signal.values for name, signal in signals.items()}
    lengths = {name: signal.lengths for name, signal in signals.items()}
    (head,) = model.graph.heads
    with torch.no_grad():
        outputs, _ = model.graph(model.graph.read(signals))
        given = model(values, lengths)[head.name]
    torch.testing.assert_close(given.filled(), outputs[head.name].filled())
    with pytest.raises(UserError, match="'target' is missing"):
        model({"source": values["source"]})


def test_a_model_and_its_evaluation_show_themselves_as_tables(runs, home, monkeypatch):
    monkeypatch.chdir(home)
    model = composer.load(runs("seq2vec"))
    assert f"after {model.step:,} steps" in repr(model).splitlines()[0]
    assert all(node.name in repr(model) for node in model.graph.plan.nodes)
    assert model._repr_html_().count("<svg") == 1
    evaluation = model.evaluate()
    low, high = evaluation.interval("loss")
    (line,) = (line for line in repr(evaluation).splitlines() if line.startswith("loss "))
    assert line.split() == ["loss", f"{evaluation.values['loss']:.4g}", f"{low:.4g}", "to", f"{high:.4g}"]
    assert all(f">{name}<" in evaluation._repr_html_() for name in evaluation.values)
