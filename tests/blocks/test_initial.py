"""How blocks begin: the sizes of their weights, and which positions a stack gets unless it is told."""

from __future__ import annotations

import pytest
import torch

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.block import Recipe
from composer.core.problems import Invalid
from composer.core.signals import Ids, Image, Seq, Vec

WIDTH = 256


def build(kind: str, name: str, *facts, **knobs):
    torch.manual_seed(0)
    return registry.blocks(kind)[name](*facts, **knobs)


def rms(values: torch.Tensor) -> float:
    return float(values.detach().square().mean().sqrt())


TOKENS = Ids(torch.randint(40, (8, 30), generator=torch.Generator().manual_seed(1)))
NOISE = torch.randn(8, 30, 12, generator=torch.Generator().manual_seed(2))
EMBEDDED = {
    "token": lambda: build("embedding", "token", 40, dim=WIDTH)(TOKENS).values,
    "continuous": lambda: build("embedding", "continuous", 12, dim_out=WIDTH)(Seq(NOISE))[0].values,
    "patches": lambda: build("embedding", "patches", 3, 8, 8, dim=WIDTH)(Image(torch.randn(4, 3, 8, 8))).values,
    "image_cnn": lambda: build("embedding", "image_cnn", 3, dim=WIDTH)(Image(torch.randn(4, 3, 16, 16))).values,
    "conv_stem": lambda: build("embedding", "conv_stem", 12, dim_out=WIDTH)(Seq(NOISE)).values,
    "cls": lambda: build("embedding", "cls", WIDTH)(Seq(torch.zeros(1, 0, WIDTH))).values,
    "learned": lambda: build("position", "learned", WIDTH)(Seq(torch.zeros(1, 30, WIDTH)))[0].values,
    "sinusoidal": lambda: build("position", "sinusoidal", WIDTH)(Seq(torch.zeros(1, 30, WIDTH)))[0].values,
    "bridge add": lambda: build("bridge", "add", WIDTH, 12)(Seq(torch.zeros(8, 1, WIDTH)), Vec(NOISE[:, 0])).values,
    "bridge prefix": lambda: build("bridge", "prefix", 12, WIDTH)(Vec(NOISE[:, 0])).values,
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_what_enters_a_stack_has_about_unit_size(name):
    """So that none of what is added together drowns another."""
    torch.manual_seed(3)
    assert 0.4 < rms(EMBEDDED[name]()) < 1.6


def test_a_head_that_is_tied_to_tokens_starts_with_logits_of_unit_size():
    tokens = build("embedding", "token", 40, dim=WIDTH)
    head = build("head", "categorical", WIDTH, 40, tied=tokens, bias=False)
    assert 0.8 < rms(head(Vec(NOISE.flatten()[: 8 * WIDTH].view(8, WIDTH))).values) < 1.2


@pytest.mark.parametrize(("name", "gates"), [("rnn", 1), ("gru", 3), ("lstm", 4)])
def test_recurrent_matrices_start_orthogonal_and_biases_at_zero(name, gates):
    cell = build("mixer", name, 16, None).cell
    matrices = cell.weight_hh_l0.split(16)
    assert len(matrices) == gates
    for matrix in matrices:
        torch.testing.assert_close(matrix @ matrix.T, torch.eye(16), atol=1e-5, rtol=0)
    biases = (cell.bias_ih_l0 + cell.bias_hh_l0).view(gates, 16)
    expected = [[0.0], [0.0], [0.0], [0.0]][:gates]
    if name == "lstm":
        expected[1] = [1.0]  # torch's second gate forgets: open
    torch.testing.assert_close(biases, torch.tensor(expected).expand(-1, 16))


# Positions ------------------------------------------------------------------------------------------------------------


def stack(mixer: str, position: str, **more):
    recipes = {
        "mixer": Recipe("mixer", mixer, registry.blocks("mixer")[mixer], {}, ""),
        "position": Recipe("position", position, registry.blocks("position")[position], {}, ""),
    }
    torch.manual_seed(0)
    return registry.blocks("stack")["stack"](8, None, None, True, **recipes, **more)


def knows_order(mixer: str) -> bool:
    """Whether the last step's output changes when the steps before it change places, without positions."""
    module = stack(mixer, "auto", depth=2)
    module.position = None
    x = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(5))
    swapped = x[:, [2, 0, 3, 1, 4, 5]]
    with torch.no_grad():
        one, other = (module(Seq(values))[0].values[:, -1] for values in (x, swapped))
    return not torch.allclose(one, other, atol=1e-5)


CAUSAL = [
    name
    for name, block in registry.blocks("mixer").items()
    if getattr(block, "causal", None) is not False and "memory_dim" not in Recipe("", "", block, {}, "").signature.facts
]


@pytest.mark.parametrize("mixer", CAUSAL)
def test_a_mixer_that_says_it_is_ordered_tells_steps_apart_without_positions(mixer):
    if getattr(registry.blocks("mixer")[mixer], "ordered", False):
        assert knows_order(mixer)


@pytest.mark.parametrize("mixer", CAUSAL)
def test_automatic_positions_come_to_mixers_that_need_them(mixer):
    ordered = getattr(registry.blocks("mixer")[mixer], "ordered", False)
    assert (stack(mixer, "auto").position is None) == ordered
    assert stack(mixer, "sinusoidal_rotary").position is not None


def test_sinusoidal_rotary_is_sinusoidal_outside_and_rotary_inside():
    both, rotary = (stack("attention", name, depth=1) for name in ("sinusoidal_rotary", "rotary"))
    rotary.load_state_dict(both.state_dict())
    waves = build("position", "sinusoidal", 8)
    x = Seq(torch.randn(2, 5, 8))
    torch.testing.assert_close(both(x)[0].values, rotary(waves(x)[0])[0].values)


def test_attention_that_cannot_rotate_gets_the_waves_alone():
    attention = registry.blocks("mixer")["attention"]
    auto = Recipe("position", "auto", registry.blocks("position")["auto"], {}, "")
    for knobs in ({"score": "additive"}, {"head_width": 3}):
        assert attention(8, True, position=auto, **knobs).position is None
    assert attention(8, True, position=auto).position is not None


# Data that chooses the blocks that read it ----------------------------------------------------------------------------

CHOSEN = {
    "sine": (["data=sine"], {"source_embedding": "continuous", "target_embedding": "continuous", "output": "gaussian"}),
    "adding": (["data=adding", "model=seq2vec"], {"embedding": "continuous", "output": "gaussian"}),
    "told": (["data=adding", "model=seq2vec", "embedding=conv_stem"], {"embedding": "conv_stem", "output": "gaussian"}),
    "words": (["data=reverse"], {"source_embedding": "token", "output": "categorical"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CHOSEN)
def test_data_of_numbers_chooses_its_embedding_and_head(case):
    overrides, expected = CHOSEN[case]
    composed = compose(overrides)
    nodes = composed.values["model"]["nodes"]
    assert {name: nodes[name]["type"] for name in expected} == expected
    compile_config(composed)


def test_sounds_in_one_folder_have_their_class_in_their_names(tmp_path):
    from composer.data.own.audio import audio

    for name in ("one/a_1.wav", "one/b_1.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    source = audio(path=str(tmp_path), valid=0.0)
    assert [record.values["target"] for record in source.records("train")] == ["a", "b"]
    (tmp_path / "two").mkdir()
    (tmp_path / "two/a_1.wav").touch()
    source = audio(path=str(tmp_path), valid=0.0)
    assert [record.values["target"] for record in source.records("train")] == ["one", "one", "two"]


@pytest.mark.parametrize("name", ["mingru", "minlstm"])
def test_a_timescale_spreads_the_first_memories_evenly_up_to_so_many_steps(name):
    """Without an input, a state of 1 is left with 1 - 1/u after a step, for u from 2 to the timescale."""
    block = build("mixer", name, 4096, None, timescale=100)
    with torch.no_grad():
        _, after = block(Seq(torch.zeros(1, 1, 4096)), {"h": torch.ones(1, 4096)})
    steps = 1 / (1 - after["h"][0].double())
    low, quarter, half, high = (float(torch.quantile(steps, share)) for share in (0.0, 0.25, 0.5, 1.0))
    assert 2 <= low < 3
    assert quarter == pytest.approx(2 + 0.25 * 98, abs=3)
    assert half == pytest.approx(2 + 0.5 * 98, abs=3)
    assert 98 < high <= 100.1


@pytest.mark.parametrize("name", ["mingru", "minlstm"])
def test_a_timescale_needs_biases(name):
    with pytest.raises(Invalid, match="bias is false"):
        build("mixer", name, 8, None, timescale=100, bias=False)
