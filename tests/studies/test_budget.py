"""Budgets: the width or the number of steps at which an arm meets one, and the arms that cannot."""

import time

import pytest

from composer.config.assembly import compile_model
from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import ConfigError, Problem, UserError
from composer.graph.describe import count_flops, count_parameters, count_part
from composer.studies.planning.budget import Unreachable, solve_steps, solve_width, training_size
from composer.studies.planning.scalable_arm import Objectives, ScalableArm, solved_keys
from composer.studies.planning.width_search import WidthRefused, find_width
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


def arm(*overrides, keys=None):
    keys = keys or {"model.dim": 64}
    return ScalableArm(lambda own: compose([*overrides, *own]), keys, OBJECTIVES)


def solved(target, *overrides, kind="parameters", start=64, **options):
    return solve_width(arm(*overrides), kind, target, start, **options)


def compiled(*overrides):
    composed = compose(list(overrides))
    return compile_model(composed, OBJECTIVES.of(composed)[0])


@pytest.mark.parametrize("mixer", MIXERS)
def test_every_mixer_meets_a_budget_of_parameters_or_comes_nearest(mixer):
    """Within 2 % of the target, or no width that the arm accepts is nearer, and the note says so."""
    overrides = TEMPLATES.get(mixer, ["model=language_model", "data=python_docs", f"mixer={mixer}"])
    target = 150_000
    scalable = arm(*overrides)
    found = solve_width(scalable, "parameters", target, 64)
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
        except WidthRefused:
            continue
        return other
    return None


def test_flops_are_those_that_describe_counts_at_the_length_of_the_data():
    overrides = ["model=tagger", "data=associative_recall", "mixer=attention"]
    found = solved(400_000, *overrides, kind="flops")
    graph = compiled(*overrides, f"model.dim={found.setting[1]}")
    assert found.reached == sum(count_flops(graph, 2 * 16 + 16).values())  # pairs and queries
    assert abs(found.residual) <= 0.05  # heads have even widths


def test_another_key_than_the_width_of_the_model_can_be_solved():
    overrides = ["model=tagger", "data=associative_recall", "mixer=gru", "ffn=glu"]
    found = solve_width(arm(*overrides, keys={"ffn.expansion": 2}), "parameters", 2e6, 2)
    key, value = found.setting
    assert found.reached == count_parameters(compiled(*overrides, f"{key}={value}"))


def test_a_budget_below_the_smallest_width_is_refused_with_the_reason():
    with pytest.raises(Unreachable) as refused:
        solved(100, "model=tagger", "data=associative_recall", "mixer=attention")
    text = str(refused.value)
    assert "as few as 100 parameters" in text
    assert "model.dim=4" in text, "the smallest multiple of the heads"


def test_a_key_on_which_no_width_depends_is_refused():
    with pytest.raises(UserError, match="does not depend"):
        arm("model=tagger", "data=associative_recall", keys={"data.train_size": 100})


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
    """Three times the forward pass of every row of a step; source and target of a tagger are one sequence."""
    plan = prepare(
        compose(["model=tagger", "data=associative_recall", "mixer=gru", "model.dim=16", "training.batch=4"])
    )
    length = 2 * 16 + 16  # pairs and queries
    step = 3 * 4 * length * sum(count_flops(plan.meta, length).values())
    assert training_size("train_flops", plan) == pytest.approx(step)
    found = solve_steps("train_flops", 1000.4 * step, training_size("train_flops", plan))
    assert found.overrides == ("training.steps=1000", "training.epochs=null")
    assert found.reached == pytest.approx(1000 * step)


DEEP = ["model=tagger", "data=associative_recall", "mixer=gru", "model.nodes.encoder.depth=4", "model.dim=64"]


@pytest.mark.parametrize("target", [120_000, 300_000, 1_500_000])
def test_depth_is_solved_alone(target):
    keys = solved_keys(["model.nodes.*.depth"], compose(DEEP).values)
    assert keys == {"model.nodes.encoder.depth": 4}
    found = solve_width(arm(*DEEP, keys=keys), "parameters", target, 4)
    depth = found.setting[1]
    sizes = [count_parameters(compiled(*DEEP, f"model.nodes.encoder.depth={n}")) for n in (depth, depth + 1)]
    assert found.reached == sizes[0]
    assert abs(sizes[0] - target) <= abs(sizes[1] - target)
    assert (found.note == "") == (abs(found.residual) <= 0.02)


@pytest.mark.parametrize("target", [5_000, 60_000, 900_000, 8e6])
def test_depth_follows_width_in_the_proportion_of_the_arm(target):
    keys = solved_keys(["model.dim", "model.nodes.*.depth"], compose(DEEP).values)
    assert keys == {"model.dim": 64, "model.nodes.encoder.depth": 4}
    scalable = arm(*DEEP, keys=keys)
    found = solve_width(scalable, "parameters", target, 64)
    ((key, depth),), width = found.following, found.setting[1]
    assert (key, depth) == ("model.nodes.encoder.depth", max(1, round(width / 16)))
    assert found.overrides == (f"model.dim={width}", f"{key}={depth}")
    assert found.reached == count_parameters(compiled(*DEEP, *found.overrides))
    near = [count_parameters(scalable.graph(other)) for other in (width - 1, width + 1)]
    assert all(abs(size - target) >= abs(found.reached - target) for size in near)


@pytest.mark.parametrize(
    ("overrides", "keys", "width"),
    [
        (DEEP, {"model.dim": 64, "model.nodes.encoder.depth": 4}, 96),
        (["mixer=gru", "ffn=glu"], {"ffn.expansion": 2}, 3),
        (["model.nodes.decoder.pattern=[gru,attention]"], {"model.dim": 64}, 32),
    ],
)
def test_the_config_at_a_width_is_the_one_that_is_composed_with_it(overrides, keys, width):
    """Also where the key stands in several nodes, in blocks inside of blocks and in lists."""
    scalable = arm(*overrides, keys=keys)
    settings = [f"{key}={value}" for key, value in scalable.settings(width).items()]
    assert scalable.at(width).values == compose([*overrides, *settings]).values


def test_a_pattern_that_matches_nothing_is_refused():
    with pytest.raises(UserError, match=r"no whole number at model\.nodes\.\*\.layers"):
        solved_keys(["model.nodes.*.layers"], compose(DEEP).values)


def test_parameters_are_counted_without_embeddings_or_in_mixers_alone():
    """A language model with learned positions and a tied head: everything by hand."""
    overrides = ["model=language_model", "data=python_docs", "mixer=gru", "position=learned", "position.limit=512"]
    graph = compiled(*overrides, "model.dim=32", "model.nodes.decoder.depth=3")
    vocabulary, mixers = graph.plan.inputs["target"].vocabulary, 3 * (3 * 32 * 64 + 6 * 32)
    assert count_part(graph, "all") == count_parameters(graph)
    outside = vocabulary * 32 + 512 * 32
    assert count_part(graph, "non_embedding") == count_parameters(graph) - outside
    assert count_part(graph, "mixer") == mixers
    for count in ("non_embedding", "mixer"):
        found = solved(100_000, *overrides, count=count)
        assert found.reached == count_part(compiled(*overrides, *found.overrides), count)
        assert abs(found.residual) < 0.05
        assert found.record()["count"] == count


def test_an_arm_without_any_of_the_counted_parameters_is_refused():
    with pytest.raises(Unreachable, match="has no parameters of mixers"):
        solved(1000, "model=tagger", "data=associative_recall", "mixer=fourier", count="mixer")


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
def test_a_width_is_found_in_few_compilations(mixer, monkeypatch):
    """A compilation takes most of the time: python -m benchmarks.studies."""
    scalable, compiled = arm(f"mixer={mixer}"), []
    compile_at = scalable.graph
    monkeypatch.setattr(scalable, "graph", lambda width: compiled.append(width) or compile_at(width))
    solve_width(scalable, "parameters", 936_334, 128)
    assert 0 < len(compiled) <= 7
    assert len(set(compiled)) == len(compiled)
