"""A study: its section checked at file and line, and the same budget, tuning and seeds for every arm."""

import json
import math
import re
import textwrap
from dataclasses import asdict

import pytest
import yaml
from torch.nn.functional import one_hot

from composer.config.composition import compose
from composer.core.problems import ConfigError, Report, UserError
from composer.data.synthetic.associative_recall import AssociativeRecall
from composer.graph.describe import count_parameters
from composer.runs.record import RunRecord
from composer.studies.planning.study import StudyPlan, plan_study
from composer.studies.planning.study_checks import check_user_overrides
from composer.studies.sweep.trials import StudyTrials
from composer.studies.tuning.tuning_rule import Searched
from composer.training.run.plan import prepare
from tests.support.paths import ROOT

SHIPPED = sorted(path.stem for path in (ROOT / "conf" / "study").glob("*.yaml"))

SMALL = """
    # @package _global_
    # A small study.
    defaults:
      - override /data: associative_recall
      - override /model: tagger

    study:
      arms:
        gru: [mixer=gru]
        attention: [mixer=attention]
      budget: {kind: parameters, of: attention}
      seeds: [1, 2]
      tuning:
        trials: 9
        steps: 0.5
        seeds: [7, 8]
        space:
          optimiser.learning_rate: tag(log,interval(1e-4,1e-2))

    model: {dim: 16}
    training: {steps: 10}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The small study as it is, planned once."""
    return planner(tmp_path_factory.mktemp("small"))()


@pytest.fixture
def plan(tmp_path):
    return planner(tmp_path)


def planner(tmp_path):
    """Plans a study from the text of its YAML file and overrides of the command line."""

    def planned(text=SMALL, *more, **changes):
        for old, new in changes.items():
            assert REPLACED[old] in text, old
            text = text.replace(REPLACED[old], new)
        (tmp_path / "study").mkdir(exist_ok=True)
        (tmp_path / "study" / "mine.yaml").write_text(textwrap.dedent(text).lstrip())
        overrides = ["study=mine", *more]
        composed = compose(overrides, tmp_path)
        return plan_study(composed.values, overrides, composed.locate, compose=lambda own: compose(own, tmp_path))

    return planned


#: Parts of the small study that a test replaces.
REPLACED = {
    "arm": "gru: [mixer=gru]",
    "budget": "budget: {kind: parameters, of: attention}",
    "seeds": "seeds: [1, 2]",
    "tuning_seeds": "seeds: [7, 8]",
    "trials": "trials: 9",
    "steps": "steps: 0.5",
    "space": "optimiser.learning_rate: tag(log,interval(1e-4,1e-2))",
}


RATE = "optimiser.learning_rate"


def tuned(study, rate=0.001):
    """Every arm, tuned to one rate, if the study tunes its arms."""
    best = {RATE: rate} if study.tuning is not None else {}
    return {arm.name: Searched((), True, best, "") for arm in study.arms}


def tune(study, arm, loss):
    """The tuning of an arm whose trials have the loss of a function of rate and seed."""
    return study.tune(arm, lambda trial: loss(trial.parameters[RATE], trial.about["seed"]))


def test_a_trial_is_repeated_by_hand_from_its_overrides_alone(plan, tmp_path):
    study = plan()
    for trial in [study.first_trials("gru")[0], *study.final_trials(tuned(study))[-2:]]:
        values = compose(trial.overrides, tmp_path).values
        assert (values["arm"], values["seed"]) == (trial.about["arm"], trial.about["seed"])
        assert values["optimiser"]["learning_rate"] == trial.parameters["optimiser.learning_rate"]
        assert values["training"]["steps"] == (5 if trial.phase == "tuning" else 10)


def test_what_was_reached_is_recorded_with_every_run_and_is_true(plan, tmp_path):
    study = plan()
    target = count_parameters(prepare(compose(["data=associative_recall", "model=tagger", "model.dim=16"])).meta)
    for trial in study.final_trials(tuned(study))[:2]:  # of the first seed
        run = prepare(compose(trial.overrides, tmp_path))
        budget = trial.about["budget"]
        assert budget["reached"] == count_parameters(run.meta)
        assert budget == {**budget, "kind": "parameters", "target": target}
        assert budget["residual"] == pytest.approx(budget["reached"] / target - 1, abs=1e-4)


def test_every_arm_begins_with_the_same_points_and_seeds_ends_of_the_range_included(small):
    (gru, found), (attention, _) = (small.tune(arm, lambda _: None) for arm in ("gru", "attention"))
    assert not found.complete
    assert [(t.parameters, t.about["seed"]) for t in gru] == [(t.parameters, t.about["seed"]) for t in attention]
    assert [t.about["seed"] for t in gru] == [7, 8] * 5
    assert [t.parameters[RATE] for t in gru][::2] == [1e-4, 3.162e-4, 1e-3, 3.162e-3, 1e-2]
    budget = small.arms[0].solved.record()
    assert gru[0].about == {"arm": "gru", "seed": 7, "budget": budget, "tuning": asdict(small.tuning)}


def test_all_runs_have_numbers_and_names_of_their_own_whatever_the_tuning_of_an_arm_takes(small):
    found = {
        "gru": tune(small, "gru", lambda rate, _: abs(math.log(rate / 1e-3))),
        "attention": tune(small, "attention", lambda rate, _: -rate),
    }
    final = small.final_trials({arm: searched for arm, (_, searched) in found.items()})
    assert [(t.about["arm"], t.about["seed"]) for t in final] == [
        ("gru", 1),
        ("attention", 1),
        ("gru", 2),
        ("attention", 2),
    ]
    assert [t.about["untuned"] for t in final[:2]] == ["", "its best learning_rate (1) is the highest tried"]
    assert [len(trials) for trials, _ in found.values()] == [14, 18]
    trials = [*found["gru"][0], *found["attention"][0], *final]
    assert len({t.number for t in trials}) == len({t.name for t in trials}) == 14 + 18 + 4
    assert max(t.number for t in trials) == small.total - 1 == 2 * (18 + 2) - 1


def test_the_best_point_is_the_best_mean_over_the_tuning_seeds(small):
    losses = {1e-4: (1, 9), 3.162e-4: (4, 4), 1e-3: (0, math.nan), 3.162e-3: (6, 6), 1e-2: (6, 6)}
    others = {1.778e-4: (7, 7), 5.623e-4: (7, 7)}  # the neighbours of the best
    for sign, direction in ((1, "min"), (-1, "max")):
        judged = lambda trial: sign * (losses | others)[trial.parameters[RATE]][trial.about["seed"] - 7]  # noqa: B023, E731
        _, found = small.tune("gru", judged, direction)
        assert found.best == {RATE: 3.162e-4}, "4 on average; a point with a run that failed is not chosen"
        assert found.untuned == ""
    _, broken = small.tune("gru", lambda _: math.nan)
    assert (broken.complete, broken.best) == (True, None)
    assert [t.about["arm"] for t in small.final_trials({"gru": broken, "attention": found})] == [
        "attention",
        "attention",
    ]


def test_a_study_worked_on_by_several_processes_trains_each_point_once_and_ends_the_same(small):
    """Two processes take turns; each knows what is done from the run folders alone."""
    losses = {"gru": lambda rate: abs(math.log(rate / 4e-3)), "attention": lambda rate: abs(math.log(rate / 3e-5))}

    def run(processes):
        folders, order = {}, []
        workers = [StudyTrials(small, "valid/loss", "min") for _ in range(processes)]
        read = lambda trial: folders.get(trial.name, RunRecord())  # noqa: E731
        while True:
            taken = [list(worker.ready(read))[-1:] for worker in workers]  # all at once, then their results
            if not any(taken):
                return folders, order
            for trial in {trial.name: trial for found in taken for trial in found}.values():
                loss = losses[trial.overrides[-1].removeprefix("arm=")](trial.parameters[RATE])
                folders[trial.name] = RunRecord(status="finished", result={"valid/loss": loss})
                order.append(trial.name)
            workers.append(StudyTrials(small, "valid/loss", "min"))  # one is killed, another begins
            workers.pop(0)

    alone, several = run(1), run(3)
    assert several[0] == alone[0]
    assert len(set(several[1])) == len(several[1])
    assert sum("seed=1" in name or "seed=2" in name for name in alone[0]) == 4, "the final runs"


def test_a_study_of_an_older_version_is_not_gone_on_with(small):
    with pytest.raises(UserError, match="begun by an older version"):
        StudyPlan.from_facts({**small.facts(), "points": []})


def test_a_plan_survives_as_plain_data(small):
    study = small
    assert StudyPlan.from_facts(json.loads(json.dumps(study.facts()))) == study


def test_a_study_without_budget_and_tuning_compares_arms_as_they_are(plan):
    text = SMALL[: SMALL.index("      tuning:")] + "\n    training: {steps: 10}\n"
    study = plan(text, budget="budget: null")
    assert (study.tuning, study.first_trials("gru"), study.total) == (None, [], 4)
    assert study.final_trials(tuned(study))[0].overrides == ("study=mine", "mixer=gru", "seed=1", "arm=gru")


def test_a_number_as_target(plan):
    study = plan(budget="budget: {kind: parameters, target: 200000}")
    for arm in study.arms:
        assert arm.solved.target == 200_000
        assert abs(arm.solved.residual) < 0.05


def test_width_and_depth_are_solved_together_and_survive_as_plain_data(plan, tmp_path):
    study = plan(budget="budget: {of: attention, width: [model.dim, model.nodes.*.depth], count: non_embedding}")
    assert StudyPlan.from_facts(json.loads(json.dumps(study.facts()))) == study
    assert "non-embedding parameters" in study.table(200)
    for trial in study.final_trials(tuned(study))[:2]:
        values = compose(trial.overrides, tmp_path).values
        dim, depth = values["model"]["dim"], values["model"]["nodes"]["encoder"]["depth"]
        assert depth == max(1, round(dim * 2 / 16))
        assert trial.about["budget"]["count"] == "non_embedding"
        assert f"model.dim={dim} model.nodes.encoder.depth={depth}" in study.table(200)


def test_a_plan_of_an_older_version_is_read(small):
    facts = json.loads(json.dumps(small.facts()))
    for arm in facts["arms"]:
        del arm["solved"]["following"], arm["solved"]["count"]
    assert StudyPlan.from_facts(facts) == small


def test_flops_of_training_are_met_by_steps(plan, tmp_path):
    study = plan(budget="budget: {kind: train_flops, of: attention}")
    steps = {}
    for trial in study.final_trials(tuned(study)):
        values = compose(trial.overrides, tmp_path).values
        assert values["model"]["dim"] == 16
        steps[trial.about["arm"]] = values["training"]["steps"]
    assert steps["attention"] == 10
    assert steps["gru"] != 10
    tuning = study.first_trials("gru")[0]
    assert f"training.steps={round(steps['gru'] / 2)}" in tuning.overrides
    assert "budget" not in tuning.about, "half of the steps spend half of the budget"


def test_overrides_of_the_command_line_reach_every_run(plan, tmp_path):
    study = plan(SMALL, "data.pairs=4", "data.queries=4", "study.seeds=[5]", "runs=elsewhere", "study.tuning.trials=7")
    trials = [*study.first_trials("gru"), *study.final_trials(tuned(study))]
    assert len(trials) == 5 + 2
    for trial in trials:
        assert {"data.pairs=4", "data.queries=4"} <= set(trial.overrides)
        assert not [text for text in trial.overrides if text.startswith(("study.", "runs="))]
        assert compose(trial.overrides, tmp_path).values["data"]["pairs"] == 4


PROBLEMS = [
    ({"arm": "gru: [mixer=gruu]"}, "study.arms.gru", 9, ["there is no mixer 'gruu'", "Did you mean 'gru'?"]),
    ({"arm": "gru: [mixer=gru, a b]"}, "study.arms.gru", 9, ["'a b' is not an override"]),
    ({"arm": "gru: [seed=3]"}, "study.arms.gru", 9, ["set for the study as a whole"]),
    ({"arm": "gru: ['mixer=gru,lstm']"}, "study.arms.gru", 9, ["is a sweep"]),
    ({"arm": "gru: [mixer=attention]"}, "study.arms.attention", 10, ["the same as 'gru'"]),
    ({"arm": "gru: mixer=gru"}, "study.arms.gru", 9, ["expected"]),
    ({"arm": "1e3: [mixer=gru]"}, "study.arms.1000.0", 9, ["cannot be an arm's name"]),
    ({"arm": "g u: [mixer=gru]"}, "study.arms.g u", 9, ["cannot be an arm's name"]),
    ({"arm": "gru: [mixer=gru, model.dim=8]"}, "study.arms.gru", 9, ["model.dim has no effect here"]),
    ({"arm": "gru: [mixer=gru, training.batch=0]"}, "study.arms.gru", 9, ["training.batch", "at least 1"]),
    ({"budget": "budget: {kind: weights, of: attention}"}, "study.budget.kind", 11, ["weights", "parameters"]),
    ({"budget": "budget: {kind: parameters, of: atention}"}, "study.budget.of", 11, ["Did you mean 'attention'?"]),
    ({"budget": "budget: {kind: parameters}"}, "study.budget", 11, ["neither is set"]),
    ({"budget": "budget: {target: 10}"}, "study.arms.gru", 9, ["cannot have as few as 10 parameters"]),
    ({"budget": "budget: {of: gru, wide: 3}"}, "study.budget.wide", 11, ["'budget' has no parameter 'wide'"]),
    ({"budget": "budget: {of: gru, width: data.pairs}"}, "study.arms.gru", 9, ["does not depend on data.pairs"]),
    ({"budget": "budget: {of: gru, width: []}"}, "study.budget.width", 11, ["expected a key or different keys"]),
    ({"budget": "budget: {of: gru, width: 3}"}, "study.budget.width", 11, ["expected"]),
    ({"budget": "budget: {of: gru, width: model.nodes.*.deep}"}, "study.arms.attention", 10, ["no whole number at"]),
    (
        {"budget": "budget: {of: attention, width: model.nodes.*.depth}",
         "arm": "gru: [mixer=gru, model.nodes.encoder.depth=3]"},
        "study.arms.gru", 9, ["model.nodes.encoder.depth has no effect here"],
    ),
    ({"budget": "budget: {kind: flops, of: gru, count: mixer}"}, "study.budget.count", 11, ["no effect on the kind"]),
    ({"budget": "budget: {of: gru, count: heads}"}, "study.budget.count", 11, ["heads", "non_embedding"]),
    ({"seeds": "seeds: [1, 1]"}, "study.seeds", 12, ["different whole numbers"]),
    ({"seeds": "seeds: 3"}, "study.seeds", 12, ["expected"]),
    ({"seeds": "sedes: [1, 2]"}, "study.sedes", 12, ["Did you mean 'seeds'?"]),
    ({"tuning_seeds": "seeds: [2]"}, "study.tuning.seeds", 16, ["2 would be the seed of a final run"]),
    ({"trials": "trials: 0"}, "study.tuning.trials", 14, ["at least 1"]),
    (
        {"space": "optimiser.learning_rat: choice(1,2,3)"},
        "study.tuning.space", 17, ["has no key 'learning_rat'", "Did you mean 'learning_rate'?"],
    ),
    ({"space": "optimiser.eps: interval(2,1)"}, "study.tuning.space.optimiser.eps", 18, ["is empty"]),
    ({"space": "optimiser.eps: 1e-3"}, "study.tuning.space.optimiser.eps", 18, ["expected a text"]),
    ({"space": "optimiser.eps: some(thing"}, "study.tuning.space.optimiser.eps", 18, ["not in Hydra's sweep syntax"]),
    ({"trials": "trials: 6"}, "study.tuning.trials", 14, ["6 points are too few for optimiser.", "at least 7"]),
    ({"tuning_seeds": "seeds: []"}, "study.tuning.seeds", 16, ["at least one"]),
    *(
        (
            {"steps": f"steps: {steps}"},
            "study.tuning.steps", 15, ["a number above 0 and below 1 or a whole number at least 1", f"found {steps}"],
        )
        for steps in ("1.0", "2.5", "0", "-1", "-0.5")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "path", "line", "words"), PROBLEMS, ids=lambda value: str(value)[:50])
def test_a_problem_of_a_study_is_reported_at_file_and_line(plan, changes, path, line, words):
    with pytest.raises(ConfigError) as caught:
        plan(**changes)
    assert path in [problem.path for problem in caught.value.problems]
    text = " ".join(str(caught.value).split())
    assert f"mine.yaml:{line} " in text, text
    for word in words:
        assert word in text, text


def test_the_problems_of_all_arms_are_reported_at_once(plan):
    with pytest.raises(ConfigError) as caught:
        plan(SMALL.replace("mixer=attention", "mixer=atention"), arm="gru: [mixer=gruu]", budget="budget: null")
    assert [problem.path for problem in caught.value.problems] == ["study.arms.gru", "study.arms.attention"]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("seed=3", "Change study.seeds instead"),
        ("arm=gru", "Change study.arms instead"),
        ("mixer=lstm", "has no effect: every arm of the study sets it"),
    ],
)
def test_an_override_that_the_study_decides_is_refused(plan, override, words):
    with pytest.raises(ConfigError) as caught:
        plan(SMALL, override)
    text = " ".join(str(caught.value).split())
    assert f"command line: {override}" in text
    assert words in text


def test_a_sweep_inside_a_study_is_refused():
    report = Report()
    assert check_user_overrides(["study=mine", "optimiser=adam,sgd"], {"gru": ["mixer=gru"]}, report) == ["study=mine"]
    assert "'optimiser=adam,sgd' is a sweep" in report.problems[0].message


def test_the_width_has_no_effect_under_a_target_and_shifts_the_target_of_an_arm(plan):
    with pytest.raises(ConfigError, match=r"model.dim   command line: model.dim=32"):
        plan(SMALL, "model.dim=32", budget="budget: {target: 30000}")
    small, large = plan(), plan(SMALL, "model.dim=32")
    assert large.arms[0].solved.target > 2 * small.arms[0].solved.target


def test_a_study_is_not_one_run():
    with pytest.raises(UserError, match="-m"):
        prepare(compose(["study=rnn_vs_transformer"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_study_is_sound_and_its_arms_meet_the_budget(name, tmp_path):
    overrides = [f"study={name}"]
    if name == "shakespeare":  # a text of one's own
        (tmp_path / "text.txt").write_text("To be, or not to be, that is the question.\n" * 400)
        overrides.append(f"data.path={tmp_path / 'text.txt'}")
    composed = compose(overrides)
    study = plan_study(composed.values, overrides, composed.locate)
    first = (ROOT / "conf" / "study" / f"{name}.yaml").read_text().splitlines()
    assert first[0] == "# @package _global_"
    assert first[1].startswith("# "), "says what is asked"
    assert study.tuning.steps is None, "tuned as long as the final runs"
    for arm in study.arms:
        assert arm.solved is None or abs(arm.solved.residual) <= 0.03, arm
    plan = prepare(compose(study.final_trials(tuned(study))[-1].overrides))
    assert plan.objective.source.size("test"), "judged on a test split"


@pytest.mark.slow
def test_the_default_study_runs_on_data_and_templates_of_other_kinds():
    overrides = ["study=rnn_vs_transformer", "data=parity", "model=seq2vec", "objective=supervised"]
    composed = compose(overrides)
    assert len(plan_study(composed.values, overrides, composed.locate).arms) == 4


def test_the_chances_that_the_study_recall_states_are_those_of_its_data():
    """Of naming the commonest value of the context, for the data of all arms and for each number of pairs of 8 keys."""
    file = ROOT / "conf" / "study" / "recall.yaml"
    text, section = file.read_text(), yaml.safe_load(file.read_text())["data"]
    few = [{"keys": 8, "values": 8, "pairs": pairs, "queries": pairs} for pairs in (2, 4, 8)]
    found = []
    for source in (AssociativeRecall(**each) for each in (section, *few)):
        batch = source.batch("train", range(5000))
        read, wanted = batch["source"].values, batch["target"].values  # (B, T)
        pairs = source.spans.most("train")
        seen = one_hot(read[:, 1 : 2 * pairs : 2] - source.keys, source.values).sum(1)  # (B, values)
        asked = wanted[:, 2 * pairs :] - 1  # (B, queries), without <blank>
        found.append(float((seen.argmax(1, keepdim=True) == asked).float().mean()))
    stated = [float(number) for number in re.findall(r"(?<=\s)0\.\d+", text.partition("defaults:")[0])]
    assert stated == pytest.approx(found, abs=0.015)
