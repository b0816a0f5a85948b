"""The block obeys the laws of all blocks, and equals its equation. Run: pytest (pip install pytest hypothesis)"""

import torch
from composer import Seq
from composer.testing import hold, subject
from moving_average import MovingAverage


def test_the_laws_hold():
    """Streaming equals parallel, padding is inert, nothing leaks from the future, ..."""
    hold(subject(MovingAverage))


def test_it_equals_its_equation():
    block, x = MovingAverage(4), torch.randn(2, 5, 4)
    y, _ = block(Seq(x))
    decay, h = torch.sigmoid(block.decay), torch.zeros(2, 4)
    for t in range(5):
        h = decay * h + (1 - decay) * x[:, t]
        torch.testing.assert_close(y.values[:, t], h)
