"""Recurrent mixers equal torch.nn, or their paper's equations step by step: values and gradients, ragged rows."""

import pytest
import torch
import torch.nn.functional as F
from composer.catalogue.mixer.gru import GRU
from composer.catalogue.mixer.lstm import LSTM
from composer.catalogue.mixer.luong import Luong
from composer.catalogue.mixer.mingru import MinGRU
from composer.catalogue.mixer.minlstm import MinLSTM
from composer.catalogue.mixer.rg_lru import RGLRU
from composer.catalogue.mixer.rnn import RNN
from composer.catalogue.mixer.rnnsearch import RNNSearch
from composer.catalogue.mixer.s4d import S4D
from composer.catalogue.mixer.selective import Selective
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

from composer.core.block import Recipe
from composer.core.meta import on_meta
from composer.core.problems import Invalid
from composer.core.recording import watch
from composer.core.signals import Seq, Vec
from composer.graph.combinators.bidirectional import Bidirectional

D, M, LENGTHS = 4, 5, [7, 3, 0, 5]
TORCH = {"rnn": (RNN, nn.RNN), "gru": (GRU, nn.GRU), "lstm": (LSTM, nn.LSTM)}


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


def ragged(width=D, lengths=LENGTHS):
    """A random sequence with NaN in its padding."""
    x = Seq(torch.randn(len(lengths), max(lengths), width), torch.tensor(lengths))
    return Seq(x.filled(float("nan")).requires_grad_(), x.lengths)


def same(one, other, x, wanted, its=None):
    """Equal valid outputs, and equal gradients of a random weighing of them, for the input and pairs of weights."""
    weight = torch.randn(one.values.shape)
    results = []
    for y, parameters in ((one, wanted), (other, wanted if its is None else its)):
        y = y if isinstance(y, Seq) else one.like(y)
        gradients = torch.autograd.grad((y.filled() * weight).sum(), [x.values, *parameters])
        results.append([y.filled(), *gradients])
    for mine, expected in zip(*results, strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", TORCH)
@pytest.mark.parametrize("bias", [True, False])
def test_equals_torch(name, bias):
    ours, theirs = TORCH[name]
    block, twin = ours(D, None, bias=bias), theirs(D, D, bias=bias, batch_first=True)
    twin.load_state_dict(block.cell.state_dict())
    x = ragged()
    same(block(x)[0], twin(x.filled())[0], x, list(block.parameters()), list(twin.parameters()))


@pytest.mark.parametrize("name", TORCH)
def test_both_directions_equal_torch_on_packed_sequences(name):
    ours, theirs = TORCH[name]
    both = Bidirectional(D, None, None, mixer=Recipe("mixer", name, ours, {}, ""), join="concat")
    twin = theirs(D, D, batch_first=True, bidirectional=True)
    cells = [both.ahead.block.cell, both.back.block.cell]
    weights = [weight for cell in cells for weight in cell.parameters()]
    with torch.no_grad():
        for mine, its in zip(weights, twin.parameters(), strict=True):
            its.copy_(mine)
    x = ragged(lengths=[7, 3, 1, 5])  # torch packs no empty rows
    packed = pack_padded_sequence(x.filled(), x.lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(twin(packed)[0], batch_first=True)
    same(both(x)[0], expected, x, weights, list(twin.parameters()))


@pytest.mark.parametrize("name", TORCH)
def test_the_state_after_ragged_rows_equals_torch_on_packed_sequences(name):
    ours, theirs = TORCH[name]
    block, twin = ours(D, None), theirs(D, D, batch_first=True)
    twin.load_state_dict(block.cell.state_dict())
    x = ragged(lengths=[7, 3, 1, 5])
    packed = pack_padded_sequence(x.filled(), x.lengths, batch_first=True, enforce_sorted=False)
    _, last = twin(packed)
    _, state = block(x, block.start(4))
    for mine, its in zip(state.values(), last if isinstance(last, tuple) else (last,), strict=True):
        torch.testing.assert_close(mine, its[0])


def test_the_lecture_s_relu_network():
    """U = [[1,0],[0,1],[-1,0]] reads x of width 2 into h of width 3: a third input of zero makes the widths equal."""
    block = RNN(3, None, nonlinearity="relu")
    with torch.no_grad():
        block.cell.weight_ih_l0.copy_(torch.tensor([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0]]))
        block.cell.weight_hh_l0.copy_(torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]))
        block.cell.bias_ih_l0.zero_(), block.cell.bias_hh_l0.zero_()
        y, state = block(Seq(torch.tensor([[[1.0, 0, 0]]])), {"h": torch.tensor([[1.0, 0, 0]])})
    torch.testing.assert_close(state["h"], torch.tensor([[1.0, 0, 0]]), rtol=0, atol=1e-6)
    assert (y.values[0, 0] @ torch.tensor([1.0, 0, -1])).item() == pytest.approx(1, abs=1e-6)


def test_the_lecture_s_tanh_network():
    block = RNN(2, None)
    with torch.no_grad():
        block.cell.weight_ih_l0.copy_(torch.tensor([[0.4, 0.5], [0.6, 0.7]]))
        block.cell.weight_hh_l0.copy_(torch.tensor([[0.1, 0.2], [-0.1, 0.3]]))
        block.cell.bias_ih_l0.copy_(torch.tensor([0.1, 0.2])), block.cell.bias_hh_l0.zero_()
        y, _ = block(Seq(torch.tensor([[[1.0, 0]]])), {"h": torch.tensor([[0.5, -0.5]])})
    torch.testing.assert_close(y.values[0, 0].atanh(), torch.tensor([0.45, 0.6]), rtol=0, atol=1e-6)
    assert (y.values[0, 0] @ torch.tensor([0.8, 0.9])).item() == pytest.approx(0.8208635, abs=1e-6)


def g(c):
    return torch.where(c >= 0, c + 0.5, torch.sigmoid(c))


def stepwise(x, h, step):
    """Every state of h_t = step(x_t, h_{t-1}), a row that has ended staying as it is."""
    found = []
    for t in range(x.time):
        h = torch.where(x.mask[:, t, None], step(x.filled()[:, t], h), h)
        found.append(h)
    return torch.stack(found, dim=1)


@pytest.mark.parametrize("candidate", ["linear", "positive"])
@pytest.mark.parametrize("expansion", [1, 1.5])
def test_mingru_equals_its_equations(candidate, expansion):
    block = MinGRU(D, D, expansion=expansion, candidate=candidate)
    x, first = ragged(), Vec(torch.randn(len(LENGTHS), D))
    (w_z, w_h), (b_z, b_h) = block.project.weight.chunk(2), block.project.bias.chunk(2)

    def step(x_t, h):
        z = torch.sigmoid(F.linear(x_t, w_z, b_z))
        n = F.linear(x_t, w_h, b_h)
        return (1 - z) * h + z * (g(n) if candidate == "positive" else n)

    h = stepwise(x, first.values if expansion == 1 else block.first.enter(first.values), step)
    same(block(x, initial=first)[0], h if expansion == 1 else block.output(h), x, list(block.parameters()))
    _, state = block(x, block.start(x.batch, first))
    torch.testing.assert_close(state["h"], h[:, -1])


@pytest.mark.parametrize("candidate", ["linear", "positive"])
@pytest.mark.parametrize("expansion", [1, 1.5])
def test_minlstm_equals_its_equations(candidate, expansion):
    block = MinLSTM(D, D, expansion=expansion, candidate=candidate)
    x, first = ragged(), Vec(torch.randn(len(LENGTHS), D))
    weights = list(zip(block.project.weight.chunk(3), block.project.bias.chunk(3), strict=True))

    def step(x_t, h):
        f, i, n = (F.linear(x_t, *weight) for weight in weights)
        f, i = torch.sigmoid(f), torch.sigmoid(i)
        n = g(n) if candidate == "positive" else n
        return f / (f + i) * h + i / (f + i) * n

    h = stepwise(x, first.values if expansion == 1 else block.first.enter(first.values), step)
    same(block(x, initial=first)[0], h if expansion == 1 else block.output(h), x, list(block.parameters()))
    _, state = block(x, block.start(x.batch, first))
    torch.testing.assert_close(state["h"], h[:, -1])


@pytest.mark.parametrize(
    ("block", "expected"),
    [(MinGRU, 2 * D * D), (MinLSTM, 3 * D * D), (GRU, 3 * D * (D + D)), (LSTM, 4 * D * (D + D))],
)
def test_parameters_equal_the_published_formula(block, expected):
    assert sum(parameter.numel() for parameter in block(D, None, bias=False).parameters()) == expected


@pytest.mark.parametrize(("block", "gates"), [(MinGRU, 2), (MinLSTM, 3)])
def test_expanded_parameters_equal_the_published_formula(block, gates):
    hidden = 3 * D
    built = block(D, None, expansion=3, bias=False)
    assert sum(parameter.numel() for parameter in built.parameters()) == gates * hidden * D + hidden * D


def convolved(block, x):
    """The short convolution as torch.nn has it."""
    kernel = block.weight.shape[0]
    padded = F.pad(x.transpose(1, 2), (kernel - 1, 0))
    return F.conv1d(padded, block.weight.T[:, None], block.bias, groups=x.shape[-1]).transpose(1, 2)


@pytest.mark.parametrize("expansion", [1, 1.5])
def test_rg_lru_equals_its_equations(expansion):
    block = RGLRU(D, None, expansion=expansion, kernel=3)
    x = ragged()
    hidden = round(D * expansion)
    beside, u = block.rise(x.filled()).chunk(2, dim=-1)
    u = convolved(block.convolution, u)
    (w_r, w_i), (b_r, b_i) = block.gates.weight.chunk(2), block.gates.bias.chunk(2)

    def step(u_t, h):
        r, i = torch.sigmoid(F.linear(u_t, w_r, b_r)), torch.sigmoid(F.linear(u_t, w_i, b_i))
        a = torch.sigmoid(block.decay) ** (8 * r)
        return a * h + torch.sqrt(1 - a**2) * (i * u_t)

    h = stepwise(x.like(u), torch.zeros(x.batch, hidden), step)
    expected = block.output(F.gelu(beside) * h)
    same(block(x)[0], expected, x, list(block.parameters()))
    _, state = block(x, block.start(x.batch))
    torch.testing.assert_close(state["h"], h[:, -1])
    start = torch.sigmoid(block.decay) ** 8
    assert ((start >= 0.9 - 1e-9) & (start <= 0.999 + 1e-9)).all()


def test_s4d_equals_its_recurrence():
    block = S4D(D, states=3, step=0.2)
    x = ragged()
    a = torch.complex(-block.damping.exp(), block.frequency)
    decay = torch.exp(block.step.exp()[:, None] * a)
    entry = (decay - 1) / a
    read = torch.view_as_complex(block.read)
    before = torch.randn(x.batch, D, 3, dtype=torch.complex128)
    h, found = before, []
    for t in range(x.time):
        u = x.filled()[:, t]
        h = torch.where(x.mask[:, t, None, None], decay * h + entry * u[..., None], h)
        found.append(2 * (read * h).sum(-1).real + block.skip * u)
    expected = F.glu(block.output(F.gelu(torch.stack(found, dim=1))), dim=-1)
    y, state = block(x, {"h": torch.view_as_real(before)})
    same(y, expected, x, list(block.parameters()))
    torch.testing.assert_close(torch.view_as_complex(state["h"]), h)
    empty = block.start(x.batch)
    torch.testing.assert_close(block(x)[0].filled(), block(x, empty)[0].filled())
    assert not empty["h"].any()


def test_selective_equals_its_recurrence():
    block = Selective(D, states=3, kernel=3)
    x = ragged()
    u, beside = block.rise(x.filled()).chunk(2, dim=-1)
    u = F.silu(convolved(block.convolution, u))
    rough, b, c = block.select(u).split([1, 3, 3], dim=-1)
    step, a = F.softplus(block.step(rough)), -block.decay.exp()
    h, found = torch.zeros(x.batch, 2 * D, 3), []
    for t in range(x.time):
        decay = torch.exp(step[:, t, :, None] * a)
        following = decay * h + (step * u)[:, t, :, None] * b[:, t, None]
        h = torch.where(x.mask[:, t, None, None], following, h)
        found.append((h * c[:, t, None]).sum(-1) + block.skip * u[:, t])
    expected = block.fall(torch.stack(found, dim=1) * F.silu(beside))
    same(block(x)[0], expected, x, list(block.parameters()))
    _, state = block(x, block.start(x.batch))
    torch.testing.assert_close(state["h"], h.transpose(1, 2))
    first = F.softplus(block.step.bias)
    assert ((first >= 0.001 - 1e-9) & (first <= 0.1 + 1e-9)).all()


def test_rnnsearch_equals_its_equations_and_shows_its_weights():
    block = RNNSearch(D, M, D)
    x, memory, first = ragged(), ragged(M, [4, 1, 2, 3]), Vec(torch.randn(len(LENGTHS), D))
    (w_r, w_z, w_n), (u_r, u_z, u_n) = block.cell.weight_ih.chunk(3), block.cell.weight_hh.chunk(3)
    (b_r, b_z, b_n), (c_r, c_z, c_n) = block.cell.bias_ih.chunk(3), block.cell.bias_hh.chunk(3)
    searches = []

    def step(x_t, s):
        contexts, rows = [], []
        for row, length in enumerate(memory.lengths.tolist()):
            annotations = memory.values[row, :length]  # (S, M), without padding
            hidden = torch.tanh(block.query.weight @ s[row] + annotations @ block.key.weight.T + block.key.bias)
            weights = torch.softmax(hidden @ block.score.weight[0], dim=0)
            contexts.append(weights @ annotations)
            rows.append(F.pad(weights, (0, memory.time - length)))
        searches.append(torch.stack(rows))
        y = torch.cat([x_t, torch.stack(contexts)], dim=-1)
        r = torch.sigmoid(F.linear(y, w_r, b_r) + F.linear(s, u_r, c_r))
        z = torch.sigmoid(F.linear(y, w_z, b_z) + F.linear(s, u_z, c_z))
        n = torch.tanh(F.linear(y, w_n, b_n) + r * F.linear(s, u_n, c_n))
        return (1 - z) * n + z * s

    expected = stepwise(x, first.values, step)
    with watch() as seen:
        y, _ = block(x, memory=memory, initial=first)
    same(y, expected, x, [memory.values, *block.parameters()])
    torch.testing.assert_close(seen[block][0], torch.stack(searches, dim=1)[:, None].detach())
    _, state = block(x, block.start(x.batch, memory, first), memory=None)
    torch.testing.assert_close(state["s"], expected[:, -1])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("score", ["dot", "general", "concat"])
@pytest.mark.parametrize("feed", [True, False])
def test_luong_equals_its_equations_and_shows_its_weights(cell, score, feed):
    width = D if score == "dot" else M
    block = Luong(D, width, D, cell=cell, score=score, feed=feed)
    twin = (nn.LSTMCell if cell == "lstm" else nn.GRUCell)(2 * D if feed else D, D)
    twin.load_state_dict({name.removesuffix("_l0"): weight for name, weight in block.cell.state_dict().items()})
    x, memory, first = ragged(), ragged(width, [4, 1, 2, 3]), Vec(torch.randn(len(LENGTHS), D))
    expected, searches, last = [], [], []
    for row, length in enumerate(x.lengths.tolist()):
        m = memory.values[row, : memory.lengths[row]]  # (S, M), without padding
        h, c, a = first.values[row : row + 1], torch.zeros(1, D), torch.zeros(1, D)
        outputs, weights = [], []
        for t in range(length):
            now = x.values[row, t : t + 1]
            now = torch.cat([now, a], dim=-1) if feed else now
            h, c = twin(now, (h, c)) if cell == "lstm" else (twin(now, h), c)
            if score == "dot":
                scores = m @ h[0]
            elif score == "general":
                scores = torch.stack([h[0] @ block.key.weight @ step for step in m])
            else:
                both = torch.cat([block.query.weight, block.key.weight], dim=1)
                joined = torch.stack([torch.cat([h[0], step]) for step in m])
                scores = torch.tanh(joined @ both.T) @ block.score.weight[0]
            weight = torch.softmax(scores, dim=0)
            a = torch.tanh(block.join(torch.cat([weight @ m, h[0]])))[None]
            outputs.append(a[0])
            weights.append(F.pad(weight, (0, memory.time - len(m))))
        rest = max(LENGTHS) - length
        expected.append(torch.stack([*outputs, *[torch.zeros(D)] * rest]))
        searches.append(torch.stack([*weights, *[torch.zeros(memory.time)] * rest]))
        last.append(torch.cat([h[0], *([c[0]] if cell == "lstm" else []), *([a[0]] if feed else [])]))
    with watch() as seen:
        y, _ = block(x, memory=memory, initial=first)
    expected = torch.stack(expected)
    own = [twin.get_parameter(name.removesuffix("_l0")) for name, _ in block.cell.named_parameters()]
    rest = [weight for name, weight in block.named_parameters() if not name.startswith("cell.")]
    cells = list(block.cell.parameters())
    same(y, expected, x, [memory.values, *rest, *cells], [memory.values, *rest, *own])
    mask = x.mask[:, None, :, None]
    torch.testing.assert_close(seen[block][0] * mask, torch.stack(searches)[:, None].detach() * mask)
    _, state = block(x, block.start(x.batch, memory, first), memory=None)
    names = [name for name in ("h", "c", "a") if name in state]
    assert names == ["h", *(["c"] if cell == "lstm" else []), *(["a"] if feed else [])]
    torch.testing.assert_close(torch.cat([state[name] for name in names], dim=-1), torch.stack(last))


def test_luong_says_which_memory_it_needs():
    with pytest.raises(Invalid, match="'luong' attends to a memory, but none is connected"):
        Luong(D, None, None)
    with pytest.raises(Invalid, match="dot needs a memory of the width 4, found 5"):
        Luong(D, M, None, score="dot")


RECURRENT = {
    "rnn": lambda: RNN(D, None), "gru": lambda: GRU(D, None), "lstm": lambda: LSTM(D, None),
    "mingru": lambda: MinGRU(D, None, expansion=2), "minlstm": lambda: MinLSTM(D, None),
    "rg_lru": lambda: RGLRU(D, None), "s4d": lambda: S4D(D), "selective": lambda: Selective(D),
    "rnnsearch": lambda: RNNSearch(D, M, None), "luong": lambda: Luong(D, M, None),
}  # fmt: skip


@pytest.mark.parametrize("name", RECURRENT)
def test_a_step_costs_the_same_however_many_came_before(name):
    with on_meta():
        block = RECURRENT[name]()
        once = {"memory": Seq(torch.empty(2, 9, M))} if name in ("rnnsearch", "luong") else {}
        later = dict.fromkeys(once)
        state, costs, sizes = block.start(2, **once), [], []
        for time in (1, 1, 50, 1):
            with FlopCounterMode(display=False) as counter:
                _, state = block(Seq(torch.empty(2, time, D)), state, **later)
            costs.append(counter.get_total_flops())
            sizes.append(sum(leaf.numel() * leaf.element_size() for leaf in pytree.tree_leaves(state)))
    assert costs[0] == costs[1] == costs[3] > 0
    assert costs[2] > costs[0]
    assert len(set(sizes)) == 1
