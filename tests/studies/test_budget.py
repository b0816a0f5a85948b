"""Budgets: the width or the number of steps at which an arm meets one, and the arms that cannot."""

import time

import pytest

from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import ConfigError, Problem, UserError
from composer.graph.describe import count_flops, count_parameters
from composer.studies.budget import LENGTH, Unreachable, solve_steps, solve_width, training_size
from composer.studies.scalable_arm import MARK, Objectives, ScalableArm
from composer.studies.step_cost import tokens_per_step
from composer.studies.width_search import WidthRefused, find_width
from composer.training.run.plan import prepare

OBJECTIVES = Objectives()

MIXERS = sorted(registry.blocks("mixer"))

#: A graph in which every mixer compiles: rnnsearch needs a memory, a Fourier transform is not causal.
TEMPLATES = {
    "rnnsearch": ["mixer@model.nodes.decoder.mixer=rnnsearch", "model.nodes.decoder.cross=null"],
    "luong": ["mixer@model.nodes.decoder.mixer=luong", "model.nodes.decoder.cross=null"],
    "fourier": ["model=tagger", "data=associative_recall", "mixer=fourier"],
    "bidirectional": ["model=tagger", "data=associative_recall", "mixer=bidirectional"],
}


def arm(*overrides):
    marked = compose([*overrides, f"model.dim={MARK}"])
    return ScalableArm(marked, "model.dim", OBJECTIVES)


def solved(target, *overrides, kind="parameters", start=64):
    return solve_width(arm(*overrides), kind, target, "model.dim", start)


def compiled(*overrides):
    return OBJECTIVES.compiled(compose(list(overrides)))[0]


@pytest.mark.parametrize("mixer", MIXERS)
def test_every_mixer_meets_a_budget_of_parameters_or_comes_nearest(mixer):
    """Within 2 % of the target, or no width that the arm accepts is nearer, and the note says so."""
    overrides = TEMPLATES.get(mixer, ["model=language_model", "data=python_docs", f"mixer={mixer}"])
    target = 150_000
    scalable = arm(*overrides)
    found = solve_width(scalable, "parameters", target, "model.dim", 64)
    width = found.setting[1]
    assert found.reached == count_parameters(compiled(*overrides, f"model.dim={width}"))
    assert found.residual == pytest.approx(found.reached / target - 1)
    assert (abs(found.residual) <= 0.02) == (found.note == "")
    if found.note:
        assert "model.dim" in found.note
        near = [neighbour for step in (-1, 1) if (neighbour := accepted(scalable, width, step)) is not None]
        assert all(
            abs(count_parameters(scalable.graph(other)) - target) >= abs(found.reached - target) for other in near
        )


def accepted(scalable, width, step):
    """The next width in a direction at which the arm compiles; None if there is none within 64."""
    for other in range(width + step, width + 65 * step, step):
        if other < 1:
            return None
        try:
            scalable.graph(other)
        except ConfigError:
            continue
        return other
    return None


def test_flops_are_those_that_describe_counts():
    overrides = ["model=tagger", "data=associative_recall", "mixer=gru"]
    found = solved(400_000, *overrides, kind="flops")
    graph = compiled(*overrides, f"model.dim={found.setting[1]}")
    assert found.reached == sum(count_flops(graph, LENGTH).values())
    assert abs(found.residual) <= 0.02


def test_another_key_than_the_width_of_the_model_can_be_solved():
    overrides = ["model=tagger", "data=associative_recall", "mixer=gru", "ffn=glu"]
    marked = compose([*overrides, f"ffn.expansion={MARK}"])
    found = solve_width(ScalableArm(marked, "ffn.expansion", OBJECTIVES), "parameters", 2e6, "ffn.expansion", 2)
    key, value = found.setting
    assert found.reached == count_parameters(compiled(*overrides, f"{key}={value}"))


def test_a_budget_below_the_smallest_width_is_refused_with_the_reason():
    with pytest.raises(Unreachable) as refused:
        solved(100, "model=tagger", "data=associative_recall", "mixer=attention")
    text = str(refused.value)
    assert "as few as 100 parameters" in text
    assert "model.dim=4" in text, "the smallest multiple of the heads"


def test_a_key_on_which_no_width_depends_is_refused():
    marked = compose(["model=tagger", "data=associative_recall", f"data.train_size={MARK}"])
    with pytest.raises(UserError, match="does not depend"):
        ScalableArm(marked, "data.train_size", OBJECTIVES)


def test_an_arm_that_compiles_at_no_width_gives_the_compilers_problem():
    with pytest.raises(ConfigError, match="reads the future"):
        solved(150_000, "model=language_model", "data=python_docs", "mixer=fourier")


@pytest.mark.parametrize("unit", [1, 2, 3, 4, 12, 40])
@pytest.mark.parametrize("target", [900, 31_000, 5e6])
@pytest.mark.parametrize("shape", ["square", "linear", "rounded"])
def test_the_search_finds_the_nearest_of_all_widths(unit, target, shape):
    def true_size(width):
        return {"square": 3 * width**2 + 40 * width, "linear": 900 * width, "rounded": width * int(2.667 * width)}[
            shape
        ]

    tried = []

    def size(width):
        tried.append(width)
        if width % unit:
            named = unit // 2 if unit in (2, 40) else unit  # as of heads whose widths have to be even
            raise WidthRefused(named, ConfigError([Problem("model", "no")]))
        return true_size(width)

    sizes = find_width(size, target, 64)
    best = min(sizes, key=lambda width: abs(sizes[width] - target))
    everything = range(unit, 70_000, unit)
    assert abs(true_size(best) - target) == min(abs(true_size(width) - target) for width in everything)
    assert len(tried) <= 16


def test_steps_spend_the_flops_of_training():
    """3 x FLOPs per token x the tokens of all steps, counted here from the batches themselves."""
    plan = prepare(
        compose(["model=tagger", "data=associative_recall", "mixer=gru", "model.dim=16", "training.batch=4"])
    )
    tokens = 4 * 2 * (2 * 16 + 16)  # four rows of pairs and queries, in the source and in the target
    assert tokens_per_step(plan) == tokens
    step = 3 * sum(count_flops(plan.meta, LENGTH).values()) * tokens
    found = solve_steps("train_flops", 1000.4 * step, training_size("train_flops", plan))
    assert found.overrides == ("training.steps=1000", "training.epochs=null")
    assert found.reached == pytest.approx(1000 * step)


def test_seconds_are_measured_by_training_steps():
    """The estimate of a step lies between nothing and the time that the whole measurement took."""
    small = ["model=tagger", "data=associative_recall", "mixer=gru", "model.dim=16", "training.batch=4"]
    plan = prepare(compose(small))
    began = time.perf_counter()
    step = training_size("seconds", plan)
    assert 0 < step * 10 < time.perf_counter() - began


def test_a_budget_without_room_for_one_step_is_refused():
    with pytest.raises(Unreachable, match="not one training step"):
        solve_steps("seconds", 0.1, 3.0)


@pytest.mark.parametrize("mixer", ["gru", "mingru", "s4d", "attention"])
def test_a_width_is_found_in_few_compilations(mixer):
    """A compilation takes most of the time: python -m benchmarks.studies."""
    scalable = arm(f"mixer={mixer}")
    solve_width(scalable, "parameters", 936_334, "model.dim", 128)
    assert len(scalable.graphs) <= 7
