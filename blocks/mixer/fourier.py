"""The real part of the Fourier transform over features and time: mixing without parameters.

    y = Re(F_T x F_D),  F_n[j, k] = exp(-2 pi i j k / n)

over each row's own length T. With ``unitary``, each F_n is divided by sqrt(n), which keeps the size of x; the paper
does not divide. Every output depends on all steps, so this block is not causal, has no state and cannot stream.
Lee-Thorp et al., 2021, FNet.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from composer import Seq, State, refuse_to_stream, register


@register("mixer", "fourier")
class Fourier(nn.Module):
    causal = False

    def __init__(self, dim: int, *, unitary: bool = True) -> None:
        super().__init__()
        self.unitary = unitary

    def start(self, batch: int) -> State:
        refuse_to_stream(self)

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        if state is not None:
            refuse_to_stream(self)
        values = x.filled()
        wide = torch.float64 if values.dtype == torch.float64 else torch.float32
        turned = torch.fft.fft(values.to(wide), dim=-1, norm="ortho" if self.unitary else None)  # (B, T, D), complex
        if x.lengths is None:
            return x.like(torch.fft.fft(turned, dim=1, norm="ortho" if self.unitary else None).real), None
        cosines, sines = self._waves(x, wide)  # Re((C - iS)(a + ib)) = C a + S b
        return x.like(cosines @ turned.real + sines @ turned.imag), None

    def _waves(self, x: Seq, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """(B, T, T) each: the transform over time as one matrix per row, since rows differ in length."""
        steps = torch.arange(x.time, device=x.values.device)
        length = x.counts.clamp(min=1)[:, None, None]
        turns = (steps[:, None] * steps % length).to(dtype) / length.to(dtype)  # modulo full turns, for exact angles
        scale = length.to(dtype).rsqrt() if self.unitary else 1.0
        angles = 2 * math.pi * turns
        return angles.cos() * scale, angles.sin() * scale
