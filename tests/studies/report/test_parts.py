"""The sections that are read from folders and configs."""

import base64
import json

import pytest

from composer.config.composition import compose
from composer.studies.comparison import compare
from composer.studies.report import pictures_section
from composer.studies.report.arms_section import ABSENT, differences, in_yaml
from composer.studies.report.lengths_section import lengths_of
from composer.studies.report.making_section import making_of
from composer.studies.report.pictures_section import graphs_of, pictures_of
from tests.support.study_runs import STUDY, config_of, write_run


def two_arms(folder, **second):
    """A comparison of lstm with gru, whose config is changed."""
    for number, arm in enumerate(("lstm", "gru")):
        config = config_of(arm, 1) | (second if arm == "gru" else {})
        write_run(folder / f"{number}_{arm}", arm, 1, STUDY[arm], config=config)
    return compare([folder])


def test_only_the_keys_that_differ_are_listed(tmp_path):
    found = differences(two_arms(tmp_path, optimiser={"type": "sgd", "momentum": 0.9}).arms)
    rows = {row["key"]: row["values"] for row in found["rows"]}
    assert found["arms"] == ["lstm", "gru"]
    assert rows == {
        "model.nodes.encoder.mixer.type": ["lstm", "gru"],
        "model.nodes.decoder.mixer.type": ["lstm", "gru"],
        "optimiser.type": ["adamw", "sgd"],
        "optimiser.learning_rate": ["0.003", ABSENT],
        "optimiser.momentum": [ABSENT, "0.9"],
    }


def test_values_are_written_as_yaml_on_one_line():
    assert [in_yaml(value) for value in (None, True, "1", [1, "a"], {}, "a\nb")] == [
        "null",
        "true",
        "'1'",
        "[1, a]",
        "{}",
        '"a\\nb"',
    ]


def test_figures_are_embedded_up_to_the_limit(tmp_path, monkeypatch):
    comparison = two_arms(tmp_path)
    content = b"\x89PNG" + bytes(1000)
    for run in (arm.runs[0] for arm in comparison.arms):
        for name in ("gradient_by_step", "attention_decoder", "learning_curves"):
            (run.folder / "figures" / f"{name}.png").write_bytes(content)
    found = pictures_of(comparison.arms)
    assert [(each["name"], [picture["arm"] for picture in each["pictures"]]) for each in found["figures"]] == [
        ("attention_decoder", ["lstm", "gru"]), ("gradient_by_step", ["lstm", "gru"]),
    ]  # fmt: skip
    source = found["figures"][0]["pictures"][0]["source"]
    assert base64.b64decode(source.removeprefix("data:image/png;base64,")) == content
    monkeypatch.setattr(pictures_section, "LIMIT", 3 * len(source))
    found = pictures_of(comparison.arms)
    assert sum(len(each["pictures"]) for each in found["figures"]) == 3
    assert found["left_out"] == 1


def test_without_figures_there_is_no_section(tmp_path):
    assert pictures_of(two_arms(tmp_path).arms) is None


@pytest.mark.parametrize("tuned", [False, True])
def test_arms_at_several_lengths_are_series(tmp_path, tuned):
    """Also where every arm has a learning rate of its own, because it was tuned."""
    for number, (mixer, length) in enumerate((m, n) for m in ("lstm", "gru") for n in (64, 16)):
        folder = tmp_path / f"{number}_{mixer}_{length}"
        write_run(folder, f"{mixer} {length}", 1, STUDY[mixer], config=config_of(mixer, 1, length=length))
        facts = json.loads((folder / "run.json").read_text())
        facts["overrides"] += [f"data.length={length}"]
        if tuned:
            rate = 0.001 * (number + 1)
            facts["overrides"] += [f"optimiser.learning_rate={rate}"]
            facts["trial"] = {"number": number, "phase": "final", "parameters": {"optimiser.learning_rate": rate}}
        (folder / "run.json").write_text(json.dumps(facts))
    arms = compare([tmp_path]).arms
    found = {
        each["name"]: [(point["length"], arms[point["arm"]].name) for point in each["points"]]
        for each in lengths_of(arms)
    }
    assert found == {"lstm": [(16, "lstm 16"), (64, "lstm 64")], "gru": [(16, "gru 16"), (64, "gru 64")]}


def test_arms_of_one_length_are_no_series(tmp_path):
    assert lengths_of(two_arms(tmp_path).arms) is None


def test_how_it_was_made_names_seeds_budgets_and_tuning(comparison):
    found = making_of(comparison)
    assert found["seeds"][0]["seeds"] == [1, 2, 3]
    budget = next(each for each in found["budgets"] if each["arm"] == "lstm")
    assert budget == {"arm": "lstm", "kind": "parameters", "target": 200_000, "reached": 201_480, "residual": 0.0074}
    tuned = next(each for each in found["tuning"] if each["arm"] == "rnn")
    assert {each["text"]: each["count"] for each in tuned["ended"]} == {"finished": 5, "pruned": 2, "failed": 1}
    assert found["commands"] == ["python train.py -m study=rnn_vs_transformer"]
    assert [form["count"] for each in found["settings"] if each["name"] == "data" for form in each["forms"]] == [15]
    assert len(found["runs"]) == 15 + 40
    assert "rnn_vs_transformer" in found["sweeps"][0]["text"]


@pytest.fixture
def real_arms(tmp_path):
    """Two arms whose graphs can be compiled."""
    overrides = ["data=reverse", "model.dim=16", "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1"]
    for number, mixer in enumerate(("lstm", "gru")):
        values = compose([*overrides, f"mixer={mixer}"]).values
        folder = write_run(tmp_path / f"{number}_{mixer}", mixer, 1, STUDY[mixer], config=values)
        (folder / "data.json").write_text("{}")
        (folder / "graph.svg").write_text("<svg/>")
    return tmp_path


def drawn(found):
    prefix = "data:image/svg+xml;base64,"
    return {each["arm"]: base64.b64decode(each["source"].removeprefix(prefix)).decode() for each in found["drawings"]}


def test_an_arms_graph_is_drawn_beside_the_best_with_the_differences(real_arms):
    found = graphs_of(compare([real_arms]).arms)
    drawings = drawn(found)
    assert drawings["lstm"] == "<svg/>"  # the best arm's own drawing
    assert "lstm" in drawings["gru"]
    assert "gru" in drawings["gru"]
    assert "differ" in drawings["gru"]
    assert [each["note"] for each in found["drawings"]] == [None, None]


@pytest.mark.parametrize(
    ("file", "text"), [("data.json", "[1]"), ("data.json", "{"), ("config.yaml", "model: {nodes: 3}")]
)
def test_a_graph_that_cannot_be_compiled_is_shown_alone_with_the_reason(real_arms, file, text):
    (real_arms / "1_gru" / file).write_text(text)
    found = graphs_of(compare([real_arms]).arms)
    assert drawn(found)["gru"] == "<svg/>"
    assert found["drawings"][1]["note"].startswith("not compared with the best arm: ")


def test_plugins_that_a_folder_names_are_not_run(real_arms, tmp_path):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    config = real_arms / "1_gru" / "config.yaml"
    config.write_text(config.read_text().replace("plugins: []", f"plugins: [{plugin}]"))
    assert "plugins" in graphs_of(compare([real_arms]).arms)["drawings"][1]["note"]
    assert not (tmp_path / "ran").exists()
