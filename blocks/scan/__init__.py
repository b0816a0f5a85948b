"""Scans: the linear recurrence h_t = a_t * h_{t-1} + b_t over a whole sequence, for gates that do not depend on h.

    scan       a and b given
    blend      a = 1 - z and b = z * n, with the gates z and the candidates n computed inside (minGRU, minLSTM)
    selective  a = exp(step * A) and b = step * x B, multiplied by C at once: no (B, T, D, N) tensor is stored (Mamba)

Each is one autograd function around ``solve``, which picks the solver for the device; add a faster solver there.
"""

from .blend import blend, blend_step
from .linear import scan
from .selective import selective, selective_step
from .solve import SOLVERS, solve

__all__ = ["SOLVERS", "blend", "blend_step", "scan", "selective", "selective_step", "solve"]
