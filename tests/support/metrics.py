"""Graphs of every family to evaluate, examples drawn by a test, and a metric's value of what was seen."""

from types import SimpleNamespace

import pytest
import torch

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core.signals import Contents, Field, Ids, Label, Timed
from composer.core.target import Target
from composer.decoding import Generated, decode
from composer.metrics import HeadBatch, find_metric, head_batches
from composer.objectives import Batch, Objective

SMALL = ["model.dim=8", "mixer=gru"]

TAGS = "loss accuracy accuracy_over_commonest top5_accuracy macro_f1 exact"

#: Small graphs of every family, and the metrics that fit them.
FAMILIES = {
    "generated tokens": (
        ["data=copy", "data.symbols=5", "data.length=4"],
        "loss perplexity token_accuracy exact wer",
    ),
    "generated text": (
        ["data=dates", "data.locales=[en]", "data.train_size=50", "data.valid_size=50"],
        "loss perplexity bits_per_character token_accuracy exact bleu chrf cer wer",
    ),
    "language model": (
        ["data=copy", "model=language_model", "data.symbols=5", "data.length=4"],
        "loss perplexity token_accuracy",
    ),
    "tags": (["data=associative_recall", "model=tagger"], TAGS),
    "tags together": (["data=associative_recall", "model=tagger", "head=crf"], TAGS),
    "label": (["data=parity", "model=seq2vec", "data.length=6"], "loss accuracy accuracy_over_commonest macro_f1"),
    "alignment": (
        ["data=selective_copying", "data.aligned=false", "data.length=12", "data.copied=3", "model=tagger", "head=ctc"],
        "loss exact wer",
    ),
    "forecast": (
        ["data=sine", "head=gaussian", "embedding=continuous", "data.length=6", "data.horizon=4"],
        "loss mse mae mse_over_naive mae_over_naive",
    ),
    "numbers": (
        ["data=adding", "model=seq2vec", "head=gaussian", "embedding=continuous"],
        "loss mse mae mse_over_naive",
    ),
    "there or not": (
        ["data=adding", "model=seq2vec", "head=bernoulli", "embedding=continuous"],
        "loss accuracy micro_f1 macro_f1",
    ),
}
FAMILIES |= {
    "masked text": (
        ["data=python_docs", "data.length=24", "model=tagger", "objective=masked_token"],
        "loss perplexity token_accuracy",
    ),
    "damaged text": (
        ["data=python_docs", "data.length=24", "model=seq2seq", "objective=denoising"],
        "loss perplexity bits_per_character token_accuracy exact bleu chrf cer wer",
    ),
    "next token": (
        ["data=python_docs", "data.length=24", "model=language_model", "objective=next_token"],
        "loss perplexity bits_per_character token_accuracy",
    ),
}
_built = {}


def generates(monkeypatch, answer):
    """Let every graph generate ``answer(batch, options)`` where it is evaluated."""

    def decoded(graph, head, batch, options, output=None):
        return decode(graph, head, batch, options, output) if options.forced else Generated(answer(batch, options))

    monkeypatch.setattr(head_batches, "decode", decoded)


def family(name):
    if name not in _built:
        graph, objective = compile_config(compose([*FAMILIES[name][0], *SMALL]))
        _built[name] = graph.materialise(), objective
    return _built[name]


def close(found, wanted, tolerance=1e-9):
    assert list(found) == list(wanted)
    for name in found:
        assert found[name] == pytest.approx(wanted[name], rel=tolerance, abs=tolerance, nan_ok=True), name


TARGETS = {
    "ids": Field(
        "ids", vocabulary=7, start=0, stop=1, contents=Contents(tokens=tuple("^$abcde"), frequency=(1 / 7,) * 7)
    ),
    "seq": Field("seq", dim=3),
    "vec": Field("vec", dim=3),
    "label": Field("label", vocabulary=4, contents=Contents(frequency=(0.25,) * 4)),
}
SOURCE = Field("ids", vocabulary=7, contents=Contents(tokens=tuple("^$abcde")))


class Drawn(Objective):
    """Random examples of any fields, ragged; a row is the same in every batch."""

    source = SimpleNamespace(repeats={})

    def __init__(self, fields, rows=24):
        self._fields = fields
        generator = torch.Generator().manual_seed(3)
        lengths = {name: torch.randint(2, 9, (rows,), generator=generator) for name in fields}
        self.signals = {}
        for name, field in fields.items():
            own = lengths[field.axis or name] + (2 if field.axis is None and name == "source" else 0)
            if field.axis == "source":
                own = own + 2
            shape = field.example(rows, int(own.max())).values.shape
            if field.vocabulary is not None:
                values = torch.randint(field.vocabulary, shape, generator=generator)
            else:
                values = torch.randn(shape, generator=generator)
            signal = field.example(rows, 1)
            self.signals[name] = type(signal)(values, own) if isinstance(signal, Timed) else type(signal)(values)

    @property
    def fields(self):
        return self._fields

    def batch(self, split, rows, epoch=0):
        rows = list(rows)
        return Batch({name: taken(signal, rows) for name, signal in self.signals.items()})

    def show(self, field, signal):
        tokens = self.fields[field].contents.tokens
        if isinstance(signal, Ids):
            rows = [row[:n] for row, n in zip(signal.values.tolist(), signal.counts.tolist(), strict=True)]
            return ["".join(tokens[i] for i in row).partition("$")[0] for row in rows]
        return [str(row) for row in signal.values.tolist()]


def taken(signal, rows):
    """Rows of a signal, no wider than the longest of them."""
    if not isinstance(signal, Timed):
        return type(signal)(signal.values[rows])
    lengths = signal.counts[rows]
    return type(signal)(signal.values[rows][:, : int(lengths.max())], lengths)


def seen(target, found, weight=None, losses=None, field=None, given=(), show=None):
    timed = isinstance(target, Timed)
    shape = target.values.shape[: 2 if timed else 1]
    if weight is None:
        weight = torch.ones(shape) if not timed or target.mask is None else target.mask
    losses = torch.zeros(shape) if losses is None else losses
    return HeadBatch(field, losses.double(), weight.double(), target, found, dict(given), show)


def metric(name, field, given=(), **about):
    return find_metric(name)(Target("target", field, dict(given), **about))


def value(metric, *views):
    return float(metric.value(sum(metric.rows(view).sum(0) for view in views)))


def of_texts(name, wanted, found):
    both = [*wanted, *found]
    places = torch.arange(len(wanted))
    view = seen(Label(places), Label(places + len(wanted)), show=lambda s: [both[i] for i in s.values])
    return value(metric(name, TARGETS["ids"], aligned=False), view)
