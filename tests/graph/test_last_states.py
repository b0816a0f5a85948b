"""The last state of every layer of one stack begins the layer of the same number of another stack."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from composer.core.problems import ConfigError
from composer.core.signals import Field, Ids
from composer.decoding import Settings, generate
from composer.graph.compiler import compile_graph
from composer.testing import LAWS, graph_subject, hold

FIELDS = {"source": Field("ids", vocabulary=9), "target": Field("ids", vocabulary=7, start=0, stop=1)}
PLAIN = {"kind": "stack", "residual": False, "depth": 2}
D = 4


def nodes(mixer="lstm", encoder=None, decoder=None, reads=None):
    """An encoder whose last states begin the decoder."""
    return {
        "source_embedding": {"kind": "embedding", "type": "token", "dim": D, "from": "source"},
        "encoder": {**PLAIN, "mixer": mixer, "states": True, "from": "source_embedding", **(encoder or {})},
        "target_embedding": {"kind": "embedding", "type": "token", "dim": D, "from": "target"},
        "decoder": {**PLAIN, "mixer": mixer, "from": reads or {"x": "target_embedding", "states": "encoder"}}
        | (decoder or {}),
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }


def compiled(config, seed=1):
    return compile_graph(config, FIELDS).materialise(seed).double()


def problem(config):
    with pytest.raises(ConfigError) as caught:
        compile_graph(config, FIELDS)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def test_equals_torch_s_deep_lstm_whose_states_are_handed_on():
    graph = compiled(nodes())
    twins = {}
    for name in ("encoder", "decoder"):
        twin = twins[name] = nn.LSTM(D, D, 2, batch_first=True).double()
        with torch.no_grad():
            for index, layer in enumerate(graph.nodes[name].layers):
                for key, weight in layer["mixer"].call.block.cell.named_parameters():
                    getattr(twin, key.replace("_l0", f"_l{index}")).copy_(weight)
    source = Ids(torch.randint(9, (3, 6)), torch.tensor([6, 2, 4]))
    target = Ids(torch.randint(7, (3, 5)), torch.tensor([5, 3, 1]))
    found = graph.run({"source": source, "target": target})
    packed = pack_padded_sequence(found["source_embedding"].values, source.lengths, True, enforce_sorted=False)
    _, last = twins["encoder"](packed)
    expected, _ = twins["decoder"](found["target_embedding"].values, last)
    mask = target.mask[..., None]
    torch.testing.assert_close(found["decoder"].values * mask, expected * mask)
    gradients = []
    for y in (found["decoder"].values, expected):
        parameters = list(graph.nodes["source_embedding"].parameters())
        gradients.append(torch.autograd.grad((y * mask).square().sum(), parameters, retain_graph=True)[0])
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("mixer", ["lstm", "gru", "rg_lru"])
def test_a_graph_with_handed_states_obeys_the_laws(mixer):
    subject = graph_subject(compiled(nodes(mixer, decoder={"norm": "layer", "ffn": "mlp", "residual": True})))
    hold(subject, [law for law in LAWS if law not in ("export", "signals")])


def test_the_layers_may_read_the_sequence_as_a_memory_too():
    reads = {"x": "target_embedding", "states": "encoder", "memory": "encoder"}
    subject = graph_subject(compiled(nodes(decoder={"cross": "cross_attention"}, reads=reads)))
    hold(subject, [law for law in LAWS if law not in ("export", "signals")])


@pytest.mark.slow
def test_a_graph_with_handed_states_exports():
    LAWS["export"](graph_subject(compiled(nodes())))


@pytest.mark.parametrize("beams", [1, 3])
def test_every_row_is_decoded_from_its_own_states(beams):
    graph = compiled(nodes()).eval()
    settings = Settings(search="beam", beams=beams, length=5) if beams > 1 else Settings(length=5)
    source = Ids(torch.randint(9, (3, 6)), torch.tensor([6, 2, 4]))
    together = generate(graph, {"source": source}, settings)
    for row in range(3):
        length = int(source.lengths[row])
        alone = generate(graph, {"source": Ids(source.values[row : row + 1, :length])}, settings)
        assert together.rows[row][0].tokens.tolist() == alone.rows[0][0].tokens.tolist()
        assert together.rows[row][0].log_probability == pytest.approx(alone.rows[0][0].log_probability)


def test_the_order_of_the_source_reaches_every_layer_of_the_decoder():
    """Without the states the decoder does not depend on the source at all: it has no other way in."""
    graph = compiled(nodes())
    found = graph.run({"source": Ids(torch.randint(9, (2, 6))), "target": Ids(torch.randint(7, (2, 5)))})
    for layer, state in found["encoder"].states.items():
        for leaf in state.values():
            (gradient,) = torch.autograd.grad(found["output"].values.sum(), leaf, retain_graph=True)
            assert gradient.abs().max() > 0, layer


@pytest.mark.parametrize(
    ("config", "path", "message"),
    [
        (nodes(encoder={"states": False}), "decoder.from", "what comes in at the port 'states' has no states"),
        (nodes(encoder={"causal": False}), "encoder", "a layer that reads both directions has none"),
        (nodes("attention"), "encoder", "without a fixed size"),
        (nodes("identity"), "encoder", "no layer has a state"),
        (nodes(decoder={"depth": 3}), "decoder.from", "states of 2 layers come in, but 3 layers begin"),
        (nodes(decoder={"mixer": "gru"}), "decoder.from", "mixer of layer 1 begins with 'h' of the width 4"),
        (
            nodes("mingru", decoder={"mixer": {"type": "mingru", "expansion": 2}}),
            "decoder.from",
            "begins with 'h' of the width 8, but the last state that comes in has 'h' of the width 4",
        ),
        (
            nodes(reads={"x": "target_embedding", "states": "source_embedding"}, encoder={"states": False}),
            "decoder.from",
            "what comes in at the port 'states' has no states",
        ),
    ],
)  # fmt: skip
def test_states_that_cannot_begin_the_layers_are_a_problem(config, path, message):
    if config["decoder"]["from"]["states"] == "source_embedding":
        del config["encoder"]
    found = problem(config)
    assert found.path == f"model.nodes.{path}"
    assert message in found.message


def test_states_of_what_has_to_be_predicted_are_refused():
    config = nodes(reads={"x": "target_embedding", "states": "encoder"})
    config["encoder"]["from"] = "target_embedding"
    del config["source_embedding"]
    assert "reads the future" in problem(config).message
