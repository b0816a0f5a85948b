"""FLOPs of training at the lengths of the data, against counts by hand from the equations of the blocks."""

from collections import Counter

import pytest

from composer.config.composition import compose
from composer.core.capabilities import offers
from composer.graph import flops
from composer.graph.describe import count_flops
from composer.graph.flops import row_flops, time_axes, total_flops
from composer.studies.planning.budget import training_size
from composer.training.run.feed import TrainingRows
from composer.training.run.plan import prepare

D, HEADS, HIDDEN, ROWS, SYMBOLS = 8, 2, 32, 3, 50
K = D // HEADS
TIMES = [32, 128, 512, 2048]
SIZES = [f"model.dim={D}", f"training.batch={ROWS}", "ffn=mlp", "ffn.expansion=4", "position=none"]


def product(*sizes):
    """Two FLOPs for every multiply-add."""
    result = 2
    for size in sizes:
        result *= size
    return result


def attention(time, keys):
    """Q, K, V and the output; then for every query the scores and the weighted sum over the keys in its reach."""
    return 4 * product(time, D, D) + HEADS * 2 * product(time, keys, K)


#: FLOPs of a mixer over a row, by hand. causal: whether it reads the past alone
MIXERS = {
    "attention": lambda time, causal: attention(time, time),
    "sliding_window": lambda time, causal: attention(time, min(time, 64 if causal else 127)),
    # three gates, each with a matrix for the input and one for the state; both directions where it is not causal
    "gru": lambda time, causal: (1 if causal else 2) * 3 * 2 * product(time, D, D),
    "mingru": lambda time, causal: (1 if causal else 2) * 2 * product(time, D, D),
    # 2 Re(C . h) over 32 complex states a channel, and the output layer with twice the width for its gate
    "s4d": lambda time, causal: (1 if causal else 2) * (product(time, D, 2 * 32) + product(time, D, 2 * D)),
    # q, k, v and the output; k v^T and q S in every head, where v has one more feature for the normaliser
    "linear_attention": lambda time, causal: 4 * product(time, D, D) + HEADS * 2 * product(time, K, K + 1),
    # with a gate; k v^T and q S in every head
    "retention": lambda time, causal: (
        (1 if causal else 2) * (5 * product(time, D, D) + HEADS * 2 * product(time, K, K))
    ),
}


def mlp(time):
    return product(time, D, HIDDEN) + product(time, HIDDEN, D)


def prepared(mixer, *overrides):
    heads = (
        [f"mixer.heads={HEADS}"] if mixer in ("attention", "sliding_window", "linear_attention", "retention") else []
    )
    return prepare(compose([f"mixer={mixer}", *heads, *SIZES, *overrides]))


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("mixer", MIXERS)
def test_a_tagger_counts_every_step_once(mixer, time):
    data = ["data=associative_recall", f"data.pairs={3 * time // 8}", f"data.queries={time // 4}", "data.keys=2000"]
    plan = prepared(mixer, "model=tagger", *data, "model.nodes.encoder.depth=1")
    values = plan.meta.plan.targets["target"].vocabulary
    row = MIXERS[mixer](time, False) + mlp(time) + product(time, D, values)
    assert training_size("train_flops", plan) == 3 * ROWS * row


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("mixer", MIXERS)
def test_an_encoder_decoder_counts_source_and_target(mixer, time):
    data = ["data=reverse", f"data.length={time}", f"data.min_length={time}"]
    depths = ["model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1", f"cross.heads={HEADS}"]
    plan = prepared(mixer, *data, *depths)
    ((source, target),) = TrainingRows.of_steps(plan).counts
    assert {source, target} <= {time, time + 1}  # with or without <eos>
    encoder = MIXERS[mixer](source, False) + mlp(source)
    cross = 2 * product(target, D, D) + 2 * product(source, D, D) + HEADS * 2 * product(target, source, K)
    decoder = MIXERS[mixer](target, True) + cross + mlp(target)
    output = product(target, D, plan.meta.plan.targets["target"].vocabulary)
    assert training_size("train_flops", plan) == 3 * ROWS * (encoder + decoder + output)


def test_rows_count_at_their_own_lengths_however_they_are_batched():
    """Rows of different lengths in batches of any size, sorted or not: the sum over rows, without their padding."""
    data = ["data=reverse", "data.length=40", "data.train_size=64"]
    batched = (["training.batch=16"], ["training.batch=16", "training.accumulate=2"], ["training.batch=64"])
    plans = [prepared("attention", *data, *more) for more in batched]
    rows = [TrainingRows.of_steps(plan, steps=64 // plan.training.batch) for plan in plans]
    assert rows[0].counts == rows[1].counts == rows[2].counts
    graph, axes = plans[0].meta, time_axes(plans[0].meta)
    one_by_one = sum(
        number * sum(row_flops(graph, dict(zip(axes, lengths, strict=True))).values())
        for lengths, number in rows[0].counts.items()
    )
    assert total_flops(graph, rows[0].counts) == one_by_one
    assert len(rows[0].counts) > 20


@pytest.mark.parametrize("overrides", [
    ["mixer=sliding_window", "model=tagger", "data=associative_recall", "mixer.window=16"],
    ["mixer=sparse", "model=tagger", "data=associative_recall", "mixer.stride=8"],
    ["mixer=attention", "position=alibi", "model=language_model", "data=python_docs"],
    ["mixer=attention", "mixer.score=concat", "model=language_model", "data=python_docs"],
    ["model=seq2vec", "data=tones", "mixer=gru"],
    ["mixer=mingru", "data=reverse"],
])  # fmt: skip
def test_few_counts_give_what_counting_every_length_gives(overrides, monkeypatch):
    graph = prepare(compose([*overrides, "model.dim=16"])).meta
    axes = time_axes(graph)
    rows = Counter({tuple(7 + (5 * i + 3 * i * axis) % 33 for axis in range(len(axes))): 1 + i % 3 for i in range(24)})
    counted = []
    count = flops._count
    monkeypatch.setattr(flops, "_count", lambda graph, lengths: counted.append(lengths) or count(graph, lengths))
    total = total_flops(graph, rows)
    assert len(counted) <= 9
    every = [sum(row_flops(graph, dict(zip(axes, lengths, strict=True))).values()) for lengths in rows]
    assert total == sum(number * each for number, each in zip(rows.values(), every, strict=True))


def test_a_graph_whose_products_are_no_polynomial_is_counted_at_every_length():
    """A convolution with a stride has an output for every second step, rounded up."""
    graph = prepare(
        compose(["model=seq2vec", "data=tones", "embedding=conv_stem", "embedding.stride=2", "model.dim=16"])
    ).meta
    rows = {(length,): 1 for length in range(20, 51)}
    every = [sum(row_flops(graph, dict.fromkeys(time_axes(graph), length)).values()) for (length,) in rows]
    assert total_flops(graph, rows) == sum(every)
    steps = [every[i + 1] - every[i] for i in range(len(every) - 1)]
    assert len(set(steps)) > 1


def test_what_a_block_declares_is_what_it_computes_where_nothing_is_padded():
    """At a single chunk without a mask, the declared FLOPs of self-attention are the counted ones."""
    graph = prepare(compose(["mixer=attention", "model=tagger", "data=associative_recall", "model.dim=16"])).meta
    declaring = [module for module in graph.modules() if offers(module, "flops")]
    assert declaring
    declared = count_flops(graph, 24)
    for module in declaring:
        object.__setattr__(module, "flops", None)
    assert count_flops(graph, 24) == declared
