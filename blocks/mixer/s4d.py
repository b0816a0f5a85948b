"""A diagonal state space model: damped oscillators for every channel, trained as one long convolution.

    dh/dt = A h + u,  with u constant during a step s:  h_t = a * h_{t-1} + b u_t,  a = exp(s A),  b = (a - 1) / A
    v_t = 2 Re(C . h_t) + D * u_t,  y_t = glu(W_o gelu(v_t))

Gu et al., 2022, "On the parameterization and initialization of diagonal state space models". A is initialised to
-1/2 + i pi n (S4D-Lin). The state is h as real and imaginary parts, (B, D, N, 2).
"""

from __future__ import annotations

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Positive, Recurrence, Scale, Seq, State, cached_for_generation, register, show_terms
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.streaming_copy import by_columns
from composer.core.streaming.time_loop import through_time

from ..gelu import SCALE, scaled_gelu


@register("mixer", "s4d")
class S4D(Recurrence):
    causal = True
    ordered = True
    no_decay = ("step", "damping", "frequency")

    def __init__(self, dim: int, *, states: Positive = 32, step: Scale = 0.01, bias: bool = True) -> None:
        super().__init__()
        low, high = math.log(step / 10), math.log(step * 10)
        self.step = nn.Parameter(torch.empty(dim).uniform_(low, high))  # log s
        self.damping = nn.Parameter(torch.full((dim, states), math.log(0.5)))  # log(-Re A)
        self.frequency = nn.Parameter(torch.arange(float(states)).mul(math.pi).repeat(dim, 1))  # Im A
        self.read = nn.Parameter(torch.empty(dim, states, 2).normal_(std=math.sqrt(0.5)))  # C
        self.skip = nn.Parameter(torch.empty(dim).normal_())
        self.output = nn.Linear(dim, 2 * dim, bias=bias)

    def start(self, batch: int) -> State:
        return {"h": self.read.new_zeros(batch, *self.read.shape)}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        coefficients, weight = self._scaled
        v, state = _oscillate(coefficients, x, state)
        return F.glu(F.linear(scaled_gelu(v), weight, self.output.bias), dim=-1), state

    @cached_for_generation
    def _scaled(self) -> tuple[tuple[Tensor, ...], Tensor]:
        """The coefficients with D among them, and W_o, with the factors of ``scaled_gelu`` before and after it."""
        decay, entry, read, through = self._coefficients()
        coefficients = decay, entry, SCALE * read, SCALE * (through + self.skip)
        return coefficients, by_columns(SCALE * self.output.weight)

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        with full_precision(x.values):
            u = x.like(x.filled().to(self.skip.dtype))
            if not torch.compiler.is_exporting():
                v, after = self._convolved(u, state)
            else:  # ONNX has neither complex numbers nor this convolution
                step = partial(_oscillate, self._coefficients())
                if state is None:
                    v, after = through_time(step, Seq(u.values), self.start(x.batch))[0], None
                else:
                    v, after = through_time(step, u, state)
            beside = self.skip * u.values
            show_terms(self, lambda: {"state": x.like(v), "skip": x.like(beside)})
            return x.like(F.glu(self.output(F.gelu(v + beside)), dim=-1)), after

    def flops(self, time: int) -> int:
        """Re(C . h) of every channel and the output layer, at every step."""
        return 2 * time * (self.read.numel() + self.output.weight.numel())

    def _coefficients(self) -> tuple[Tensor, ...]:
        """a and b as real and imaginary parts, (D, N, 2) each, conj(2 C a) as rows, (D, 2 N), and 2 Re(C . b), (D,)."""
        step, damping, frequency = self.step.exp()[:, None], -self.damping.exp(), self.frequency  # (D, 1), (D, N)
        size, angle = (step * damping).exp(), step * frequency
        decay = torch.stack([size * angle.cos(), size * angle.sin()], dim=-1)
        # Re a - 1 without cancellation
        less = torch.expm1(step * damping) * angle.cos() - 2 * (angle / 2).sin().square()
        raised = torch.stack([less, decay[..., 1]], dim=-1)  # a - 1
        conjugate = torch.stack([damping, -frequency], dim=-1)  # of A
        entry = _product(raised, conjugate) / (damping.square() + frequency.square())[..., None]
        signs = self.read.new_tensor([1.0, -1.0])  # Re(x y) is the scalar product of conj(x) and y
        read = signs * _product(2 * self.read, decay)
        return decay, entry, read.flatten(-2), (signs * 2 * self.read * entry).sum((-2, -1))

    def _convolved(self, u: Seq, state: State | None) -> tuple[Tensor, State | None]:
        """2 Re(C . h_t) for all steps in parallel, (B, T, D), and the state after each row's last real step."""
        decay = torch.complex(-self.damping.exp(), self.frequency)  # A, (D, N)
        rate = decay * self.step.exp()[:, None]  # s A
        entry = _expm1(rate) / decay  # b
        read = torch.view_as_complex(self.read)
        powers = _powers(rate, u.time)
        v = _convolve(u.values, 2 * _sum(read * entry, powers, u.time))  # (B, T, D)
        if state is None:
            return v, None
        h = torch.view_as_complex(state["h"])  # (B, D, N)
        v = v + 2 * _sum(h * read * _exp(rate), powers, u.time).transpose(1, 2)
        h = h * _exp(rate * u.counts[:, None, None]) + entry * _gather(u, powers)
        return v, {"h": torch.view_as_real(h)}


def _oscillate(coefficients: tuple[Tensor, ...], u: Tensor, state: State) -> tuple[Tensor, State]:
    """One step of every row, (B, D): 2 Re(C . h_t) = 2 Re(C a . h_{t-1}) + 2 Re(C . b) u_t, and h_t.

    The output is read before the state is replaced, and the new state is changed in place: the fewer tensors of its
    size there are, the more of them are in the cache.
    """
    decay, entry, read, through = coefficients
    before = state["h"]  # (B, D, N, 2)
    v = torch.addcmul(torch.linalg.vecdot(before.flatten(-2), read), through, u)
    return v, {"h": _product(decay, before).addcmul_(entry, u[..., None, None])}


def _product(a: Tensor, b: Tensor) -> Tensor:
    """(..., 2): the product of complex numbers that are given as their real and imaginary parts, (..., 2)."""
    if torch.compiler.is_exporting():  # ONNX has no complex numbers
        (x, y), (u, v) = a.unbind(-1), b.unbind(-1)
        return torch.stack([x * u - y * v, x * v + y * u], dim=-1)
    return torch.view_as_real(torch.view_as_complex(a) * torch.view_as_complex(b))


def _exp(z: Tensor) -> Tensor:
    """exp of complex numbers by real functions, which are faster."""
    return torch.polar(z.real.exp(), z.imag)


def _expm1(z: Tensor) -> Tensor:
    """exp(z) - 1 without the cancellation near 0."""
    x, y = z.real, z.imag
    return torch.complex(torch.expm1(x) * y.cos() - 2 * (y / 2).sin().square(), x.exp() * y.sin())


def _powers(rate: Tensor, time: int) -> tuple[Tensor, Tensor]:
    """a^t for t = 0..T-1 as products of two tables, (D, I, N) and (D, J, N), each about sqrt(T) long: t = i J + j."""
    inner = math.isqrt(time - 1) + 1
    outer = -(-time // inner)
    steps = torch.arange(max(outer, inner), device=rate.device)[:, None]
    return _exp(rate[:, None] * (steps[:outer] * inner)), _exp(rate[:, None] * steps[:inner])


def _sum(weight: Tensor, powers: tuple[Tensor, Tensor], time: int) -> Tensor:
    """(..., D, T): Re(sum_n weight_n a_n^t) for weight (..., D, N), without a (D, T, N) tensor."""
    outer = torch.view_as_real(weight[..., None, :] * powers[0])  # (..., D, I, N, 2)
    inner = torch.view_as_real(powers[1].conj().resolve_conj())  # (D, J, N, 2)
    product = outer.flatten(-2) @ inner.flatten(-2).transpose(-1, -2)  # (..., D, I, J)
    return product.flatten(-2)[..., :time]


def _gather(u: Seq, powers: tuple[Tensor, Tensor]) -> Tensor:
    """(B, D, N): sum_k a^k u_{T-1-k} over each row's real steps: their contribution to the next state."""
    outer, inner = powers
    length = outer.shape[1] * inner.shape[1]
    recent = F.pad(u.reversed().values, (0, 0, 0, length - u.time)).transpose(1, 2)  # (B, D, I * J), newest first
    recent = recent.unflatten(-1, (-1, inner.shape[1]))  # (B, D, I, J)
    summed = recent @ torch.view_as_real(inner).flatten(-2)  # (B, D, I, 2 N)
    return (torch.view_as_complex(summed.unflatten(-1, (-1, 2))) * outer).sum(dim=2)


def _convolve(u: Tensor, kernel: Tensor) -> Tensor:
    """(B, T, D): the causal convolution of u (B, T, D) with each channel's kernel (D, T)."""
    time = u.shape[1]
    spectrum = torch.fft.rfft(u, n=2 * time, dim=1) * torch.fft.rfft(kernel, n=2 * time).transpose(0, 1)
    return torch.fft.irfft(spectrum, n=2 * time, dim=1)[:, :time]
