"""A diagonal state space: a bank of damped oscillators for every channel, trained as one long convolution.

    dh/dt = A h + u,  held for a step s:  h_t = a * h_{t-1} + b u_t,  a = exp(s A),  b = (a - 1) / A
    v_t = 2 Re(C . h_t) + D * u_t,  y_t = glu(W_o gelu(v_t))

Gu et al., 2022, "On the parameterization and initialization of diagonal state space models". A starts at -1/2 + i pi n
(S4D-Lin). Its state is h as real and imaginary parts, (B, D, N, 2).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blocks.recurrence import full_precision
from blocks.steps import walk
from composer import Positive, Scale, Seq, State, register, show_terms


@register("mixer", "s4d")
class S4D(nn.Module):
    causal = True
    ordered = True

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

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        with full_precision(x.values):
            u = x.like(x.filled().to(self.skip.dtype))
            if torch.compiler.is_exporting():
                if state is None:
                    return self._out(x, u, self._step_by_step(Seq(u.values), self.start(x.batch)["h"])[0]), None
                v, last = self._step_by_step(u, state["h"])
                return self._out(x, u, v), {"h": last}
            decay = torch.complex(-self.damping.exp(), self.frequency)  # A, (D, N)
            rate = decay * self.step.exp()[:, None]  # s A
            entry = _expm1(rate) / decay  # b
            read = torch.view_as_complex(self.read)
            powers = _powers(rate, x.time)
            v = _convolve(u.values, 2 * _sum(read * entry, powers, x.time))  # (B, T, D)
            if state is not None:
                h = torch.view_as_complex(state["h"])  # (B, D, N)
                v = v + 2 * _sum(h * read * _exp(rate), powers, x.time).transpose(1, 2)
                h = h * _exp(rate * x.counts[:, None, None]) + entry * _gather(u, powers)
                state = {"h": torch.view_as_real(h)}
            return self._out(x, u, v), state

    def _out(self, x: Seq, u: Seq, v: Tensor) -> Seq:
        beside = self.skip * u.values
        show_terms(self, lambda: {"state": x.like(v), "skip": x.like(beside)})
        return x.like(F.glu(self.output(F.gelu(v + beside)), dim=-1))

    def _step_by_step(self, u: Seq, start: Tensor) -> tuple[Tensor, Tensor]:
        """The recurrence as it is written above, in real numbers: ONNX has no others. v without its skip, and h."""
        step, damping, frequency = self.step.exp()[:, None], -self.damping.exp(), self.frequency  # (D, 1), (D, N)
        size, angle = (step * damping).exp(), step * frequency
        decay = torch.stack([size * angle.cos(), size * angle.sin()])  # a, (2, D, N)
        real = torch.expm1(step * damping) * angle.cos() - 2 * (angle / 2).sin().square()  # a - 1 without cancellation
        entry = torch.stack([real * damping + decay[1] * frequency, decay[1] * damping - real * frequency])
        entry = entry / (damping.square() + frequency.square())  # b

        def one(carry: tuple[Tensor, ...], now: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
            (x, y, *last), into = carry, now[0][..., None]  # h = x + iy; (B, D, 1)
            x, y = decay[0] * x - decay[1] * y + entry[0] * into, decay[0] * y + decay[1] * x + entry[1] * into
            v = 2 * (x * self.read[..., 0] - y * self.read[..., 1]).sum(-1)  # (B, D)
            if last:  # h at each row's last real step
                real = now[1][:, None, None]
                last = [torch.where(real, new, old) for new, old in zip((x, y), last, strict=True)]
            return (x, y, *last), v

        before = start.unbind(-1)
        if u.mask is None:
            carry, v = walk(one, before, (u.values,))
        else:
            carry, v = walk(one, before * 2, (u.values, u.mask))
        return v, torch.stack(carry[-2:], dim=-1)


def _exp(z: Tensor) -> Tensor:
    """exp of complex numbers by real functions, which are the fast ones."""
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
    """(B, D, N): sum_k a^k u_{T-1-k}, what each row's real steps leave behind."""
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
