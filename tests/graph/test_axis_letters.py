"""Time axes in summaries: sequences share a letter exactly where they have the same steps."""

import pytest

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.graph.describe import summarise

SMALL = ["model.dim=8", "mixer=gru", "ffn=none"]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["model=language_model", "objective=next_token", "data=python_docs"], {"T"}),
        (["model=seq2vec", "data=languages"], {"T"}),
        (["model=vec2seq", "data=colours"], {"T"}),
        (["model=seq2seq", "data=reverse"], {"S", "T"}),
        (["experiment=entailment"], {"T1", "T2"}),
    ],
)
def test_the_source_has_another_letter_than_what_is_generated(overrides, expected):
    graph, _ = compile_config(compose([*overrides, *([] if "experiment" in overrides[0] else SMALL)], to_compile=True))
    summary = summarise(graph, length=8)
    shapes = {entry["name"]: entry["shape"] for entry in summary["inputs"]}
    shapes |= {node["name"]: node["output"]["shape"] for node in summary["nodes"]}
    letters = {name: shape[1] for name, shape in shapes.items() if len(shape) > 1 and isinstance(shape[1], str)}
    assert set(letters.values()) == expected
    for entry in summary["inputs"]:
        if entry["generated"]:
            assert letters[entry["name"]] == "T"
    for node in summary["nodes"]:
        main = next(iter(node["from"].values()))
        if node["name"] in letters and len(main) == 1:
            assert letters[node["name"]] == letters[main[0]]
