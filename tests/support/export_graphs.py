"""Small graphs to export, which together hold every registered block: a new mixer joins by itself."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from composer.core import registry
from composer.core.block import Signature
from composer.core.signals import Contents, Field
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph

DIM = 8

#: Shorter than the sequences of the tests, so that every block of steps is crossed.
SHORT = {"chunk": 4, "window": 4, "stride": 3}

SOURCE = Field("ids", vocabulary=7, contents=Contents(tokens=tuple("abcdefg"), idf=(0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)))
TARGET = Field("ids", vocabulary=6, start=0, stop=1, contents=Contents(tokens=("<sos>", "<eos>", "a", "b", "c", "d")))


def needs_memory(name: str) -> bool:
    return sum(not port.optional for port in Signature.of(registry.blocks("mixer")[name]).ports.values()) > 1


def holds_another(name: str) -> bool:
    return "mixer" in Signature.of(registry.blocks("mixer")[name]).slots


MIXERS = [name for name in registry.blocks("mixer") if not needs_memory(name) and not holds_another(name)]
BACKWARD = [name for name in MIXERS if getattr(registry.blocks("mixer")[name], "causal", None) is False]
CAUSAL = [name for name in MIXERS if name not in BACKWARD]

INSIDE = cycle(["rotary", "alibi", "relative"])


def mixer(name: str) -> dict[str, Any]:
    """A mixer with small blocks of steps, and another position every time it has room for one."""
    signature = Signature.of(registry.blocks("mixer")[name])
    knobs: dict[str, Any] = {knob: size for knob, size in SHORT.items() if knob in signature.knobs}
    if "position" in signature.slots:
        knobs["position"] = next(INSIDE)
    return {"type": name, **knobs}


def layers(names: list[str]) -> dict[str, Any]:
    """The layers of a stack, one for every mixer."""
    made = {f"l{index}": {"mixer": mixer(name)} for index, name in enumerate(names)}
    return {"layers": made, "pattern": list(made), "depth": len(made)}


def language_model(names: list[str], **knobs: Any) -> Graph:
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": DIM, "from": "target"},
        "decoder": {"kind": "stack", "from": "embedding", **layers(names), **knobs},
        "output": {"kind": "head", "type": "categorical", "from": "decoder", "tied": "embedding", "predicts": "target"},
    }
    return compile_graph(nodes, {"target": TARGET})


def seq2vec(names: list[str], pool: str) -> Graph:
    nodes = {
        "embedding": {"kind": "embedding", "type": "token", "dim": DIM, "from": "source"},
        "encoder": {
            "kind": "stack",
            "from": "embedding",
            "causal": False,
            "norm": "rms",
            **layers(names),
        },
        "pool": {"kind": "pool", "type": pool, "from": "encoder"},
        "output": {"kind": "head", "type": "categorical", "from": "pool", "predicts": "label"},
    }
    return compile_graph(nodes, {"source": SOURCE, "label": Field("label", vocabulary=3)})


def seq2seq(encoder: str = "gru", decoder: str = "attention", head: str = "categorical") -> Graph:
    knobs = {} if needs_memory(decoder) else {"cross": "cross_attention"}
    reads = {"x": "decoder", "memory": "encoder", "ids": "source"} if head == "pointer" else "decoder"
    nodes = {
        "source_embedding": {"kind": "embedding", "type": "token", "dim": DIM, "from": "source"},
        "encoder": {"kind": "stack", "from": "source_embedding", "causal": False, "depth": 1, "mixer": encoder},
        "target_embedding": {"kind": "embedding", "type": "token", "dim": DIM, "from": "target"},
        "decoder": {
            "kind": "stack",
            "from": {"x": "target_embedding", "memory": "encoder"},
            "depth": 1,
            "mixer": decoder,
            "position": "sinusoidal" if head == "categorical" else "learned",
            "norm": "layer",
            "ffn": "mlp",
            **knobs,
        },
        "output": {"kind": "head", "type": head, "from": reads, "predicts": "target"},
    }
    return compile_graph(nodes, {"source": SOURCE, "target": TARGET})


def vec2seq() -> Graph:
    """A vector through every bridge, a decoder each, into a sequence of real values."""
    inside = {"initial": {"mixer": "mingru"}, "memory": {"cross": "cross_attention"}, "prefix": {"mixer": "attention"}}
    nodes: dict[str, Any] = {
        "embedding": {"kind": "embedding", "type": "continuous", "dim_out": DIM, "from": "target"},
    }
    for name, bridge in registry.blocks("bridge").items():
        knobs = inside.get(getattr(bridge, "enters", "input"), {"mixer": "identity"})
        ends = {"x": "embedding", "vector": "source"}
        nodes[name] = {"kind": "stack", "from": ends, "depth": 1, "bridge": name, **knobs}
    nodes["all"] = {"kind": "merge", "type": "add", "from": list(registry.blocks("bridge"))}
    nodes["output"] = {"kind": "head", "type": "gaussian", "from": "all", "predicts": "target"}
    return compile_graph(nodes, {"source": Field("vec", dim=3), "target": Field("seq", dim=2)})


def forecasters() -> Graph:
    """A series in units of its window: one head for all steps at once, and one that goes step by step."""
    nodes: dict[str, Any] = {
        "frame": {
            "kind": "embedding",
            "type": "continuous",
            "dim_out": DIM,
            "from": {"x": "source", "window": "source"},
        },
        "encoder": {"kind": "stack", "depth": 1, "mixer": "mingru", "from": "frame"},
        "direct": {"kind": "head", "type": "direct", "from": {"x": "encoder", "window": "source"}, "predicts": "all"},
        "late": {
            "kind": "embedding",
            "type": "continuous",
            "dim_out": DIM,
            "from": {"x": "target", "window": "source"},
        },
        "decoder": {"kind": "stack", "depth": 1, "mixer": "mingru", "from": "late"},
        "output": {
            "kind": "head",
            "type": "gaussian",
            "from": {"x": "decoder", "window": "source"},
            "predicts": "target",
        },
    }
    names = ("a", "b", "c")
    fields = {
        "source": Field("seq", dim=3, steps=6, contents=Contents(names=names)),
        "all": Field("seq", dim=2, steps=4, contents=Contents(names=names[1:])),
        "target": Field("seq", dim=2, contents=Contents(names=names[:2])),
    }
    return compile_graph(nodes, fields)


def many_inputs() -> Graph:
    """Words, frames and a picture, through what no other graph here has."""
    words = {"kind": "embedding", "type": "token", "dim": DIM, "from": "source"}
    example = getattr(registry.blocks("embedding")["pretrained"], "example", {})
    other = getattr(registry.blocks("pretrained")["graph"], "example", {})["run"].plain()
    other["fields"] = {name: {**known, "vocabulary": SOURCE.vocabulary} for name, known in other["fields"].items()}
    nodes: dict[str, Any] = {
        "words": words,
        "known": {"kind": "embedding", "type": "pretrained", "from": "source", "dim": DIM, **example},
        "layers": {"kind": "pretrained", "type": "graph", "from": "source", "dim": DIM, "run": other},
        "begun": {"kind": "embedding", "type": "cls", "from": "words"},
        "one_hot": {"kind": "embedding", "type": "one_hot", "from": "source"},
        "counts": {"kind": "embedding", "type": "bag_of_words", "from": "source"},
        "rare": {"kind": "embedding", "type": "tf_idf", "from": "source"},
        "stem": {"kind": "embedding", "type": "conv_stem", "from": "frames", "dim_out": DIM, "stride": 2},
        "frame": {"kind": "embedding", "type": "continuous", "from": "frames", "dim_out": DIM},
        "patches": {"kind": "embedding", "type": "patches", "from": "picture", "dim": DIM, "size": 2},
        "seen": {"kind": "embedding", "type": "image_cnn", "from": "picture", "dim": DIM, "filters": 4},
        "both": {"kind": "merge", "type": "append", "from": ["frame", "patches", "known"]},
        "turned": {"kind": "position", "type": "rotary", "from": "both"},
        "waved": {"kind": "position", "type": "sinusoidal_rotary", "from": "turned"},
        "auto": {"kind": "position", "type": "auto", "from": "waved"},
        "placed": {"kind": "position", "type": "learned", "from": "auto", "limit": 64},
        "gated": {"kind": "ffn", "type": "glu", "from": "placed"},
        "expert": {"kind": "ffn", "type": "mixture_of_experts", "from": "gated", "experts": 2, "active": 1},
        "first": {"kind": "pool", "type": "cls", "from": "begun"},
        "largest": {"kind": "pool", "type": "max", "from": "one_hot"},
        "mean": {"kind": "pool", "type": "mean", "from": "expert"},
        "last": {"kind": "pool", "type": "last", "from": "frame"},
        "weighed": {"kind": "pool", "type": "tf_idf", "from": {"x": "words", "ids": "source"}},
        "asked": {"kind": "pool", "type": "attention", "from": "words"},
        "taken": {"kind": "pool", "type": "mean", "from": "layers"},
        "spelled": {"kind": "embedding", "type": "characters", "from": "spelling", "dim": DIM, "mixer": "conv",
                    "pool": "max"},
        "written": {"kind": "pool", "type": "mean", "from": "spelled"},
    }  # fmt: skip
    vectors = ["written", "counts", "rare", "seen", "first", "largest", "mean", "last", "weighed", "asked", "taken"]
    nodes["everything"] = {"kind": "merge", "type": "concat", "from": vectors}
    nodes["labels"] = {"kind": "head", "type": "bernoulli", "from": "everything", "predicts": "topics"}
    nodes["letters"] = {"kind": "head", "type": "ctc", "from": "stem", "predicts": "spoken"}
    nodes["tagged"] = {"kind": "head", "type": "crf", "from": "words", "predicts": "tags"}
    nodes["around"] = {"kind": "head", "type": "negative_sampling", "from": "words", "predicts": "near"}
    fields = {
        "source": SOURCE,
        "spelling": Field("spelling", vocabulary=6, width=5),
        "tags": Field("ids", vocabulary=4, axis="source"),
        "near": Field("ids", vocabulary=5, axis="source", contents=Contents(frequency=(0.2,) * 5)),
        "frames": Field("seq", dim=3),
        "picture": Field("image", channels=1, height=4, width=4),
        "topics": Field("vec", dim=4),
        "spoken": Field("ids", vocabulary=5),
    }
    return compile_graph(nodes, fields)


def groups(names: list[str], size: int) -> list[list[str]]:
    return [names[start : start + size] for start in range(0, len(names), size)]


def graphs() -> dict[str, Graph]:
    """By name, on the meta device."""
    found = {f"language model of {' '.join(names)}": language_model(names) for names in groups(CAUSAL, 5)}
    found["seq2vec"] = seq2vec([*BACKWARD, "sliding_window"], "mean")
    for name in filter(needs_memory, registry.blocks("mixer")):
        found[f"seq2seq with {name}, which copies"] = seq2seq("identity", name, "pointer")
    found["vec2seq"] = vec2seq()
    found["forecasters"] = forecasters()
    found["many inputs"] = many_inputs()
    return found
