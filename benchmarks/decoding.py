"""Greedy decoding: tokens a second of this project, of a loop written by hand over the same weights, and of peers.

python -m benchmarks.decoding [--seconds 30] [--threads 2] [--tokens 512] [--batches 1 64] [--peers FOLDER]

Every model is an embedding, 4 layers of width 128 and a head over 256 tokens; the attention model has an mlp in every
layer. The hand-written loop is as lean as it can be: inference mode, activations without a time axis, the cache
allocated at once for all tokens and written in place, attention over a slice of it, torch's cells for the recurrences.
The peer of attention is x-transformers with its cache, that of the recurrences nn.GRU and nn.LSTM called a step at a
time.

    pip install --target FOLDER --no-deps x-transformers einops einx loguru frozendict torch-einops-utils
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.timing import best_times
from composer.core.signals import Field
from composer.decoding import greedy
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph

DIM, DEPTH, HEADS, VOCABULARY = 128, 4, 4, 256
FIELDS = {"target": Field("ids", vocabulary=VOCABULARY, start=0)}
PLAIN: dict[str, Any] = {"norm": None, "residual": False}
STACKS: dict[str, dict[str, Any]] = {
    "attention": {
        "mixer": {"type": "attention", "heads": HEADS},
        "ffn": "mlp",
        "norm": "layer",
        "position": {"type": "learned", "limit": 4096},
    },
    "gru": {"mixer": "gru", **PLAIN},
    "lstm": {"mixer": "lstm", **PLAIN},
    "mingru": {"mixer": "mingru", **PLAIN},
}

#: What generates so many tokens.
Decoder = Callable[[], Tensor]


def model(name: str) -> Graph:
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": DIM, "from": "target"},
        "decoder": {"kind": "stack", "depth": DEPTH, "from": "embedding", **STACKS[name]},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "predicts": "target"},
    }
    return compile_graph(nodes, FIELDS).materialise().eval()


def ours(graph: Graph, batch: int, tokens: int) -> Decoder:
    return lambda: greedy(graph, {}, "output", tokens, batch).values


# By hand --------------------------------------------------------------------------------------------------------------


def by_hand(graph: Graph, batch: int, tokens: int) -> Decoder:
    """The same weights in the leanest loop."""
    blocks: Any = [layer["mixer"].call.block for layer in graph.nodes["decoder"].layers]  # type: ignore[union-attr]
    embedding: Any = graph.nodes["embedding"]
    head: Any = graph.nodes["output"]
    table, project = embedding.weight.detach() * embedding.scale, linear(head.project)
    begin = LOOPS[type(blocks[0]).__name__]

    @torch.inference_mode()
    def decode() -> Tensor:
        step = begin(graph, blocks, batch, tokens)
        token, written = torch.zeros(batch, dtype=torch.long), []
        for t in range(tokens):
            x = step(F.embedding(token, table), t)
            token = torch.addmm(project[0], x, project[1]).argmax(-1)
            written.append(token)
        return torch.stack(written, dim=1)

    return decode


def linear(layer: nn.Linear) -> tuple[Tensor, Tensor]:
    """Bias and transposed weight, as addmm takes them."""
    return layer.bias.detach(), layer.weight.detach().t()


def attention_loop(graph: Any, blocks: list[Any], batch: int, tokens: int) -> Callable[[Tensor, int], Tensor]:
    stack, width = graph.nodes["decoder"], DIM // HEADS
    places = stack.position.block.table.detach() * stack.position.block.scale
    cache = torch.empty(
        DEPTH, 2, batch, HEADS, tokens, width
    )  # a head's steps side by side is what attention reads fastest
    layers = []
    for index, (block, slots) in enumerate(zip(blocks, stack.layers, strict=True)):
        ffn = slots["ffn"]
        norms = [(norm.weight.detach(), norm.bias.detach()) for norm in (slots["mixer"].norm.norm, ffn.norm.norm)]
        weights = [linear(part) for part in (block.project, block.output, ffn.call.block.rise, ffn.call.block.fall)]
        keys, values = cache[index]  # (B, H, S, K) each
        both = cache[index].transpose(0, 1)  # (B, 2, H, S, K)
        layers.append((*norms, *weights, both, keys, values))
    last = stack.norm.norm.weight.detach(), stack.norm.norm.bias.detach()

    def step(x: Tensor, t: int) -> Tensor:
        x = x + places[t]
        for first, second, project, output, rise, fall, both, keys, values in layers:
            h = F.layer_norm(x, (DIM,), *first)
            qkv = torch.addmm(project[0], h, project[1]).view(batch, 3, HEADS, width)
            both[:, :, :, t] = qkv[:, 1:]
            q = qkv[:, 0].unsqueeze(2)  # (B, H, 1, K)
            heads = F.scaled_dot_product_attention(q, keys[:, :, : t + 1], values[:, :, : t + 1])
            x = x + torch.addmm(output[0], heads.view(batch, DIM), output[1])
            h = F.gelu(torch.addmm(rise[0], F.layer_norm(x, (DIM,), *second), rise[1]))
            x = x + torch.addmm(fall[0], h, fall[1])
        return F.layer_norm(x, (DIM,), *last)

    return step


def gru_loop(graph: Any, blocks: list[Any], batch: int, tokens: int) -> Callable[[Tensor, int], Tensor]:
    weights = [tuple(parameter.detach() for parameter in block.cell.parameters()) for block in blocks]
    states = [torch.zeros(batch, DIM) for _ in blocks]

    def step(x: Tensor, t: int) -> Tensor:
        for index, cell in enumerate(weights):
            x = states[index] = torch.gru_cell(x, states[index], *cell)
        return x

    return step


def lstm_loop(graph: Any, blocks: list[Any], batch: int, tokens: int) -> Callable[[Tensor, int], Tensor]:
    weights = [tuple(parameter.detach() for parameter in block.cell.parameters()) for block in blocks]
    states = [(torch.zeros(batch, DIM), torch.zeros(batch, DIM)) for _ in blocks]

    def step(x: Tensor, t: int) -> Tensor:
        for index, cell in enumerate(weights):
            states[index] = torch.lstm_cell(x, states[index], *cell)
            x = states[index][0]
        return x

    return step


def mingru_loop(graph: Any, blocks: list[Any], batch: int, tokens: int) -> Callable[[Tensor, int], Tensor]:
    weights = [linear(block.project) for block in blocks]
    states = [torch.zeros(batch, DIM) for _ in blocks]

    def step(x: Tensor, t: int) -> Tensor:
        for index, (bias, weight) in enumerate(weights):
            gate, candidate = torch.addmm(bias, x, weight).chunk(2, dim=-1)
            x = states[index] = torch.lerp(states[index], candidate, torch.sigmoid(gate))
        return x

    return step


LOOPS: dict[str, Callable[..., Callable[[Tensor, int], Tensor]]] = {
    "Attention": attention_loop,
    "GRU": gru_loop,
    "LSTM": lstm_loop,
    "MinGRU": mingru_loop,
}


# Peers ----------------------------------------------------------------------------------------------------------------


def x_transformers(batch: int, tokens: int) -> Decoder:
    """A decoder of the same sizes, with its own cached generation."""
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    layers = Decoder(dim=DIM, depth=DEPTH, heads=HEADS, attn_dim_head=DIM // HEADS, attn_flash=True)
    net = TransformerWrapper(num_tokens=VOCABULARY, max_seq_len=tokens + 1, attn_layers=layers)
    peer = AutoregressiveWrapper(net).eval()
    prompt = torch.zeros(batch, 1, dtype=torch.long)
    return lambda: peer.generate(prompt, tokens, temperature=0.0, cache_kv=True)


def torch_nn(cell: type[nn.RNNBase], batch: int, tokens: int) -> Decoder:
    """torch's own recurrence of several layers, called a step at a time as its users do."""
    embedding, project = nn.Embedding(VOCABULARY, DIM), nn.Linear(DIM, VOCABULARY)
    layers = cell(DIM, DIM, num_layers=DEPTH, batch_first=True)  # type: ignore[call-arg, arg-type]

    @torch.inference_mode()
    def decode() -> Tensor:
        token, state, written = torch.zeros(batch, 1, dtype=torch.long), None, []
        for _ in range(tokens):
            x, state = layers(embedding(token), state)
            token = project(x).argmax(-1)
            written.append(token)
        return torch.cat(written, dim=1)

    return decode


def peer(name: str, batch: int, tokens: int) -> dict[str, Decoder]:
    if name == "attention" and importlib.util.find_spec("x_transformers") is not None:
        return {"x-transformers": x_transformers(batch, tokens)}
    cells: dict[str, type[nn.RNNBase]] = {"gru": nn.GRU, "lstm": nn.LSTM}
    return {f"nn.{name.upper()}": torch_nn(cells[name], batch, tokens)} if name in cells else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30, help="for each row of the table")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--models", nargs="+", default=list(STACKS), choices=list(STACKS))
    parser.add_argument("--peers", help="folder into which the peer was installed")
    options = parser.parse_args()
    if options.peers:
        sys.path.append(options.peers)
    torch.set_num_threads(options.threads)
    print(f"{options.tokens} tokens, {DEPTH} layers of {DIM}, {options.threads} threads, torch {torch.__version__}")
    print(f"{'model':<10} {'batch':>5} {'tokens/s':>9} {'us/step':>8} {'of by hand':>11}  times a peer")
    for name in options.models:
        for batch in options.batches:
            row(name, batch, options.tokens, options.seconds)


def row(name: str, batch: int, tokens: int, seconds: float) -> None:
    graph = model(name)
    contestants = {"ours": ours(graph, batch, tokens), "by hand": by_hand(graph, batch, tokens)}
    assert torch.equal(contestants["ours"](), contestants["by hand"]()), "they generate the same"
    contestants |= peer(name, batch, tokens)
    best = best_times(contestants, seconds)
    mine = best["ours"]
    line = f"{name:<10} {batch:>5} {batch * tokens / mine:>9.0f} {1e6 * mine / tokens:>8.0f} "
    others = [f"{best[other] / mine:.2f} x {other}" for other in list(best)[2:]]
    print(line + f"{best['by hand'] / mine:>11.2f}  {', '.join(others)}", flush=True)


if __name__ == "__main__":
    main()
