"""Each law catches the bug it is there for: a block with that bug, and the laws that have to notice."""

import pytest
import torch
from torch import nn

from composer.protocol import CannotStream
from composer.signals import Seq, State, Vec
from composer.testing import broken, hold, subject


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


class StepsAnotherWay(Honest):
    def stepper(self):
        return lambda x, state: (x * self.scale, state)


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


def test_an_honest_block_breaks_no_law():
    hold(subject(Honest))


@pytest.mark.parametrize(
    ("block", "laws"),
    [
        (ForgetsState, {"chunks"}),
        (StepsAnotherWay, {"steps"}),
        (IgnoresPadding, {"padding"}),
        (AveragesPadding, {"batch"}),
        (ReadsTheFuture, {"causality", "chunks"}),
        (StreamsWithoutBeingCausal, {"chunks"}),
        (MixesRows, {"batch"}),
        (LayerFirstState, {"batch"}),
        (KeepsWhatItSaw, {"none"}),
        (AlwaysGivesState, {"none"}),
        (WritesIntoItsState, {"none"}),
        (WrongGradient, {"exactness"}),
        (RoundsItsState, {"portability"}),
    ],
)
def test_a_law_catches(block, laws):
    found = {law for law, problem in broken(subject(block)).items() if problem}
    assert laws <= found, f"{block.__name__} breaks {laws}, but only {found} noticed"


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
