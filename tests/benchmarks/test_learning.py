"""benchmarks/learning trains as train.py does, measures both sides alike, and goes on where it was interrupted."""

import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from scipy import stats

from benchmarks.learning.__main__ import PAGE, RESULTS, ROOT, main
from benchmarks.learning.learners import OurLearner, PeerLearner
from benchmarks.learning.page import write_page
from benchmarks.learning.peers.matching import count
from benchmarks.learning.peers.torch_nn import Classifier, LSTMEncoder, ResidualLSTM, TransformerEncoder
from benchmarks.learning.results import Point, Run, append_run, best_factor, read_runs
from benchmarks.learning.schedule import WIDEST
from benchmarks.learning.table import table
from benchmarks.learning.task import Ours, Peer, PeerModel, trained_as_ours
from benchmarks.learning.tasks import TASKS
from benchmarks.learning.training import course, measure, plan_of, taken_steps, task_plan, validation
from benchmarks.learning.verdicts import Estimate, Verdict, _corrected, line_of, verdicts
from composer.config.composition import compose
from composer.core import registry
from composer.core.signals import Ids
from composer.decoding import greedy
from composer.runs import checkpoint
from composer.training.run.train import train as train_py

#: A small language model: without attention, whose keys' bias has no gradient but rounding, weights can be compared.
SMALL = (
    "data=reverse", "data.length=5", "data.symbols=6", "data.valid_size=8", "model=language_model", "mixer=gru",
    "objective=next_token", "model.dim=16", "training.batch=8", "training.steps=4",
)  # fmt: skip


USUAL = {name: task for name, task in TASKS.items() if task.usual}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a little of everything that the tasks read."""
    folder, draw = tmp_path_factory.mktemp("data"), random.Random(1)
    words = [f"word{i}" for i in range(30)]

    def sentence():
        return [draw.choice(words) for _ in range(draw.randint(2, 9))]

    def tagged():
        rows = (f"{i}\t{w}\t_\t{'NOUN' if w < 'word2' else 'VERB'}" for i, w in enumerate(sentence(), 1))
        return "\n".join(rows) + "\n\n"

    files = {
        "tinyshakespeare/input.txt": " ".join(word for _ in range(900) for word in sentence()),
        "mr/rt-polarity.pos": "\n".join(" ".join(sentence()) for _ in range(80)),
        "mr/rt-polarity.neg": "\n".join(" ".join(sentence()) for _ in range(80)),
        "ud_ewt/en_ewt-ud-train.conllu": "".join(tagged() for _ in range(80)),
        "ud_ewt/en_ewt-ud-dev.conllu": "".join(tagged() for _ in range(20)),
        "ett/ETTh1.csv": "date,a,b\n" + "\n".join(f"{i},{math.sin(i / 4)},{draw.random()}" for i in range(1300)),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


class Echo(PeerModel):
    """A peer that is our own graph: whatever is measured of it must be what is measured of ours."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph

    def forward(self, inputs):
        outputs, _ = self.graph(inputs)
        (head,) = self.graph.heads
        return outputs[head.name].values

    def decode(self, inputs, length):
        given = {name: inputs[name] for name in self.graph.plan.given}
        return greedy(self.graph, given, self.graph.heads[0].name, length)


@pytest.mark.slow
def test_the_loop_takes_the_steps_of_train_py(tmp_path):
    quiet = ("training.figures=false", "training.samples=0", "training.decode_rows=0", "logger=none")
    overrides = (*SMALL, "seed=3")
    outcome = train_py(compose([*overrides, *quiet, f"runs={tmp_path}"]), brief=True)
    wanted = checkpoint.load(outcome.folder.last)["model"]
    plan = plan_of(overrides)
    learner = OurLearner(plan, 3)
    losses = [loss for _, loss, *_ in taken_steps(learner, plan, rate=learner.rate, steps=4)]
    assert len(losses) == 4
    for name, found in learner.model.state_dict().items():
        torch.testing.assert_close(found, wanted[name], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reversing", "shakespeare", "sentiment", "tagging"])
def test_a_peer_is_measured_as_our_graph_is(name, data):
    task = TASKS[name]
    plan = task_plan(task, "ours, attention", data)
    ours = OurLearner(plan, 1)
    peer = PeerLearner(Peer("echo", lambda plan: Echo(ours.model)), plan, 1)
    examples = validation(plan, 24)
    for batch in examples:
        torch.testing.assert_close(peer.loss(batch), ours.loss(batch))
    wanted = measure(ours, plan, task, examples)
    assert set(wanted) == set(task.figures)
    assert measure(peer, plan, task, examples) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
def test_the_naive_forecast_has_the_error_of_the_last_value(data):
    task = TASKS["forecasting"]
    plan = task_plan(task, "the last value, repeated", data)
    learner = PeerLearner(task.arms["the last value, repeated"][0], plan, 1)
    examples = validation(plan, 16)
    source, target = (torch.cat([b.signals[name].values for b in examples]) for name in ("source", "target"))
    error = float((source[:, -1:] - target).double().square().mean())
    assert measure(learner, plan, task, examples)["mse"] == pytest.approx(error)


@pytest.mark.parametrize(
    "encoder",
    [
        LSTMEncoder(20, 16, 8, 2),
        ResidualLSTM(20, 16, 2, both_ways=True),
        TransformerEncoder(20, 16, 2),
        TransformerEncoder(20, 16, 2, scale="unit", pre_norm=True),
    ],
)
def test_padding_is_nothing_to_a_peer(encoder):
    model = Classifier(encoder, 2).eval()
    words = torch.randint(20, (1, 4))
    alone = model({"source": Ids(words)})
    padded = Ids(torch.cat([torch.cat([words, words[:, :3]], 1), torch.randint(20, (1, 7))]), torch.tensor([4, 7]))
    torch.testing.assert_close(model({"source": padded})[:1], alone)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shakespeare", "sentiment", "tagging"])
def test_peers_are_about_as_large_as_ours(name, data):
    task = TASKS[name]
    peers = [(arm, ours) for arm, ours in task.arms.values() if isinstance(arm, Peer) and not arm.missing]
    assert peers
    for arm, _ in peers:
        plan = task_plan(task, arm.name, data)
        assert count(arm.build(plan)) == pytest.approx(count(plan.meta), rel=0.1), arm.name


@pytest.mark.slow
@pytest.mark.parametrize("task", USUAL.values(), ids=list(USUAL))
def test_a_task_runs_and_a_peer_that_is_not_installed_says_how_to_get_it(task, data, capsys):
    main(["--quick", "--steps", "1", "--task", task.name, "--data", str(data)])
    shown = capsys.readouterr().out.partition(f"\n{task.title}\n")[2]
    lines = {line.split(" | ")[0].strip("| "): line for line in shown.splitlines()}
    for name, (arm, _) in task.arms.items():
        if isinstance(arm, Ours) or not arm.missing:
            assert float(lines[name].split(" | ")[3]) > 0, name
        else:
            assert arm.install in lines[name]


def test_a_task_without_its_data_is_left_out(tmp_path, capsys):
    main(["--quick", "--task", "tagging", "--data", str(tmp_path)])
    said = capsys.readouterr().out
    assert f"ud_ewt/en_ewt-ud-dev.conllu is not in {tmp_path}" in said
    assert "not run" in said


@pytest.mark.slow
def test_an_interrupted_benchmark_goes_on_where_it_was(data, tmp_path, capsys):
    results = tmp_path / "results.jsonl"
    asked = ["--task", "sentiment", "--arm", "nn.LSTM", "--steps", "2", "--data", str(data), "--results", str(results)]
    main([*asked, "--rates", "1", "--seeds", "1"])
    before = results.read_text()
    assert len(before.splitlines()) == 1
    results.write_text(before + before[:40])  # killed while it wrote
    main([*asked, "--rates", "0.5", "1", "--seeds", "1", "2"])
    after = results.read_text()
    assert after.startswith(before)
    runs = read_runs(results)
    assert len({run.key for run in runs}) == len(runs)
    first, (second,) = [run for run in runs if run.seed == 1], [run for run in runs if run.seed == 2]
    tried = sorted(run.factor for run in first)
    assert tried == [tried[0] * 2**i for i in range(len(tried))]
    assert tried[0] < second.factor < tried[-1] or second.factor in (1 / WIDEST, WIDEST)  # until it is interior
    assert second.factor == min(first, key=lambda run: run.points[-1].figures["loss"]).factor
    main([*asked, "--rates", "0.5", "1", "--seeds", "1", "2"])
    assert results.read_text() == after
    capsys.readouterr()


def made(arm, losses, factor=1.0, parameters=100, first_seed=1):
    """Runs of two points each, of which the second is worse."""
    return [
        Run("tagging", arm, 10, factor, 1e-3 * factor, seed, parameters, [
            Point(5, 1.0, 0.5, {"loss": loss, "accuracy": 1 - loss}), Point(10, 2.0, 1.0, {"loss": loss + 1}),
        ])
        for seed, loss in enumerate(losses, first_seed)
    ]  # fmt: skip


def test_the_table_shows_the_best_rate_and_the_best_checkpoint():
    task = TASKS["tagging"]
    runs = [*made("ours, lstm", [0.2, 0.3, 0.4], factor=2.0), *made("ours, lstm", [0.5])]
    assert best_factor(task, runs, 1) == 2.0
    line = line_of(task, "ours, lstm", runs, 10)
    assert line is not None
    found = line.figure(task, "loss")
    assert found.mean == pytest.approx(0.3)
    assert found.half == pytest.approx(4.303 * 0.1 / math.sqrt(3), rel=1e-3)
    assert line.figure(task, "accuracy").mean == pytest.approx(0.7)
    rows = table(task, runs, 10, {})
    assert any("not run" in row for row in rows)
    assert any("| 0.001, **0.002** |" in row for row in rows)
    assert line_of(task, "ours, lstm", runs, 20) is None


def test_an_interval_needs_two_seeds():
    assert math.isnan(Estimate.of([1.0]).half)
    assert str(Estimate.of([0.25, 0.25])) == "0.25 ± 0"


def tuned(arm, losses):
    """Runs whose best rate lies between two others."""
    return [*made(arm, losses), *made(arm, [9.0], factor=0.5), *made(arm, [9.0], factor=2.0)]


def judged(*runs):
    return {pair[1:]: verdict for pair, verdict in verdicts([TASKS["tagging"]], runs, 10).items()}


def test_the_verdict_compares_runs_of_the_same_seed():
    def declared(ours, peer):
        return judged(*tuned("ours, lstm", ours), *tuned("nn.LSTM", peer))["ours, lstm", "nn.LSTM"]

    ours, peer = [0.1, 0.5, 0.9], [0.2, 0.61, 1.0]
    found = declared(ours, peer)
    assert found.p == pytest.approx(stats.ttest_rel(ours, peer).pvalue)
    assert found.words.startswith("better (p 0.00")  # by far less than the seeds differ
    assert declared(peer, ours).words.startswith("worse")
    assert declared([0.1, 0.6, 0.9], [0.2, 0.5, 0.8]).words.startswith("not distinguishable")
    assert declared([0.1], [0.2]).words == "without a verdict: fewer than two seeds"
    assert declared([0.25, 0.5], [0.5, 0.75]).words == "without a verdict: the seeds do not differ"


def test_verdicts_are_corrected_for_all_comparisons_of_the_page():
    one, two, three = (Verdict(Estimate(-1.0, 0.5), p) for p in (0.011, 0.02, 0.2))
    assert set(_corrected({"a": one, "b": two, "c": three})) == {"a", "b"}  # 0.011 * 3 and 0.02 * 2 are below 0.05
    assert set(_corrected({"a": two, "b": two, "c": three})) == set()
    assert two.words == "better, but only before the correction (p 0.02)"


def test_a_model_whose_best_rate_is_at_an_end_gets_no_verdict():
    peer = [*made("nn.LSTM", [0.2, 0.3, 0.4], factor=2.0), *made("nn.LSTM", [0.9])]
    found = judged(*tuned("ours, lstm", [0.1, 0.1, 0.2]), *peer)["ours, lstm", "nn.LSTM"]
    assert found.words == "without a verdict: nn.LSTM: its best rate is the highest tried"
    assert found.p is None


def test_a_peer_trained_as_ours_has_the_defaults_of_the_config():
    values = compose(list(SMALL)).values
    peer = trained_as_ours(Peer("peer", lambda plan: PeerModel()))
    assert peer.rate == values["optimiser"]["learning_rate"]
    assert dict(peer.schedule) == values["schedule"]
    assert dict(peer.optimiser).items() <= values["optimiser"].items()


@pytest.mark.slow
def test_a_run_ends_when_its_patience_does():
    plan = plan_of(SMALL)
    learner = OurLearner(plan, 1)
    task = replace(TASKS["shakespeare"], measured=8, patience=2)
    points = list(course(learner, plan, task, rate=1e-30, steps=8, validate_rows=8))  # too low to change a weight
    assert [point.step for point in points] == [1, 2, 3]


def test_results_come_back_as_they_were(tmp_path):
    (run,) = made("nn.LSTM", [0.25])
    append_run(tmp_path / "results.jsonl", run)
    assert read_runs(tmp_path / "results.jsonl") == [run]
    assert read_runs(tmp_path / "none.jsonl") == []


@pytest.mark.slow
def test_the_page_has_every_task_and_its_curves(tmp_path):
    task = TASKS["tagging"]
    runs = [*made("ours, lstm", [0.1, 0.2]), *made("nn.LSTM", [0.3, 0.4])]
    pages = []
    for name in ("first", "second"):
        page = tmp_path / name / "learning.md"
        page.parent.mkdir()
        write_page(page, [task, TASKS["reversing"]], runs, steps=10, results=page)
        picture = page.parent / "learning" / "tagging.svg"
        pages.append(picture.read_text())
        assert "0.15 ± " in page.read_text()
        assert "(learning/tagging.svg)" in page.read_text()
        assert "reversing.svg" not in page.read_text()  # nothing to draw
    assert pages[0] == pages[1]


@pytest.mark.slow
@pytest.mark.skipif(not RESULTS.exists(), reason="the benchmark has not been run")
def test_the_page_in_docs_is_what_the_results_say(tmp_path):
    shown = RESULTS.relative_to(ROOT)
    write_page(tmp_path / PAGE.name, list(TASKS.values()), read_runs(RESULTS), steps=None, results=shown)
    assert PAGE.read_text() == (tmp_path / PAGE.name).read_text(), "run: python -m benchmarks.learning --table --write"


def test_the_figures_of_the_findings_stand_in_their_tables():
    runs = read_runs(RESULTS)
    for task in TASKS.values():
        rows = "\n".join(table(task, runs, task.steps, {}))
        for figure in re.findall(r"\d\.\d{3,}", task.findings):
            assert figure in rows, f"{task.name}: {figure}"


@pytest.mark.slow
def test_every_mixer_that_can_stand_in_a_decoder_is_put_to_reversing():
    causal = {name for name, block in registry.blocks("mixer").items() if getattr(block, "causal", True) is not False}
    assert set(TASKS["mixers"].arms) == causal
    for name in ("conv", "rnnsearch"):
        plan = task_plan(TASKS["mixers"], name, Path())
        used = {type(module) for module in plan.meta.modules()}
        assert registry.blocks("mixer")[name] in used


def test_a_goal_is_reached_at_the_first_step_with_its_figure():
    points = [Point(step, 0.0, 0.0, {"bleu": bleu}) for step, bleu in ((10, 0.2), (20, 0.96), (30, 0.9))]
    run = Run("mixers", "gru", 30, 1.0, 0.002, 1, 5, points)
    assert run.reached("bleu", 0.95) == 20
    assert run.reached("bleu", 0.99) is None
    line = table(TASKS["mixers"], [run], 30, {})
    assert any("| gru |" in row and "| 20 |" in row for row in line)
