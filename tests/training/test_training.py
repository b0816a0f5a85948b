"""The parts of training, against their formulas; and what a run leaves behind, against what it was."""

import inspect
import json
import math
import os
import pickle
from dataclasses import asdict

import pytest
import torch
import yaml
from torch import nn

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import ConfigError, UserError
from composer.graph.describe import summarise
from composer.runs import checkpoint
from composer.runs.folder import read_lines
from composer.runs.staging import create_run_folder
from composer.training.callbacks.weight_average import WeightAverage
from composer.training.memory import recompute_sublayers
from composer.training.optimisation.node_rates import GroupSettings, grouped
from composer.training.optimisation.optimisers import bind_optimiser
from composer.training.optimisation.schedules import bind_schedule
from composer.training.run.init.settings import Init
from composer.training.run.peak_memory import peak_memory, reset_peak_memory
from composer.training.run.plan import prepare
from composer.training.settings import Hardware, Training
from tests.support import processes
from tests.support.paths import ROOT

CONF = ROOT / "conf"
SMALL = [
    "data=copy", "data.train_size=100", "data.valid_size=20", "data.length=6", "model.dim=16", "mixer.heads=2",
    "training.steps=6", "training.batch=8", "training.validate_every=3", "training.decode_rows=4",
    "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1",
]  # fmt: skip


def knobs(build):
    constructor = build.__init__ if isinstance(build, type) else build
    parameters = inspect.signature(constructor).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "known"), [("optimiser", registry.entries("optimiser")), ("schedule", registry.entries("schedule"))]
)
def test_the_yaml_of_every_optimiser_and_schedule_lists_its_knobs_with_their_defaults(group, known):
    assert {path.stem for path in (CONF / group).glob("*.yaml")} == set(known)
    for name, build in known.items():
        values = compose([f"{group}={name}"]).values[group]
        every = knobs(GroupSettings) if group == "optimiser" else {}
        assert values == {"type": name} | knobs(build) | every


@pytest.mark.slow
def test_the_yaml_of_the_training_and_the_trainers_lists_their_knobs():
    values = compose().values
    training = knobs(Training)
    assert values["training"] == training | {"scheduled_sampling": asdict(training["scheduled_sampling"])}
    assert values["trainer"] == knobs(Hardware)
    assert values["init"] == {"from" if key == "origin" else key: value for key, value in knobs(Init).items()}
    for path in (CONF / "trainer").glob("*.yaml"):
        assert list(yaml.safe_load(path.read_text())) == list(knobs(Hardware))


def test_schedules_follow_their_formulas():
    def shares(name, **settings):
        schedule = bind_schedule({"type": name, **settings})(100)
        return [schedule.factor(step) for step in range(100)]

    rise = [(step + 1) / 10 for step in range(10)]
    assert shares("constant") == [1.0] * 100
    assert shares("constant", warmup=10)[:11] == [*rise, 1.0]
    assert shares("linear", warmup=0.1)[:10] == pytest.approx(rise)
    assert shares("linear", warmup=0.1, final=0.1)[10:] == pytest.approx([1 - 0.9 * i / 90 for i in range(90)])
    assert shares("cosine")[10:] == pytest.approx([(1 + math.cos(math.pi * i / 90)) / 2 for i in range(90)])
    scale = 10**0.5  # Vaswani et al.: min(step ** -0.5, step * warmup ** -1.5), here with its peak at 1
    noam = [scale * min(step**-0.5, step * 10**-1.5) for step in range(1, 101)]
    assert shares("noam") == pytest.approx(noam)


def test_a_plateau_shrinks_the_rate_and_remembers_it():
    schedule = bind_schedule({"type": "plateau", "patience": 2, "shrink": 0.5})(100)
    for better in (True, True, False, False):
        schedule.validated(better)
    assert schedule.factor(50) == 0.5
    again = bind_schedule({"type": "plateau", "patience": 2, "shrink": 0.5})(100)
    again.load_state_dict(schedule.state_dict())
    for each in (schedule, again):
        each.validated(False)
        each.validated(False)
        assert each.factor(50) == 0.25


@pytest.mark.slow
def test_only_matrices_decay():
    graph = compile_config(compose(SMALL))[0].materialise()
    groups = grouped(graph.named_parameters())
    assert all(p.dim() >= 2 for p in groups[0]["params"])
    assert all(p.dim() == 1 for p in groups[1]["params"])
    assert groups[1]["weight_decay"] == 0.0
    assert sum(len(group["params"]) for group in groups) == len(list(graph.parameters()))


@pytest.mark.parametrize("name", registry.entries("optimiser"))
def test_every_optimiser_finds_the_bottom_of_a_bowl(name):
    weight = nn.Parameter(torch.full((3, 3), 5.0))
    optimiser = bind_optimiser({"type": name, "learning_rate": 0.1})([("w", weight)])
    for _ in range(300):
        optimiser.zero_grad()
        weight.square().sum().backward()
        optimiser.step()
    assert float(weight.detach().abs().max()) < 1.0


def test_the_running_mean_is_the_mean_and_gives_way():
    model = nn.Linear(2, 2)
    average = WeightAverage(0.5)
    average.begin(model)
    mean = model.weight.detach().clone()
    for step in range(1, 6):
        model.weight.data += 1
        average.update(step)
        decay = min(0.5, (1 + step) / (10 + step))
        mean = decay * mean + (1 - decay) * model.weight.detach()
    last = model.weight.detach().clone()
    with average.applied():
        torch.testing.assert_close(model.weight.detach(), mean)
    assert torch.equal(model.weight, last)


@pytest.mark.slow
def test_recomputing_gives_the_same_gradients_and_keeps_less():
    graph, objective = compile_config(compose([*SMALL, "model.nodes.encoder.dropout=0.5", "data.length=40"]))
    graph = graph.materialise()
    signals = objective.batch("train", range(8)).signals

    def step(recompute):
        kept = []
        if recompute:
            recompute_sublayers(graph)
        torch.manual_seed(0)
        graph.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t.nbytes), t)[1], lambda t: t):
            outputs, _ = graph({"source": signals["source"]} | graph.shifted(signals))
        graph.losses(outputs, signals)["output"].sum().backward()
        return [p.grad.clone() for p in graph.parameters()], sum(kept)

    (plain, much), (again, little) = step(False), step(True)
    for a, b in zip(plain, again, strict=True):
        torch.testing.assert_close(a, b)
    assert little < much / 2


@pytest.fixture
def run(shared):
    return shared.run(processes.train_well, [*SMALL, "training.ema=0.5"])


def test_a_run_leaves_all_there_is_to_know(run):
    facts = json.loads((run / "run.json").read_text())
    assert facts["status"] == "finished"
    assert facts["versions"]["torch"] == torch.__version__
    assert "data=copy" in facts["overrides"]
    assert facts["result"]["valid/loss"] > 0
    totals = summarise(compile_config(compose(SMALL))[0])["totals"]
    assert facts["size"]["parameters"] == totals["parameters"]
    assert 0 < 3 * facts["size"]["flops_per_token"] < facts["size"]["train_flops_per_example"]
    assert (facts["seed"], facts["arm"], facts["budget"]) == (1, None, None)
    assert 50e6 < facts["peak_memory"] < 50e9  # bytes, of a process that has imported torch
    assert yaml.safe_load((run / "config.yaml").read_text())["training"]["steps"] == 6
    rows = list(read_lines(run / "metrics.jsonl"))
    assert [row["step"] for row in rows] == [3, 6, 6]
    assert {"loss", "learning_rate", "gradient_norm", "tokens_per_second", "padding"} <= rows[1].keys()
    assert [row["examples"] for row in rows if "examples" in row] == [48]  # 6 steps of 8 rows
    assert {"given", "wanted", "found", "right"} <= next(read_lines(run / "samples.jsonl")).keys() | {"given"}
    assert {"learning_curves.png", "gradient_by_step.png"} <= set(os.listdir(run / "figures"))
    assert "run       " in (run / "log.txt").read_text()
    assert (run / "graph.svg").read_text().startswith("<svg")


def test_the_peak_of_a_run_is_not_that_of_the_run_before():
    torch.ones(2**26)  # 256 MiB
    before = peak_memory(on_gpu=False)
    reset_peak_memory(on_gpu=False)
    assert peak_memory(on_gpu=False) < before - 2**27


def outputs_of(path, target):
    """In another process, from the file alone."""
    graph, objective = checkpoint.rebuild(checkpoint.load(path))
    batch = objective.batch("valid", range(5)).signals
    torch.save(graph({"source": batch["source"]} | graph.shifted(batch))[0]["output"].values, target)
    return 0


def test_a_checkpoint_alone_rebuilds_the_model(run, tmp_path):
    moved = tmp_path / "elsewhere.pt"
    moved.write_bytes((run / "checkpoints" / "last.safetensors").read_bytes())
    assert processes.run(outputs_of, moved, tmp_path / "a").code == 0
    assert processes.run(outputs_of, run / "checkpoints" / "last.safetensors", tmp_path / "b").code == 0
    assert torch.equal(torch.load(tmp_path / "a"), torch.load(tmp_path / "b"))
    content = checkpoint.load(moved)
    graph, _ = checkpoint.rebuild(content)
    for name, parameter in graph.named_parameters():
        assert torch.equal(parameter, content["average"][name])  # the running mean is what is used


class Payload:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_a_checkpoint_cannot_run_code(tmp_path):
    mark = tmp_path / "it_ran"
    for write in (torch.save, lambda content, path: path.write_bytes(pickle.dumps(content))):
        write({"format": 1, "model": Payload(f"touch {mark}")}, tmp_path / "evil.pt")
        with pytest.raises(UserError, match=r"refused|not a whole checkpoint"):
            checkpoint.load(tmp_path / "evil.pt")
    assert not mark.exists()


def test_a_checkpoint_cannot_choose_plugins(run, tmp_path):
    content = checkpoint.load(run / "checkpoints" / "last.safetensors")
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'it_ran')!r}, 'w')")
    content["config"] |= {"plugins": [str(evil)]}
    with pytest.raises(UserError, match="They are code"):
        checkpoint.rebuild(content)
    assert not (tmp_path / "it_ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides"),
    [
        ["data=dates", "data.locales=[en]", "data.train_size=50", "data.valid_size=10"],
        ["data=dyck", "model=language_model", "objective=next_token", "mixer=mingru"],
        ["data=selective_copying", "data.length=20", "data.copied=4", "model=tagger", "mixer=minlstm"],
        ["data=parity", "model=seq2vec", "mixer=lstm"],
        ["data=adding", "data.train_size=160", "model=seq2vec", "head=gaussian", "embedding=continuous",
         "training.epochs=0.1", "training.steps=null"],
        ["data=sine", "model=seq2seq", "head=gaussian", "embedding=continuous", "optimiser=adafactor"],
        ["data=python_docs", "model=tagger", "objective=masked_token", "training.batch_tokens=600"],
        ["data=python_docs", "data.length=32", "objective=denoising", "schedule=noam", "optimiser=sgd"],
        ["data=python_docs", "data.length=32", "model=bidirectional_lm", "objective=bidirectional_lm", "mixer=gru"],
        ["data=copy", "data.length=5", "trainer.recompute=true", "training.patience=1", "schedule=linear"],
    ],
    ids=lambda overrides: f"{overrides[0].removeprefix('data=')}-{len(overrides)}",
)  # fmt: skip
def test_every_family_and_objective_trains(tmp_path, overrides):
    base = ["model.dim=16", "training.steps=4", "training.batch=4", "training.validate_rows=8", f"runs={tmp_path}"]
    quiet = ["training.figures=false", "training.test=false", "logger=none", "name=run"]
    done = processes.run(processes.train, [*base, *overrides, *quiet])
    assert done.code == 0, done.err
    assert math.isfinite(json.loads((tmp_path / "run" / "run.json").read_text())["result"]["valid/loss"])
    assert "found" in next(read_lines(tmp_path / "run" / "samples.jsonl"))  # there is something to look at


@pytest.mark.slow
def test_a_checkpoint_carries_what_was_read_from_a_file(tmp_path):
    """Vectors of words come from a file, once."""
    (tmp_path / "pairs.tsv").write_text("".join(f"the cat {i}\tcat {i}\n" for i in range(40)))
    (tmp_path / "vectors.txt").write_text("the 1 2 3\ncat 4 5 6\n")
    overrides = [
        "data=pairs", f"data.path={tmp_path}/pairs.tsv", "data.tokeniser.type=words", "model.dim=16",
        "embedding@model.nodes.source_embedding=pretrained", "training.steps=2", "training.batch=4",
        f"model.nodes.source_embedding.path={tmp_path}/vectors.txt", f"runs={tmp_path}", "name=run",
        "training.figures=false",
    ]  # fmt: skip
    assert processes.run(processes.train, overrides).code == 0
    (tmp_path / "vectors.txt").unlink()
    graph, _ = checkpoint.rebuild(checkpoint.load(tmp_path / "run" / "checkpoints" / "last.safetensors"))
    assert [4.0, 5.0, 6.0] in graph.nodes["source_embedding"].weight.tolist()
    assert processes.run(processes.train, [f"resume={tmp_path}/run", "training.steps=4"]).code == 0


def test_a_number_names_a_run(tmp_path):
    folder, lock = create_run_folder(tmp_path, 0.1, lambda folder: None)
    lock.close()
    assert folder.path == tmp_path / "0.1"


@pytest.mark.parametrize("key", ["runs", "name", "group", "arm"])
def test_a_list_names_no_run(key):
    with pytest.raises(ConfigError, match=rf"{key} .*command line: {key}=\[a,b\]\n +expected a name, found"):
        prepare(compose([f"{key}=[a,b]"]))
