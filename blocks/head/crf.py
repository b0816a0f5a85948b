"""A linear-chain conditional random field (CRF): tags of a given sequence, each of which depends on its neighbours.

    s(y) = a_{y_1} + sum_t (W h_t + b)_{y_t} + sum_{t > 1} A_{y_{t-1}, y_t} + z_{y_T}
    p(y | h) = exp s(y) / sum_{y'} exp s(y'),  loss = -log p(y | h), one value per row

The forward algorithm computes the sum over all tag sequences y', the Viterbi algorithm the most likely sequence, and
forward-backward the probability of a tag at a step (its marginal), all in log space. A tag <blank> is hidden: the loss
is -log of the probability of the other tags, summed over the values of the hidden ones. No state. Lafferty, McCallum
and Pereira, 2001.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Ids, Invalid, Pointwise, Seq, register


@register("head", "crf")
class CRF(Pointwise):
    together = True
    no_decay = ("change",)
    allowed: Tensor | None

    def __init__(
        self,
        dim: int,
        target_vocabulary: int,
        target_tokens: tuple[str, ...] | None,
        target_blank: int | None,
        *,
        bias: bool = True,
        bio: bool = False,
    ) -> None:
        super().__init__()
        self.blank = target_blank
        self.project = nn.Linear(dim, target_vocabulary, bias=bias)
        self.first = nn.Parameter(torch.zeros(target_vocabulary))
        self.change = nn.Parameter(torch.zeros(target_vocabulary, target_vocabulary))  # from the row to the column
        self.last = nn.Parameter(torch.zeros(target_vocabulary))
        allowed = torch.tensor(_allowed_by_bio(target_tokens)) if bio else None  # (1 + V, V), the start in row 0
        self.register_buffer("allowed", allowed, persistent=False)

    def map(self, values: Tensor) -> Tensor:
        return self.project(values)  # (..., V), the scores of each tag without its neighbours

    def loss(self, output: Seq, target: Ids) -> Tensor:
        """(B,), in nats; 0 for a row without steps."""
        scores = _wide(Seq(output.values, target.lengths))  # (B, T, V)
        real = _real(target)
        everything = self._total(scores, real)
        if self.blank is None:
            wanted = self._score(scores, real, target.filled(0))
        else:
            tags = target.filled(self.blank)[..., None]  # (B, T, 1)
            other = (tags != self.blank) & (tags != torch.arange(scores.shape[-1], device=scores.device))
            wanted = self._total(scores.masked_fill(other, -torch.inf), real)
        return (everything - wanted).masked_fill(target.counts == 0, 0.0)

    def _score(self, scores: Tensor, real: Tensor, tags: Tensor) -> Tensor:
        """(B,): the score s(y) of one tag sequence per row, (B, T)."""
        each = scores.gather(2, tags[..., None])[..., 0]
        changes = self.change[tags[:, :-1], tags[:, 1:]].masked_fill(~real[:, 1:], 0.0)
        final = tags.gather(1, (real.sum(1, keepdim=True) - 1).clamp(min=0))[:, 0]
        return self.first[tags[:, 0]] + each.masked_fill(~real, 0.0).sum(1) + changes.sum(1) + self.last[final]

    def _total(self, scores: Tensor, real: Tensor) -> Tensor:
        """(B,): the logarithm of the sum of exp s(y) over all tag sequences."""
        return (self._forwards(scores, real)[-1] + self.last).logsumexp(1)

    def _forwards(self, scores: Tensor, real: Tensor) -> list[Tensor]:
        """For every step, (B, V): the logarithm of the summed exp s of all beginnings that end there with each tag."""
        found, into = [self.first + scores[:, 0]], self.change.t().contiguous()
        for t in range(1, scores.shape[1]):
            following = (found[-1][:, None, :] + into).logsumexp(2) + scores[:, t]  # (B, V)
            found.append(torch.where(real[:, t, None], following, found[-1]))
        return found

    def log_marginals(self, output: Seq) -> Tensor:
        """(B, T, V): the log-probability of every tag at every step, given the whole row."""
        scores, real = _wide(output), _real(output)
        forwards = self._forwards(scores, real)
        backwards = [self.last.expand_as(scores[:, 0])]
        for t in range(scores.shape[1] - 1, 0, -1):
            before = (self.change + (backwards[-1] + scores[:, t])[:, None, :]).logsumexp(2)
            backwards.append(torch.where(real[:, t, None], before, backwards[-1]))
        return (torch.stack(forwards, dim=1) + torch.stack(backwards[::-1], dim=1)).log_softmax(-1)

    def predict(self, output: Seq) -> Ids:
        """The most likely tag sequence of every row; with ``bio``, of those that BIO allows."""
        scores, real = _wide(output), _real(output)
        first: Tensor = self.first
        change: Tensor = self.change
        if self.allowed is not None:
            first = first.masked_fill(~self.allowed[0], -torch.inf)
            change = change.masked_fill(~self.allowed[1:], -torch.inf)
        best, origins = first + scores[:, 0], []
        for t in range(1, scores.shape[1]):
            following, origin = (best[:, :, None] + change).max(1)  # (B, V) twice
            best = torch.where(real[:, t, None], following + scores[:, t], best)
            origins.append(torch.where(real[:, t, None], origin, torch.arange(len(first), device=origin.device)))
        tags = [(best + self.last).argmax(1)]
        for origin in reversed(origins):
            tags.append(origin.gather(1, tags[-1][:, None])[:, 0])
        return Ids(torch.stack(tags[::-1], dim=1), output.lengths)


def _wide(scores: Seq) -> Tensor:
    """The scores without numbers in the padding, and not in a narrow type, in which long sums are rough."""
    return scores.filled().to(scores.values.dtype if scores.values.dtype == torch.float64 else torch.float32)


def _real(signal: Seq | Ids) -> Tensor:
    """(B, T), True at real steps."""
    shape = signal.values.shape[:2]
    return torch.ones(shape, dtype=torch.bool, device=signal.values.device) if signal.mask is None else signal.mask


def _allowed_by_bio(tokens: tuple[str, ...] | None) -> list[list[bool]]:
    """Whether BIO allows a tag at the start (row 0) and after each tag: I-x follows B-x or I-x alone."""
    if tokens is None or not any(tag == "O" or tag.startswith("B-") for tag in tokens):
        raise Invalid("bio", "the target has neither a tag O nor a tag B-..., so its tags are not BIO. Use bio: false.")
    inside = {tag: (f"B-{tag[2:]}", tag) for tag in tokens if tag.startswith("I-")}
    return [[tag not in inside or before in inside[tag] for tag in tokens] for before in ("", *tokens)]
