"""A field that is made of the same column as a head's target tells of the target, whatever the types of the two."""

import pytest

import composer.graph.compiler
from composer.core.problems import ConfigError
from composer.data import load_source
from composer.objectives import load_objective
from composer.testing import LawBroken, graph_subject, hold
from tests.graph.test_telling import EMBED, HEAD, MIXER, STACK, compiled

ROWS = ["red green blue,x,1,2", "blue red black green,y,3,1", "green grey red pink,x,2,5", "pink blue red grey,y,0,4"]
SPELLED = {"kind": "embedding", "type": "characters", "dim": 8, "mixer": "conv", "pool": "max"}
WORDS = {"type": "words", "column": "words"}
CHARACTERS = {"type": "characters", "column": "words", "along": "words"}
KIND = {"type": "class", "column": "kind"}
POOL = {"kind": "pool", "type": "mean", "from": "embedding"}
VALUE = {"kind": "head", "type": "gaussian"}

#: By case: the declared fields, the graph, and the head's target with the field that tells of it.
LEAKS = {
    "characters of words": (
        {"words": WORDS, "chars": CHARACTERS},
        {"embedding": {**SPELLED, "from": "chars"}, "mixer": {**MIXER, "from": "embedding"},
         "output": {**HEAD, "from": "mixer", "predicts": "words"}}, ("words", "chars"),
    ),
    "the column by its number": (
        {"words": WORDS, "chars": CHARACTERS | {"column": 1}},
        {"embedding": {**SPELLED, "from": "chars"}, "output": {**HEAD, "from": "embedding", "predicts": "words"}},
        ("words", "chars"),
    ),
    "another vocabulary": (
        {"words": WORDS, "same": WORDS | {"along": "words", "lowercase": True}},
        {"embedding": {**EMBED, "from": "same"}, "output": {**HEAD, "from": "embedding", "predicts": "words"}},
        ("words", "same"),
    ),
    "words as tags": (
        {"words": WORDS, "tags": {"type": "tags", "column": "words", "along": "words"}},
        {"embedding": {**EMBED, "from": "words"}, "output": {**HEAD, "from": "embedding", "predicts": "tags"}},
        ("tags", "words"),
    ),
    "a class among joined texts": (
        {"text": {"type": "text", "columns": ["words", "kind"]}, "kind": KIND},
        {"embedding": {**EMBED, "from": "text"}, "pool": POOL, "output": {**HEAD, "from": "pool", "predicts": "kind"}},
        ("kind", "text"),
    ),
    "a number of a vector": (
        {"both": {"type": "vector", "columns": ["a", "b"]}, "a": {"type": "number", "column": 3}},
        {"output": {**VALUE, "from": "both", "predicts": "a"}}, ("a", "both"),
    ),
}  # fmt: skip


def objective_of(tmp_path, fields):
    (tmp_path / "table.csv").write_text("\n".join(["words,kind,a,b", *ROWS, *ROWS]) + "\n")
    source = load_source({"type": "table", "path": str(tmp_path / "table.csv"), "fields": fields, "valid": 0.25})
    return load_objective({"type": "supervised"}, source)


@pytest.mark.parametrize("case", LEAKS)
def test_no_head_reads_a_field_of_its_target_s_column(case, tmp_path):
    fields, nodes, (target, other) = LEAKS[case]
    with pytest.raises(ConfigError) as caught:
        compiled(nodes, objective_of(tmp_path, fields))
    (problem,) = caught.value.problems
    assert problem.path == "model.nodes.output.predicts"
    assert f"'{other}' tells of '{target}': both are made of one column" in problem.message


@pytest.mark.parametrize("case", LEAKS)
def test_the_law_of_causality_finds_the_leak_without_the_proof(case, tmp_path, monkeypatch):
    monkeypatch.setattr(composer.graph.compiler, "prove", lambda *passed: None)
    fields, nodes, (target, other) = LEAKS[case]
    objective = objective_of(tmp_path, fields)
    with pytest.raises(LawBroken, match=f"changes with '{target}' and with it {other}, which it has to predict"):
        hold(graph_subject(compiled(nodes, objective).materialise(), objective=objective), ["causality"])


JOINED = {
    "chars_embedding": {**SPELLED, "from": "chars"},
    "words_embedding": {**EMBED, "from": "words"},
    "embedding": {"kind": "merge", "type": "add", "from": ["words_embedding", "chars_embedding"]},
    "encoder": {**MIXER, "from": "embedding"},
    "pool": {**POOL, "from": "encoder"},
    "output": {**HEAD, "from": "pool", "predicts": "kind"},
}
#: Graphs that may read several fields of one column, with the fields.
LEGITIMATE = {
    "none of them is predicted": ({"words": WORDS, "chars": CHARACTERS, "kind": KIND}, JOINED),
    "characters of earlier words alone": (
        {"words": WORDS, "chars": CHARACTERS, "kind": KIND},
        JOINED | {"language_model": {**HEAD, "from": "encoder", "predicts": "words"}},
    ),
    "an autoencoder": (
        {"source": {"type": "text", "column": "words"}, "target": {"type": "text", "column": "words"}},
        {"source_embedding": {**EMBED, "from": "source"}, "embedding": {**EMBED, "from": "target"},
         "decoder": {**STACK, "cross": "cross_attention", "from": {"x": "embedding", "memory": "source_embedding"}},
         "output": {**HEAD, "from": "decoder", "predicts": "target"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LEGITIMATE)
def test_fields_of_one_column_may_be_read_where_no_head_reads_its_answer(case, tmp_path):
    fields, nodes = LEGITIMATE[case]
    objective = objective_of(tmp_path, fields)
    hold(graph_subject(compiled(nodes, objective).materialise(), objective=objective), ["causality"])
    noted = any("are made of the same column 'words'" in remark for remark in objective.source.remarks)
    assert noted == (case == "an autoencoder")


def test_an_auxiliary_language_model_may_not_read_the_characters_of_its_own_step(tmp_path):
    nodes = JOINED | {"language_model": {**HEAD, "from": "chars_embedding", "predicts": "words"}}
    with pytest.raises(ConfigError, match="'chars' tells of 'words'"):
        compiled(nodes, objective_of(tmp_path, {"words": WORDS, "chars": CHARACTERS, "kind": KIND}))
