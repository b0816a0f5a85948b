"""Random graphs that are right by construction, and ways to break one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from composer.core import registry
from composer.core.binding import bind_block
from composer.core.block import Recipe, Signature
from composer.core.problems import ConfigError, Report
from composer.core.signals import Field
from composer.graph.combinators.bidirectional import one_way
from composer.testing.strategies import block_configs

WIDTHS = [4, 8]


@dataclass
class Wire:
    """A signal that a further node can read."""

    name: str
    kind: str
    dim: int | None
    axis: str | None
    generated: bool  # depends on what is predicted


@dataclass
class Draft:
    """A graph in the making."""

    fields: dict[str, Field]
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)

    def add(self, config: dict[str, Any], output: Wire) -> Wire:
        self.nodes[output.name] = config
        self.wires.append(output)
        return output


FIELDS = st.fixed_dictionaries(
    {"target": st.sampled_from([Field("ids", vocabulary=7, start=0, stop=1), Field("seq", dim=3)])},
    optional={
        "source": st.sampled_from([Field("ids", vocabulary=5), Field("seq", dim=2), Field("vec", dim=4)]),
        "other": st.sampled_from([Field("ids", vocabulary=6), Field("vec", dim=3)]),
        "label": st.just(Field("label", vocabulary=4)),
    },
)


@st.composite
def graphs(
    draw: st.DrawFn, size: int = 5, fields: st.SearchStrategy[dict[str, Field]] = FIELDS
) -> tuple[dict[str, Any], dict[str, Field]]:
    """Nodes and fields of a valid graph: some embeddings, some nodes wired at random, one or two heads."""
    draft = Draft(draw(fields))
    width = draw(st.sampled_from(WIDTHS))
    for name, known in draft.fields.items():
        if known.kind == "label":
            continue
        wire = Wire(name, known.kind, known.dim, name if known.timed else None, name == "target")
        if known.timed:
            _embed(draft, wire, width)
        else:
            draft.wires.append(wire)
    for index in range(draw(st.integers(0, size))):
        draw(st.sampled_from(GROWERS))(draw, draft, f"n{index}")
    _add_heads(draw, draft)
    return _pruned(draft.nodes), draft.fields


def _embed(draft: Draft, wire: Wire, width: int) -> None:
    config = (
        {"kind": "embedding", "type": "token", "dim": width}
        if wire.kind == "ids"
        else {"kind": "embedding", "type": "continuous", "dim_out": width}
    )
    draft.add({**config, "from": wire.name}, Wire(f"embedded_{wire.name}", "seq", width, wire.axis, wire.generated))


def _pick(draw: st.DrawFn, draft: Draft, fits: Callable[[Wire], bool]) -> Wire | None:
    found = [wire for wire in reversed(draft.wires) if fits(wire)]
    return draw(st.sampled_from(found)) if found else None


def _add_stack(draw: st.DrawFn, draft: Draft, name: str) -> None:
    """A stack of random depth, slots, order, pattern; with a memory and a vector where there are any to read."""
    x = _pick(draw, draft, lambda wire: wire.kind == "seq")
    if x is None:
        return
    config: dict[str, Any] = {"kind": "stack", "depth": draw(st.integers(1, 3)), "from": {"x": x.name}}
    config |= {"order": draw(st.sampled_from(["pre", "post"])), "residual": draw(st.booleans())}
    config |= {"norm": draw(st.none() | block_configs("norm")), "share": draw(st.booleans())}
    config["causal"] = x.generated or draw(st.booleans())
    mixers = [draw(_mixers(config["causal"])) for _ in range(2)]
    if draw(st.booleans()):
        config |= {"mixer": mixers[0], "ffn": draw(st.none() | _working("ffn"))}
    else:
        config["layers"] = {"a": {"mixer": mixers[0]}, "b": {"mixer": mixers[1], "ffn": draw(_working("ffn"))}}
        config |= {"pattern": draw(st.sampled_from([["a", "b"], ["a", "a", "b"]])), "depth": draw(st.integers(3, 4))}
    memory = _pick(draw, draft, lambda wire: wire.kind == "seq" and not wire.generated)
    needs = any("memory" in Signature.of(registry.blocks("mixer")[m["type"]]).ports for m in mixers)
    if memory is not None and not needs and draw(st.booleans()):
        config["cross"] = draw(_working("cross"))
        config["from"]["memory"] = memory.name
    vector = _pick(draw, draft, lambda wire: wire.kind == "vec" and not wire.generated)
    if vector is not None and draw(st.booleans()):
        config["bridge"] = draw(_bridges())
        config["from"]["vector"] = vector.name
    width = x.dim
    plain = not (config["causal"] or config["residual"] or config["share"])
    if plain and "mixer" in config and one_way(_recipe("mixer", mixers[0])):
        config["join"] = draw(st.sampled_from(["sum", "mean", "concat"]))
        width *= 2 if config["join"] == "concat" else 1
    draft.add(config, Wire(name, "seq", width, x.axis, x.generated))


def _working(kind: str, depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Blocks whose knobs go together at both widths, and which need one input; for the cross slot, a memory, too."""
    memory = kind == "cross"

    def works(config: dict[str, Any]) -> bool:
        found = _recipe(kind, config)
        if sum(not port.optional for port in found.signature.ports.values()) > 1 + memory:
            return False
        try:
            for dim in WIDTHS:
                found.build(dim=dim, memory_dim=dim if memory else None, causal=True)
        except ConfigError:
            return False
        return True

    return block_configs(kind, depth).filter(works)


def _recipe(kind: str, config: dict[str, Any]) -> Recipe:
    found = bind_block(kind, config, kind, Report())
    assert found is not None, config
    return found


def _fits_stack(config: dict[str, Any], causal: bool) -> bool:
    """Mixers that keep their width, need no memory and can look the way that is asked for."""
    block = registry.blocks("mixer")[config["type"]]
    signature = Signature.of(block)
    one_way = getattr(block, "causal", None) is not False or not causal
    memory = signature.ports.get("memory")
    divides = all(config.get(key, 1) in (1, 2, 4) for key in ("heads",))
    return one_way and (memory is None or memory.optional) and config.get("join") != "concat" and divides


def _mixers(causal: bool) -> st.SearchStrategy[dict[str, Any]]:
    return _working("mixer", depth=1).filter(lambda config: _fits_stack(config, causal))


def _bridges() -> st.SearchStrategy[dict[str, Any]]:
    """Bridges that change the input: they go with any mixer."""
    return block_configs("bridge").filter(
        lambda config: getattr(registry.blocks("bridge")[config["type"]], "enters", "input") == "input"
    )


def _add_mixer(draw: st.DrawFn, draft: Draft, name: str) -> None:
    x = _pick(draw, draft, lambda wire: wire.kind == "seq")
    if x is not None:
        config = draw(_mixers(x.generated))
        draft.add({"kind": "mixer", "from": x.name, **config}, Wire(name, "seq", x.dim, x.axis, x.generated))


def _add_step(draw: st.DrawFn, draft: Draft, name: str) -> None:
    x = _pick(draw, draft, lambda wire: wire.kind == "seq")
    if x is not None:
        kind = draw(st.sampled_from(["ffn", "norm"]))
        config = draw(_working(kind))
        draft.add({"kind": kind, "from": x.name, **config}, Wire(name, "seq", x.dim, x.axis, x.generated))


def _add_sum(draw: st.DrawFn, draft: Draft, name: str) -> None:
    """A skip connection, or two widths side by side."""
    x = _pick(draw, draft, lambda wire: wire.kind == "seq")
    y = x and _pick(draw, draft, lambda wire: wire.kind == "seq" and wire.axis == x.axis)
    if x is None or y is None:
        return
    same = x.dim == y.dim and draw(st.booleans())
    width = x.dim if same else x.dim + y.dim
    draft.add(
        {"kind": "merge", "type": "add" if same else "concat", "from": [x.name, y.name]},
        Wire(name, "seq", width, x.axis, x.generated or y.generated),
    )


def _add_pool(draw: st.DrawFn, draft: Draft, name: str) -> None:
    x = _pick(draw, draft, lambda wire: wire.kind == "seq" and not wire.generated)
    if x is not None:
        draft.add({"kind": "pool", "from": x.name, **draw(_working("pool"))}, Wire(name, "vec", x.dim, None, False))


GROWERS = [_add_stack, _add_stack, _add_mixer, _add_step, _add_sum, _add_pool]


def _add_heads(draw: st.DrawFn, draft: Draft) -> None:
    wire = _pick(draw, draft, lambda wire: wire.axis == "target" and wire.kind == "seq")
    assert wire is not None
    fields = draft.fields
    kind = "categorical" if fields["target"].kind == "ids" else "gaussian"
    head: dict[str, Any] = {"kind": "head", "type": kind, "from": wire.name, "predicts": "target"}
    if kind == "categorical" and draft.nodes["embedded_target"]["dim"] == wire.dim and draw(st.booleans()):
        head["tied"] = "embedded_target"
    draft.nodes["output"] = head
    vector = _pick(draw, draft, lambda wire: wire.kind == "vec")
    if "label" in fields and vector is not None:
        draft.nodes["second"] = {"kind": "head", "type": "categorical", "from": vector.name, "predicts": "label"}


def _pruned(nodes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Without the nodes that nothing reads."""
    while True:
        read = {name for node in nodes.values() for name in sources(node)} | {
            node.get("tied") for node in nodes.values()
        }
        kept = {name: node for name, node in nodes.items() if name in read or node["kind"] == "head"}
        if len(kept) == len(nodes):
            return nodes
        nodes = kept


def sources(node: dict[str, Any]) -> list[str]:
    given = node["from"]
    values = given.values() if isinstance(given, dict) else given if isinstance(given, list) else [given]
    return list(values)


Nodes = dict[str, Any]
JUNK = [None, 7, -1, 2.5, "junk", True, [], ["x"], {}, {"a": 1}, [None], float("nan")]


@st.composite
def corruptions(draw: st.DrawFn) -> tuple[Nodes, dict[str, Field], str]:
    """A valid graph with one thing broken, and what was broken."""
    nodes, fields = draw(graphs())
    nodes = copy.deepcopy(nodes)
    name = draw(st.sampled_from(sorted(nodes)))
    breakage = draw(st.sampled_from(BREAKAGES))
    return nodes, fields, f"{breakage.__name__} at {name}: {breakage(draw, nodes, name)}"


def misspelled_key(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    key = draw(st.sampled_from(sorted(nodes[name])))
    nodes[name][f"{key}_z"] = nodes[name].pop(key)
    return key


def unknown_type(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    nodes[name]["type"] = draw(
        st.sampled_from(["no_such_block", "os.system", 3, None if nodes[name]["kind"] != "stack" else "x"])
    )


def unknown_kind(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    nodes[name]["kind"] = draw(st.sampled_from([None, "no_such_kind", 3, ["stack"]]))


def missing_edge(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    del nodes[name]["from"]


def junk_edge(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    nodes[name]["from"] = draw(
        st.sampled_from([junk for junk in JUNK if junk != {"a": 1}] + ["no_such_node", {"no_port": "target"}])
    )
    return nodes[name]["from"]


def circle(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    reader = next((n for n in nodes if name in sources(nodes[n])), None)
    nodes[name]["from"] = reader or name
    return nodes[name]["from"]


def junk_node(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    nodes[name] = draw(st.sampled_from([junk for junk in JUNK if not isinstance(junk, dict)] + [{}]))
    return nodes[name]


def dangling_node(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    nodes["unread"] = {"kind": "ffn", "type": "mlp", "from": next(n for n in nodes if n.startswith("embedded_"))}


def bad_name(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    bad = draw(st.sampled_from(["a b", "1st", "a.b", "type", "items", ""]))
    nodes[bad] = {"kind": "head", "type": "gaussian", "from": "embedded_target", "predicts": "target"}
    return bad


def junk_prediction(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    nodes["output"]["predicts"] = draw(st.sampled_from([*JUNK, "no_such_field"]))
    return nodes["output"]["predicts"]


def raw_tokens(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    """A head on the raw input: of the wrong kind, or reading its answer late but nothing else."""
    nodes["output"]["from"] = {"x": "target", "memory": "target"}


OUT_OF_RANGE = [
    ("depth", 0),
    ("depth", "two"),
    ("depth", 10**12),
    ("dropout", 1.5),
    ("dropout", -0.1),
    ("order", "sideways"),
    ("residual", 1),
    ("causal", "yes"),
    ("mixer", 3),
    ("mixer", {"type": "attention", "heads": 3}),
    ("mixer", {"type": "lstm", "heads": 2}),
    ("pattern", ["a"]),
    ("pattern", []),
    ("layers", {"a": {"mixer": "lstm"}}),
    ("cross", "cross_attention"),
    ("bridge", "initial_state"),
    ("position", "rotary"),
]


def out_of_range(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    nodes["deep"] = {"kind": "stack", "from": "embedded_target", "mixer": "mingru"}
    key, value = draw(st.sampled_from(OUT_OF_RANGE))
    nodes["deep"][key] = value
    nodes["output"]["from"] = "deep"
    return key, value


def leak(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    """What is predicted, read from the future, as a memory, or folded into a vector on its way to the head."""
    way = draw(st.sampled_from(["attention", "bidirectional", "recurrent", "memory", "pool", "hidden"]))
    stack: Nodes = {"kind": "stack", "from": "embedded_target", "mixer": "attention"}
    match way:
        case "attention" | "recurrent":
            stack |= {"mixer": "attention" if way == "attention" else "gru", "causal": False}
        case "bidirectional":
            stack["mixer"] = {"type": "bidirectional", "mixer": "rnn"}
        case "memory":
            stack |= {"from": {"x": "embedded_target", "memory": "embedded_target"}, "cross": "cross_attention"}
        case "pool":
            nodes["folded"] = {"kind": "pool", "type": "mean", "from": "embedded_target"}
            stack |= {"from": {"x": "embedded_target", "vector": "folded"}, "bridge": "concat_every_step"}
        case "hidden":
            stack |= {"causal": False}
            nodes["later"] = {"kind": "ffn", "type": "mlp", "from": "leaky"}
            nodes["sum"] = {"kind": "merge", "type": "add", "from": ["later", "embedded_target"]}
    nodes["leaky"] = stack
    nodes["output"]["from"] = "sum" if way == "hidden" else "leaky"
    nodes["output"].pop("tied", None)
    return way


def no_head(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    for head in [head for head in nodes if isinstance(nodes[head], dict) and nodes[head].get("kind") == "head"]:
        del nodes[head]


def bad_tie(draw: st.DrawFn, nodes: Nodes, name: str) -> Any:
    nodes["output"]["tied"] = draw(st.sampled_from(["no_such_node", "output", 3, ["x"]]))


BREAKAGES = [
    misspelled_key, unknown_type, unknown_kind, missing_edge, junk_edge, circle, junk_node, dangling_node, bad_name,
    junk_prediction, raw_tokens, out_of_range, leak, no_head, bad_tie,
]  # fmt: skip
