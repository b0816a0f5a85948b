"""Pass 3: build every node on the meta device and run it there.

Time axes get different lengths, so that combining sequences of different time axes fails here. A few short lengths tell
any number of axes apart: with more axes than lengths, the nodes run several times, and two axes of the same length in
one run differ in another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import nn

from composer.core.capabilities import declared
from composer.core.meta import on_meta
from composer.core.problems import ConfigError, Invalid, Problem, Report
from composer.core.signals import Field, Signal, Timed
from composer.graph.graph import Graph, run_node
from composer.graph.nodes import GraphPlan, Node, build

BATCH = 2

#: The lengths of time axes: primes, so that none is the number of patches of an image; none is the sum of two others,
#: half of another or less (a subsampled one), or another with a step more.
LENGTHS = (11, 19, 13, 17)

#: The signals of one run, by field and node.
Signals = dict[str, Signal]


def infer(nodes: list[Node], fields: Mapping[str, Field], report: Report) -> Graph:
    """The graph of as many nodes as are sound, on the meta device. What it generates is left to the pass ``split``."""
    nodes = [node for node in nodes if node.sound]
    used = {name for node in nodes for name in (*node.inputs, node.predicts)}
    runs = examples({name: field for name, field in fields.items() if name in used})
    known = dict(fields)  # and the outputs of the nodes
    modules: dict[str, nn.Module] = {}
    for node in nodes:
        missing = any(name not in modules for name in node.reads if name not in fields)
        if missing or not _kinds_fit(node, known, report):
            continue
        module = _attempt(node, known, modules, runs, report)
        if module is not None:
            modules[node.name] = module
            known.setdefault(node.name, Field.of(runs[0][node.name]))
    built = tuple(node for node in nodes if node.name in modules)
    read = {name for node in built for name in node.inputs}
    inputs = {name: field for name, field in fields.items() if name in read}
    targets = {node.predicts: fields[node.predicts] for node in built if node.predicts is not None}
    outputs = {name: known[name] for name in modules}
    return Graph(GraphPlan(built, inputs, targets, outputs), modules)


def _attempt(
    node: Node, known: Mapping[str, Field], modules: Mapping[str, nn.Module], runs: list[Signals], report: Report
) -> nn.Module | None:
    """The node's module, after its outputs are added to the signals of every run; None after an error.

    A node with a bad value is tried again with that knob's default, to find the node's other problems.
    """
    try:
        with on_meta():
            module = build(node, known, modules)
            found = [run_node(node, module, signals) for signals in runs]
        for signals, output in zip(runs, found, strict=True):
            check_output(node, module, output, signals, known)
        for signals, output in zip(runs, found, strict=True):
            signals[node.name] = output
        return module
    except ConfigError as error:
        problems = error.problems
    except Invalid as error:
        problems = [error.problem(node.path)]
    except Exception as error:  # a block is anybody's code: whatever stops it from building is a problem to report
        shown = str(error).strip().splitlines() or [""]
        message = f"does not work with these inputs ({_shapes(node, known)}): {type(error).__name__}: {shown[0]}"
        problems = [Problem(node.path, f"'{node.recipe.name}' {message}", f"{node.path}.type")]
    report.extend(problems)
    mended = node.recipe.without({problem.path for problem in problems})
    if mended == node.recipe:
        return None
    return _attempt(replace(node, bound=mended), known, modules, runs, report)


def examples(fields: Mapping[str, Field]) -> list[Signals]:
    """For every run, a signal on the meta device for each field.

    The number of an axis, written with the ``LENGTHS`` as digits, is its length in each run.
    """
    axes = list(dict.fromkeys(field.axis or name for name, field in fields.items() if field.timed))
    digits = 1
    while len(LENGTHS) ** digits < len(axes):
        digits += 1
    runs: list[Signals] = []
    for digit in range(digits):
        values = (number // len(LENGTHS) ** digit % len(LENGTHS) for number in range(len(axes)))
        lengths = {axis: LENGTHS[value] for axis, value in zip(axes, values, strict=True)}
        with on_meta():
            runs.append({n: field.example(BATCH, lengths.get(field.axis or n, 1)) for n, field in fields.items()})
    return runs


def check_output(
    node: Node, module: nn.Module, output: object, signals: Mapping[str, Signal], known: Mapping[str, Field]
) -> None:
    """Check that a node returns one signal, and that an aligned head's output has the time axis of its target."""
    if not isinstance(output, Signal):
        raise Invalid("type", f"'{node.recipe.name}' returned a {type(output).__name__} instead of a signal.")
    if output.values.dim() != output.rank:
        raise Invalid("type", f"'{node.recipe.name}' returned a {output.kind} of shape {tuple(output.values.shape)}.")
    if node.predicts is None:
        return
    target = signals[node.predicts]
    if output.timed != target.timed:
        found = "one prediction a step" if output.timed else "a single prediction"
        wanted = "has one value a step" if target.timed else "is a single value"
        raise Invalid(
            "from",
            f"gives {found}, but '{node.predicts}' {wanted}. "
            + ("Put a pool before the head." if output.timed else "Leave out the pool."),
        )
    aligned = declared(module, "aligned")
    if aligned and isinstance(output, Timed) and isinstance(target, Timed) and output.time != target.time:
        axis = known[node.predicts].axis or node.predicts
        raise Invalid(
            "from",
            f"runs along another sequence than '{node.predicts}' (time axis '{axis}'), so their lengths differ. "
            f"Read from a node that follows '{axis}'; a sequence that '{axis}' continues is the 'prefix' of a stack.",
        )


def _kinds_fit(node: Node, known: Mapping[str, Field], report: Report) -> bool:
    before = len(report.problems)
    for name, sources in node.sources.items():
        port = node.recipe.signature.ports[name]
        for source in sources:
            kind = known[source].kind
            if port.kinds and kind not in port.kinds:
                report.add(
                    f"{node.path}.from",
                    f"'{source}' is of kind {kind}, but the port '{name}' of '{node.recipe.name}' takes "
                    f"{' or '.join(port.kinds)}.{_remedy(kind, port.kinds)}",
                )
    return len(report.problems) == before


def _remedy(kind: str, wanted: tuple[str, ...]) -> str:
    remedies = {
        ("ids", "seq"): " Put an embedding between.",
        ("ids", "vec"): " Put an embedding and a pool between.",
        ("seq", "vec"): " Put a pool between.",
        ("vec", "seq"): " Let it enter a stack through the port 'vector', with a bridge.",
        ("image", "seq"): " Put an embedding of images between.",
        ("image", "vec"): " Put an embedding of images between.",
    }
    return next((remedies[kind, want] for want in wanted if (kind, want) in remedies), "")


def _shapes(node: Node, known: Mapping[str, Field]) -> str:
    fields = ((name, known[name]) for name in node.inputs)
    return ", ".join(f"{name}: {field.kind} ({', '.join(map(str, field.shape))})" for name, field in fields)
