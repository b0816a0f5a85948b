"""Each law catches the bug it is there for: a block with that bug, and the laws that have to notice."""

import pytest
import torch
from hypothesis import find
from torch import Tensor, nn

from composer.core import registry
from composer.core.block import Recipe
from composer.core.signals import Field, Ids, Seq, State, Vec
from composer.core.streaming.block_steps import CannotStream
from composer.core.streaming.pointwise import Pointwise
from composer.core.streaming.recurrence import Recurrence
from composer.core.streaming.streaming_copy import cached_for_generation
from composer.graph.combinators.stack import Stack
from composer.graph.compiler import compile_graph
from composer.testing import LawBroken, broken, graph_subject, hold, subject
from composer.testing.strategies import EXTREME, subjects_of


class Honest(nn.Module):
    """A running sum, right in every way: what the others get wrong."""

    causal = True

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(dim))

    def start(self, batch: int) -> State:
        return {"total": self.scale.new_zeros(batch, self.scale.shape[0])}

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        before = (state or self.start(x.batch))["total"]
        sums = (x.filled().to(before.dtype) * self.scale).cumsum(1) + before[:, None]
        return x.like(sums), None if state is None else {"total": sums[:, -1]}


class ForgetsState(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, _ = super().forward(x)
        return y, None if state is None else {"total": y.values[:, -1]}


class AdvancesAnotherWay(Honest):
    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        return x * self.scale, state


class AdvancesWithoutItsState(Honest):
    """Right at the first step alone."""

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        return state["total"] + x * self.scale, state


class MapsAnotherWay(Pointwise):
    """A pointwise block whose forward does more than its map."""

    def __init__(self) -> None:
        super().__init__()

    def map(self, values: Tensor) -> Tensor:
        return 2 * values

    def forward(self, x: Seq) -> Seq:
        return x.like(self.map(x.filled()) + 1)


class LooksAround(Pointwise):
    """A map that mixes time: there are no other steps when it gets one at a time."""

    causal = True

    def __init__(self) -> None:
        super().__init__()

    def map(self, values: Tensor) -> Tensor:
        return values.cumsum(-2) if values.dim() == 3 else values


class KeepsItsScale(Honest):
    """A function of the input, declared a constant of the weights: right as long as the input stays the same."""

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        self.last = x
        total = state["total"] + self._scaled
        return total, {"total": total}

    @cached_for_generation
    def _scaled(self) -> Tensor:
        return self.last * self.scale


class GoesOnInThePadding(nn.Module):
    """A mean that fades in the padding as if zeros had been read: right, until a row goes on from its real end."""

    causal = True

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(dim))

    def start(self, batch: int) -> State:
        return {"mean": self.scale.new_zeros(batch, self.scale.shape[0])}

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        mean, outputs = (state or self.start(x.batch))["mean"], []
        for step in x.filled().unbind(1):
            mean = 0.5 * mean + 0.5 * step * self.scale
            outputs.append(mean)
        return x.like(torch.stack(outputs, dim=1)), None if state is None else {"mean": mean}


class IgnoresPadding(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        return super().forward(Seq(x.values), state)


class AveragesPadding(nn.Module):
    """The field's most frequent bug: a mean over all steps, real or not."""

    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Seq) -> Vec:
        return Vec(x.filled().mean(1))


class ReadsTheFuture(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, state)
        return y.like(y.values.flip(1)), after


class StreamsWithoutBeingCausal(Honest):
    causal = False


class MixesRows(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        return super().forward(x.like(x.filled() - x.filled().mean(0, keepdim=True)), state)


class LayerFirstState(Honest):
    """As torch.nn has it: (layers, B, D)."""

    def start(self, batch: int) -> State:
        return {"total": super().start(batch)["total"][None]}

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, {"total": (state or self.start(x.batch))["total"][0]})
        return y, None if state is None else {"total": after["total"][None]}


class KeepsWhatItSaw(Honest):
    memory = 0.0

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, state)
        self.memory += 1
        return y.like(y.values + self.memory), after


class AlwaysGivesState(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        return super().forward(x, state or self.start(x.batch))


class WritesIntoItsState(Honest):
    """A cache changed in place: right, until two beams share it."""

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, state)
        if state is not None and not torch.is_grad_enabled():
            state["total"].copy_(after["total"])
            after = state
        return y, after


class WrongGradient(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, state)
        return y.like(y.values + y.values.square() - y.values.square().detach()), after


class NeedsValues(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        if x.filled().sum().item() > 1e9:
            raise RuntimeError
        return super().forward(x, state)


class RoundsItsState(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, state)
        if after is not None and torch.is_autocast_enabled("cpu"):
            after = {"total": after["total"].bfloat16()}
        return y, after


class HonestRecurrence(Recurrence):
    """The same running sum, said as one step."""

    causal = True

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(dim))

    def start(self, batch: int) -> State:
        return {"total": self.scale.new_zeros(batch, self.scale.shape[0])}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        total = state["total"] + x * self.scale
        return total, {"total": total}


class HonestMap(Pointwise):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(dim))

    def map(self, values: Tensor) -> Tensor:
        return values * self.scale


@pytest.mark.parametrize("block", [Honest, HonestRecurrence, HonestMap])
def test_an_honest_block_breaks_no_law(block):
    hold(subject(block))


@pytest.mark.parametrize(
    ("block", "laws"),
    [
        (ForgetsState, {"chunks"}),
        (AdvancesAnotherWay, {"steps"}),
        (AdvancesWithoutItsState, {"steps"}),
        (MapsAnotherWay, {"steps"}),
        (LooksAround, {"steps"}),
        (KeepsItsScale, {"steps"}),
        (GoesOnInThePadding, {"steps"}),
        (IgnoresPadding, {"padding"}),
        (AveragesPadding, {"batch"}),
        (ReadsTheFuture, {"causality", "chunks"}),
        (StreamsWithoutBeingCausal, {"chunks"}),
        (MixesRows, {"batch"}),
        (LayerFirstState, {"batch"}),
        (KeepsWhatItSaw, {"stateless"}),
        (AlwaysGivesState, {"stateless"}),
        (WritesIntoItsState, {"stateless"}),
        (WrongGradient, {"exactness"}),
        (RoundsItsState, {"portability"}),
    ],
)
def test_a_law_catches(block, laws):
    found = {law for law, problem in broken(subject(block)).items() if problem}
    assert laws <= found, f"{block.__name__} breaks {laws}, but only {found} noticed"


class DividesByItsLength(Pointwise):
    """A head whose loss is the mean over the steps of its row, although declared stepwise."""

    stepwise = True

    def __init__(self) -> None:
        super().__init__()

    def map(self, values: Tensor) -> Tensor:
        return values

    def predict(self, output: Seq) -> Seq:
        return output

    def loss(self, output: Seq, target: Seq) -> Tensor:
        losses = (output.filled() - target.filled().sum(-1, keepdim=True)).square().sum(-1)  # (B, T)
        losses = losses if target.mask is None else losses.masked_fill(~target.mask, 0.0)
        return losses / target.counts[:, None]


def test_the_law_of_rows_catches_a_stepwise_head_whose_loss_depends_on_other_steps():
    with pytest.raises(LawBroken, match="declared stepwise, but its loss depends on other steps"):
        hold(subject(DividesByItsLength), ["batch"])


def test_a_block_that_needs_values_cannot_run_on_meta():
    with pytest.raises(RuntimeError):
        hold(subject(NeedsValues), ["portability"])


def test_refusing_is_obeying():
    class Refuses(Honest):
        causal = False

        def start(self, batch: int) -> State:
            raise CannotStream("reads the future")

        def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
            return x.like((x.filled() * self.scale).sum(1, keepdim=True).expand_as(x.values)), None

    hold(subject(Refuses))


class Scaled(nn.Module):
    """A mixer without mixing: every step times a factor."""

    factor = 1.0

    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Seq) -> Seq:
        return x.like(self.factor * x.values)


class TenTimesItsTrunk(Scaled):
    factor = 10.0


class Shrinks(Scaled):
    factor = 0.5


class Explodes(Scaled):
    factor = 2.0


class StopsTheGradient(Scaled):
    """Its output is its input, but half of the gradient is lost."""

    def forward(self, x: Seq) -> Seq:
        return x.like(0.5 * x.values + 0.5 * x.values.detach())


class DrownsItsVector(nn.Module):
    def __init__(self, dim: int, vector_dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(vector_dim, dim)

    def forward(self, x: Seq, vector: Vec) -> Seq:
        return x.like(x.filled() + 1e-4 * self.project(vector.values)[:, None])


def stacked(mixer, **knobs):
    bound = Recipe("mixer", mixer.__name__, mixer, {}, "")
    return subject(Stack, dim=8, ports=dict.fromkeys(("memory", "vector", "prefix", "states")), mixer=bound, **knobs)


def says(found, message):
    with pytest.raises(LawBroken) as caught:
        hold(found, ["signals"])
    assert message in str(caught.value)


def test_layers_that_keep_sizes_hold_the_law_of_signals():
    hold(stacked(Scaled, depth=24, residual=False), ["signals"])


def test_the_law_of_signals_catches_tokens_under_their_positions():
    """Vectors of length 1 under waves of length sqrt(D / 2), once the default of this project."""
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": 128, "from": "target"},
        "decoder": {"kind": "stack", "from": "embedding", "mixer": "lstm", "norm": "layer", "position": "sinusoidal"},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }
    graph = compile_graph(nodes, {"target": Field("ids", vocabulary=50, start=0, stop=1)}).materialise(1)
    hold(graph_subject(graph), ["signals"])
    embedding = graph.nodes["embedding"]
    with torch.no_grad():
        vectors = embedding(Ids(torch.arange(50)[None])).values
        embedding.weight.mul_(128**-0.5 / vectors.square().mean().sqrt())
    says(graph_subject(graph), "times smaller than the positions added to it (in 'decoder', position: 0.088 and 0.71;")


def test_the_law_of_signals_catches_a_branch_ten_times_its_trunk():
    says(stacked(TenTimesItsTrunk, depth=1), "the trunk is 10 times smaller than the branch added to it")


def test_the_law_of_signals_catches_an_input_that_hardly_moves_the_output():
    says(subject(DrownsItsVector, dim=8), "'vector' hardly moves 'DrownsItsVector'")


@pytest.mark.parametrize("mixer", [Shrinks, Explodes])
def test_the_law_of_signals_catches_sizes_that_run_away_with_depth(mixer):
    hold(stacked(mixer, depth=4, residual=False), ["signals"])
    says(stacked(mixer, depth=24, residual=False), "the size of the activation of 'Stack' is")


def test_the_law_of_signals_catches_a_gradient_that_vanishes_with_depth():
    found = stacked(StopsTheGradient, depth=24, residual=False)
    says(found, "the size of the gradient of 'Stack' is")
    with pytest.raises(LawBroken) as caught:
        hold(found, ["signals"])
    assert "activation" not in str(caught.value)


class UnderflowsAsAWhole(Honest):
    """Two shares by sigmoids, which a whole sequence divides and a step compares: alike until both are zero."""

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        one, other = torch.sigmoid(x.filled()), torch.sigmoid(2 * x.filled())
        tiny = torch.finfo(one.dtype).tiny
        share = (one + tiny) / (one + other + 2 * tiny)
        if state is not None:
            share = torch.sigmoid(nn.functional.logsigmoid(x.filled()) - nn.functional.logsigmoid(2 * x.filled()))
        return x.like(share * self.scale), state


def test_extreme_inputs_show_what_ordinary_ones_hide():
    hold(subject(UnderflowsAsAWhole), ["chunks"])
    with pytest.raises(LawBroken, match="chunks"):
        hold(subject(UnderflowsAsAWhole, scale=EXTREME), ["chunks"])


def test_extreme_inputs_are_drawn():
    extreme = find(subjects_of(registry.blocks("mixer")["gru"]), lambda drawn: drawn.scale == EXTREME)
    assert extreme.inputs["x"].values.abs().max() > 100


class WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 1.01


class ManyParameters(nn.Module):
    """Parameters enough that the law compares them in groups."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(dim)) for _ in range(20)])

    def forward(self, x: Seq) -> Seq:
        *others, last = self.weights
        return x.like(x.values * sum(others) + self.seen(last).sin())

    def seen(self, weight: Tensor) -> Tensor:
        return weight


class OffByOnePerCent(ManyParameters):
    def seen(self, weight: Tensor) -> Tensor:
        return WrongGradient.apply(weight)


@pytest.mark.parametrize(("block", "wrong"), [(ManyParameters, False), (OffByOnePerCent, True)])
def test_a_wrong_gradient_is_found_among_many(block, wrong):
    assert bool(broken(subject(block), ["exactness"])["exactness"]) == wrong


def test_two_generated_inputs_are_read_in_chunks_together():
    fields = {name: Field("ids", vocabulary=7, start=0, stop=1) for name in ("target", "backward")}
    nodes = {}
    for name in fields:
        nodes[f"{name}_embedding"] = {"kind": "embedding", "type": "token", "dim": 4, "from": name}
        nodes[f"{name}_mixer"] = {"kind": "mixer", "type": "gru", "from": f"{name}_embedding"}
        nodes[f"{name}_output"] = {"kind": "head", "type": "categorical", "from": f"{name}_mixer", "predicts": name}
    hold(graph_subject(compile_graph(nodes, fields).materialise(0)), ["chunks", "steps", "causality"])


class Amplifies(nn.Module):
    """A weight's last digits decide: low precision shows elsewhere, and rounded weights alone do, too."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, dim))

    def forward(self, x: Seq) -> Seq:
        return x.like(50 * torch.sin(50 * (x.values @ self.weight)))


class LosesPrecision(Amplifies):
    """The same sizes of outputs, wrong in low precision only."""

    def forward(self, x: Seq) -> Seq:
        y = x.values @ self.weight
        return x.like(50 * y if y.dtype is not torch.bfloat16 else 100 * y)


@pytest.mark.parametrize(("block", "wrong"), [(Amplifies, False), (LosesPrecision, True)])
def test_low_precision_may_cost_what_rounded_weights_cost(block, wrong):
    assert bool(broken(subject(block), ["portability"])["portability"]) == wrong


class NormalisesTheBatch(nn.Module):
    """A norm of rows and steps together, padding included, whose averages hide this in evaluation."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, x: Seq) -> Seq:
        return x.like(self.norm(x.filled().flatten(0, 1)).view_as(x.values))


class ReadsTheFutureInTraining(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, state)
        return (y.like(y.values + x.filled().roll(-1, 1)) if self.training else y), after


class ReadsThePaddingInTraining(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        return super().forward(Seq(x.values) if self.training else x, state)


class MixesRowsInTraining(Honest):
    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, state)
        return (y.like(y.values + y.filled().mean((0, 1))) if self.training and x.batch > 1 else y), after


class DropsOut(Honest):
    """In all the ways of torch, and right."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.dropout = nn.Dropout(0.5)
        self.lstm = nn.LSTM(dim, dim, num_layers=2, dropout=0.5, batch_first=True)

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        y, after = super().forward(x, state)
        share = 0.5 if self.training else 0.0
        values = nn.functional.dropout(x.filled(), share)[:, :, None]
        seen = nn.functional.scaled_dot_product_attention(values, values, values, dropout_p=share)[:, :, 0]
        stepwise = self.lstm(seen.flatten(0, 1)[:, None])[0].view_as(seen)  # each step by itself
        return y.like(self.dropout(y.values) + stepwise), after


@pytest.mark.parametrize(
    ("block", "laws"),
    [
        (NormalisesTheBatch, {"causality", "batch"}),
        (ReadsTheFutureInTraining, {"causality", "batch"}),
        (ReadsThePaddingInTraining, {"padding", "batch"}),
        (MixesRowsInTraining, {"causality", "batch"}),
        (DropsOut, set()),
    ],
)
def test_a_law_catches_what_happens_in_training_alone(block, laws):
    made = subject(block)
    found = broken(made, ["causality", "padding", "batch"])
    assert {law for law, problem in found.items() if problem} == laws
    assert all(problem.endswith("This is so in training mode only.") for problem in found.values() if problem)
    assert not made.module.training
