"""Real-valued predictions with a normal (Gaussian) distribution.

    p(y | h) = N(y; m, diag(v)),  loss = 1/2 sum_j ((y_j - m_j)^2 / v_j + log v_j + log 2 pi)

with the mean m = W h + b. A fixed variance v is 1. With a learned variance, the output is twice as wide, [m; log v] =
W h + b, so that the model predicts its own uncertainty (Nix and Weigend, 1994). With the port ``window``, the linear
layer predicts values normalised by the window (RevIN; Kim et al., 2022), and the output is in the units of the data:
m = s (W h + b) + c for the centre c and the deviation s of each channel of the window. With a window, W is initialised
to zero, so that first predictions are the window's centre, a baseline; otherwise W is small. The state is c and s,
(B, D) each, if there is a window.
"""

from __future__ import annotations

from torch import Tensor

from composer import Seq, State, Vec, register

from ..normal import Normal, Variance
from ..revin import Centre, WindowScale, restored_moments


@register("head", "gaussian")
class Gaussian(Normal):
    def __init__(
        self,
        dim: int,
        target_dim: int,
        target_names: tuple[str, ...] | None = None,
        window_dim: int | None = None,
        window_names: tuple[str, ...] | None = None,
        *,
        variance: Variance = "fixed",
        centre: Centre = "last",
    ) -> None:
        super().__init__(target_dim, variance)
        self.scale: WindowScale | None = None
        if window_dim is not None:
            self.scale = WindowScale(target_dim, target_names, window_dim, window_names, centre)
        self.baseline = self.scale is not None
        self.project = self.projection(dim, centred=self.baseline)

    def start(self, batch: int, window: Seq | None = None) -> State:
        return {} if window is None or self.scale is None else self.scale.measure(window)

    def forward(
        self, x: Seq | Vec, state: State | None = None, *, window: Seq | None = None
    ) -> tuple[Seq | Vec, State | None]:
        scale = state or self.start(x.batch, window)
        return x.like(self._moments(x.filled() if isinstance(x, Seq) else x.values, scale)), state

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        return self._moments(x, state), state

    def _moments(self, values: Tensor, scale: State) -> Tensor:
        """(..., D) or (..., 2 D)"""
        output = self.project(values)
        return restored_moments(output, scale, self.target_dim) if scale else output

    def loss(self, output: Seq | Vec, target: Seq | Vec) -> Tensor:
        """(B, T) or (B,): the negative log-likelihood, in nats."""
        return self.negative_log_likelihood(output, target)
