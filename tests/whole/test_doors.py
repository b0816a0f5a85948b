"""One plugin that adds one of everything, without a change to the kernel: tests/fixtures/doors/doors.py."""

import json
import re
import shutil

import pytest
import yaml

from composer.core import registry
from composer.core.signals import Field
from composer.graph.compiler import compile_graph
from composer.inference.find_checkpoint import find_checkpoint, read_checkpoint
from composer.runs.folder import read_lines
from composer.training.optimisation.node_rates import layers_above
from tests.support import processes
from tests.support.paths import ROOT

DOORS = ROOT / "tests" / "fixtures" / "doors"
PAGE = ROOT / "docs" / "extending.md"

OVERRIDES = [
    "plugins=[doors.py]", "data=sums", "model=doors", "optimiser=signs", "schedule=halves", "logger=lines",
    "callbacks=smoothed", "optimiser.layer_decay=0.9", "trainer.recompute=true", "training.steps=6", "training.batch=8",
    "training.validate_every=3", "training.figures=false", "runs=runs", "name=run",
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The plugin's graph on the plugin's data, trained by the plugin's optimiser, schedule, logger and callback."""
    folder = tmp_path_factory.mktemp("doors") / "mine"
    shutil.copytree(DOORS, folder)
    command = [ROOT / "train.py", "--config-dir", "conf", *OVERRIDES]
    done = processes.program(command, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_yaml_of_a_plugin_has_the_form_that_the_page_shows():
    """These files are trained with below. A model is a graph, and has no type."""
    forms = dict(re.findall(r"^\| `(logger|callbacks|<group>)/mine.yaml`.*?\| `(.*?)`", PAGE.read_text(), re.M))
    assert forms == {
        "logger": "mine: {file: lines.txt}", "callbacks": "mine: {share: 0.5}", "<group>": "type: mine",
    }  # fmt: skip
    for file in DOORS.glob("conf/*/*.yaml"):
        group, keys = file.parent.name, yaml.safe_load(file.read_text())
        several = group in ("logger", "callbacks")
        assert group == "model" or (list(keys) == [file.stem] if several else keys["type"] == file.stem)


@pytest.mark.slow
def test_everything_that_a_plugin_adds_takes_part_in_a_run(trained):
    run = trained / "runs" / "run"
    rows = list(read_lines(run / "metrics.jsonl"))
    validations = [row for row in rows if "valid/loss" in row]
    assert {"valid/loss", "valid/mae", "valid/near"} <= set(validations[-1]), "the head's own metric"
    assert [row["learning_rate"] for row in rows if "learning_rate" in row][-1] == pytest.approx(0.005), "the schedule"
    lines = (run / "lines.txt").read_text().splitlines()
    assert lines[-1] == "finished", "the logger"
    first, last = (row["valid/loss"] for row in validations)
    smoothed = [row["smoothed_loss"] for row in rows if "smoothed_loss" in row]
    assert smoothed == pytest.approx([first, (first + last) / 2]), "the callback"


def _print_layers():
    registry.import_plugin(str(DOORS / "doors.py"))
    nodes = {
        "embedding": {"kind": "embedding", "type": "continuous", "from": "source", "dim_out": 4},
        "deep": {"kind": "stack", "type": "tower", "from": "embedding", "ffn": "mlp", "depth": 3},
        "pool": {"kind": "pool", "type": "mean", "from": "deep"},
        "output": {"kind": "head", "type": "absolute", "from": "pool", "predicts": "target"},
    }
    fields = {"source": Field("seq", dim=2), "target": Field("vec", dim=1)}
    print(json.dumps(layers_above(compile_graph(nodes, fields))))


@pytest.mark.slow
def test_layer_wise_decay_counts_the_layers_of_a_plugins_container():
    """A weight that the container names in no layer, the gain, belongs to the first one."""
    above = json.loads(processes.run(_print_layers).out)
    layers = {re.sub(r"^nodes\.|\.(rise|fall|project)\.\w+$", "", name): layer for name, layer in above.items()}
    deep = {"deep.floors.2": 1, "deep.floors.1": 2, "deep.floors.0": 3, "deep.gain": 3}
    assert layers == {"output": 0, **deep, "embedding": 4}


@pytest.mark.slow
def test_the_laws_hold_for_the_plugins_graph(trained):
    command = ["-m", "composer", "check", "--config-dir", "conf", *OVERRIDES[:3]]
    done = processes.program(command, cwd=trained)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_trained_model_is_loaded_with_the_plugin_and_refused_without(trained):
    predict = ["-m", "composer", "predict", "runs/run"]
    done = processes.program(predict, cwd=trained)
    assert done.returncode == 2
    assert "doors.py" in done.stderr
    done = processes.program([*predict, "--plugin", "doors.py"], cwd=trained)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(records) == 8
    assert all(isinstance(record["predicted"], float) for record in records), "the head's own form"


@pytest.mark.slow
def test_what_a_plugin_adds_is_listed(trained):
    command = ["-m", "composer", "blocks", "gate", "--plugin", "doors.py"]
    done = processes.program(command, cwd=trained)
    assert done.returncode == 0, done.stderr
    assert "sigmoid" in done.stdout


@pytest.mark.slow
def test_a_type_of_field_of_a_plugin_is_declared_like_any_other(trained):
    (trained / "days.csv").write_text("day,rain\n2026-01-01,1\n2026-01-02,0\n2026-01-31,1\n2026-13-01,1\n")
    fields = "data.fields={source:{type:date,column:day},target:{type:class,column:rain}}"
    command = ["-m", "composer", "describe", "plugins=[doors.py]", "data=table", "data.path=days.csv", fields]
    done = processes.program([*command, "data.valid=0", "model=seq2vec"], cwd=trained)
    assert done.returncode == 2
    assert "days.csv:5: column 'day' holds '2026-13-01', which is no date. Write 2026-01-31." in done.stderr


@pytest.mark.slow
def test_a_type_of_field_of_a_plugin_uses_the_vocabulary_of_another_which_learns_from_both(trained):
    (trained / "lines.csv").write_text("line,answer\none two,three four\nfive,six\n" + "one,six\n" * 4)
    tokeniser = "tokeniser:{type:words}"
    source, shares = f"source:{{type:text,column:line,{tokeniser}}}", "shares:source"

    def described(target, more=""):
        fields = f"data.fields={{{source},target:{{type:{target},column:answer{more}}}}}"
        command = ["-m", "composer", "describe", "plugins=[doors.py]", "data=table", "data.path=lines.csv", fields]
        return processes.program([*command, "data.valid=0", "model=seq2seq"], cwd=trained)

    done = described("backwards", f",{shares}")
    assert done.returncode == 0, done.stderr
    own, both = 3, 6  # <unk>, <sos>, <eos>, and the six words
    assert re.findall(r"_embedding +token .*?  ([\d,]+) ", done.stdout) == [f"{128 * (own + both):,}"] * 2
    done = described("backwards", ",shares:sourse")
    assert "'sourse' is no field with a vocabulary of its own. Did you mean 'source'?" in done.stderr


@pytest.mark.slow
def test_a_tokeniser_of_a_plugin_is_named_like_any_other_and_loads_with_the_checkpoint(trained):
    (trained / "moves.tsv").write_text("lava\tvala\ntaro\trota\nmina\tnami\nsky\tyks\n" * 8)
    overrides = [
        "plugins=[doors.py]", "data=pairs", "data.path=moves.tsv", "model.dim=8", "training.steps=2",
        "training.batch=4", "training.figures=false", "runs=runs", "name=moves",
    ]  # fmt: skip
    mine = ["data.tokeniser.type=syllables", "+data.tokeniser.vowels=aeiouy"]
    done = processes.program([ROOT / "train.py", *overrides, *mine], cwd=trained)
    assert done.returncode == 0, done.stdout + done.stderr
    state = read_checkpoint(find_checkpoint(trained / "runs" / "moves"))["source"]["source"]["tokeniser"]
    assert {"la", "va", "ro", "sky"} <= set(state["coder"])
    assert state["options"]["own"] == {"vowels": "aeiouy"}
    generate = ["-m", "composer", "generate", "runs/moves", "rosky", "--plugin", "doors.py"]
    done = processes.program(generate, cwd=trained)
    assert done.returncode == 0, done.stderr
    done = processes.program([ROOT / "train.py", *overrides, "data.tokeniser.type=sylables"], cwd=trained)
    assert done.returncode == 2
    assert "command line: data.tokeniser.type=sylables" in done.stderr
    assert "there is no tokeniser 'sylables'. Did you mean 'syllables'?" in done.stderr
    done = processes.program([ROOT / "train.py", *overrides, mine[0], "+data.tokeniser.vowel=y"], cwd=trained)
    assert done.returncode == 2
    assert "has no parameter 'vowel'. Did you mean 'vowels'?" in done.stderr


DECODED = {
    "three_tokens": ["model=seq2seq"],
    "cheapest_steps": ["model=tagger"],
    "three_tokens of a language model": ["model=language_model"],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DECODED)
def test_a_head_of_a_plugin_decodes_by_itself_whoever_asks(trained, kind):
    """In the samples of validations, in evaluate, predict and inspect."""
    head, free = kind.split()[0], "language" in kind
    run = f"runs/{kind.replace(' ', '_')}"
    overrides = [
        "plugins=[doors.py]", "data=copy", "data.symbols=4", "data.length=5", "data.min_length=5", *DECODED[kind],
        f"head={head}", "model.dim=8", "training.steps=2", "training.batch=4", "training.validate_every=1",
        "training.figures=false", "data.train_size=20", "data.valid_size=12", f"name={run[5:]}", "runs=runs",
    ]  # fmt: skip
    (trained / "conf" / "head").mkdir(exist_ok=True)
    (trained / "conf" / "head" / f"{head}.yaml").write_text(f"type: {head}\n")
    done = processes.program([ROOT / "train.py", "--config-dir", "conf", *overrides], cwd=trained)
    assert done.returncode == 0, done.stdout + done.stderr
    count = 2 if head == "cheapest_steps" else 3
    samples = list(read_lines(trained / run / "samples.jsonl"))
    assert samples
    assert all(len(sample["found"].split()) == count for sample in samples)
    if free:
        return  # there is no one true text to compare with: evaluate and predict score the given one

    def composer(command, *arguments):
        done = processes.program(["-m", "composer", command, run, "--plugin", "doors.py", *arguments], cwd=trained)
        assert done.returncode == 0, done.stderr
        return done.stdout

    records = [json.loads(line) for line in composer("predict").splitlines()]
    assert len(records) == 12
    assert all(len(record["predicted"].split()) == count for record in records)
    if head == "cheapest_steps":
        assert all(len(record["others"][0]["predicted"].split()) == 3 for record in records)
    found = json.loads(composer("evaluate", "--json", "--worst", "12"))
    right = sum(record["predicted"] == record["wanted"] for record in records) / 12
    assert found["metrics"]["exact"]["value"] == pytest.approx(right)
    worst = found["heads"]["output"]["worst"]
    assert sorted(row["predicted"] for row in worst) == sorted(record["predicted"] for record in records)
    composer("inspect", "-o", "looked_into", "--given", "0 1 2 3")
    page = (trained / "looked_into" / "inspect.html").read_text()
    (given,) = (json.loads(line) for line in composer("predict", "--given", "0 1 2 3").splitlines())
    assert f">{given['predicted']}<" in page
