"""A head may not read another field that tells of its target, as a reversed copy does."""

import pytest

import composer.graph.compiler
from composer.config.assembly import compile_model
from composer.config.composition import Composed
from composer.core.problems import ConfigError
from composer.core.signals import Ids
from composer.data import load_source
from composer.objectives import Batch, Objective, load_objective
from composer.testing import LawBroken, graph_subject, hold
from composer.testing.leaks import find_leak

EMBED = {"kind": "embedding", "type": "token", "dim": 8}
MIXER = {"kind": "mixer", "type": "gru"}
HEAD = {"kind": "head", "type": "categorical"}
STACK = {"kind": "stack", "depth": 1, "mixer": "gru"}
FORWARD = {
    "embedding": {**EMBED, "from": "target"},
    "decoder": {**MIXER, "from": "embedding"},
    "output": {**HEAD, "from": "decoder", "predicts": "target"},
}
BACKWARD = {
    "back_embedding": {**EMBED, "from": "backward"},
    "back_decoder": {**MIXER, "from": "back_embedding"},
    "back_output": {**HEAD, "from": "back_decoder", "predicts": "backward"},
}
#: The ways of the issue by which a decoder of 'target' knows 'backward': a memory, a pooled vector, a bag of words.
LEAKS = {
    "memory": {
        "decoder": {**STACK, "cross": "cross_attention", "from": {"x": "embedding", "memory": "back_embedding"}}
    },
    "pooled": {
        "pool": {"kind": "pool", "type": "mean", "from": "back_embedding"},
        "decoder": {**STACK, "bridge": "add", "from": {"x": "embedding", "vector": "pool"}},
    },
    "bag": {
        "bag": {"kind": "embedding", "type": "bag_of_words", "from": "backward"},
        "decoder": {**STACK, "bridge": "concat_every_step", "from": {"x": "embedding", "vector": "bag"}},
    },
}


SOURCE = {"type": "copy", "train_size": 20, "valid_size": 5, "length": 6, "min_length": 4, "symbols": 8}


class Unspoken(Objective):
    """A plugin's objective: it adds a copy of the target and declares nothing."""

    @property
    def fields(self):
        return {**self.source.fields, "again": self.source.fields["target"]}

    def batch(self, split, rows, epoch=0):
        signals = self.source.batch(split, rows)
        return Batch({**signals, "again": signals["target"]})


class Dishonest(Objective):
    """A plugin's objective whose 'source' is the target, under a name of the source's."""

    def batch(self, split, rows, epoch=0):
        signals = self.source.batch(split, rows)
        return Batch({**signals, "source": Ids(signals["target"].values, signals["target"].lengths)})


class Declared(Unspoken):
    """The same copy, given by design, as a corrupted text is."""

    def reveals(self, field):
        return set()


def test_an_objective_of_an_earlier_version_says_what_its_fields_reveal_by_another_name():
    with pytest.warns(DeprecationWarning, match="tells is now called reveals"):

        class Earlier(Unspoken):
            def tells(self, field):
                return super().tells(field) - {"source"}

    with pytest.warns(DeprecationWarning, match=r"Objective\.tells is now Objective\.reveals"):
        found = made(Earlier).reveals("target")
    assert found == made(Unspoken).reveals("target") - {"source"}


def made(make="bidirectional_lm"):
    source = load_source(SOURCE)
    return load_objective({"type": make}, source) if isinstance(make, str) else make(source)


def compiled(nodes, objective):
    return compile_model(Composed({"model": {"nodes": nodes}}, (), {}), objective)


@pytest.mark.parametrize("way", LEAKS)
def test_no_head_reads_a_reversed_copy_of_its_target(way):
    with pytest.raises(ConfigError, match="reads its own answer: ") as caught:
        compiled(FORWARD | BACKWARD | LEAKS[way], made())
    (problem,) = caught.value.problems
    assert problem.path == "model.nodes.output.predicts"
    assert "-> decoder -> output. 'backward' tells of 'target'" in problem.message


@pytest.mark.parametrize("way", LEAKS)
def test_the_law_of_causality_finds_the_leak_without_the_proof(way, monkeypatch):
    monkeypatch.setattr(composer.graph.compiler, "prove", lambda *passed: None)
    objective = made()
    graph = compiled(FORWARD | BACKWARD | LEAKS[way], objective).materialise()
    with pytest.raises(LawBroken, match=r"'output' up to step .* which it has to predict"):
        hold(graph_subject(graph, objective=objective), ["causality"])


def test_two_directions_that_do_not_read_each_other_are_no_leak():
    objective = made()
    graph = compiled(FORWARD | BACKWARD, objective).materialise()
    hold(graph_subject(graph, objective=objective), ["causality"])


def test_an_added_field_of_an_objective_that_declares_nothing_is_taken_at_its_worst():
    seen = {"pool": {"kind": "pool", "type": "mean", "from": "again_embedding"}}
    nodes = (
        FORWARD
        | seen
        | {
            "again_embedding": {**EMBED, "from": "again"},
            "decoder": {**STACK, "bridge": "add", "from": {"x": "embedding", "vector": "pool"}},
        }
    )
    with pytest.raises(ConfigError) as caught:
        compiled(nodes, made(Unspoken))
    assert "'again' tells of 'target'" in caught.value.problems[0].message
    assert compiled(nodes, made(Declared)).plan.generated == {"target"}


def test_an_objective_that_misuses_a_name_of_the_source_is_found_out_by_the_law():
    objective = made(Dishonest)
    nodes = FORWARD | {
        "source_embedding": {**EMBED, "from": "source"},
        "decoder": {**STACK, "cross": "cross_attention", "from": {"x": "embedding", "memory": "source_embedding"}},
    }
    assert "'source' changes with 'target'" in find_leak(compiled(nodes, objective).materialise().double(), objective)


@pytest.mark.parametrize("name", ["masked_token", "denoising"])
def test_a_corrupted_copy_is_given_by_design(name):
    assert made(name).reveals("source") == set()


def test_a_leak_within_one_field_is_found_without_the_proof(monkeypatch):
    monkeypatch.setattr(composer.graph.compiler, "prove", lambda *passed: None)
    objective = made("next_token")
    nodes = FORWARD | {"decoder": {"kind": "mixer", "type": "conv", "causal": False, "from": "embedding"}}
    leak = find_leak(compiled(nodes, objective).materialise().double(), objective)
    assert leak.startswith("the output of 'output' up to step")


def test_a_leak_in_training_alone_is_found():
    objective = made("next_token")
    graph = compiled(FORWARD, objective).materialise().double().eval()
    assert find_leak(graph, objective) == ""

    def looks_ahead(mixer, read, made):
        return (made[0].like(made[0].values.roll(-1, 1)), made[1]) if mixer.training else made

    graph.nodes["decoder"].register_forward_hook(looks_ahead)
    assert find_leak(graph, objective).startswith("in training mode, the output of 'output' up to step")


class DishonestInTraining(Objective):
    def training_batch(self, split, rows, epoch):
        return Dishonest(self.source).batch(split, rows, epoch)


def test_an_objective_that_gives_the_target_away_in_training_alone_is_found_out():
    objective = made(DishonestInTraining)
    nodes = FORWARD | {
        "source_embedding": {**EMBED, "from": "source"},
        "decoder": {**STACK, "cross": "cross_attention", "from": {"x": "embedding", "memory": "source_embedding"}},
    }
    leak = find_leak(compiled(nodes, objective).materialise().double().eval(), objective)
    assert leak.startswith("in training mode, 'source' changes with 'target'")
