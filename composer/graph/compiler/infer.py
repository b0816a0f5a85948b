"""Pass 3: build every node on the meta device and run it once there.

Every time axis gets a different length, so that combining sequences of different time axes fails here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import nn

from composer.core.capabilities import said
from composer.core.meta import on_meta
from composer.core.problems import ConfigError, Invalid, Problem, Report
from composer.core.signals import Field, Signal, Timed
from composer.graph.graph import run_node
from composer.graph.nodes import Node, build

BATCH = 2


def infer(
    nodes: list[Node], fields: Mapping[str, Field], report: Report
) -> tuple[dict[str, nn.Module], dict[str, Field]]:
    """The modules on the meta device and the field of every node's output, for as many nodes as are sound."""
    signals = examples(fields)
    modules: dict[str, nn.Module] = {}
    outputs: dict[str, Field] = {}
    for node in nodes:
        if not node.sound or any(name not in signals for name in node.inputs):
            continue
        if any(name not in modules for name in node.reads if name not in fields):
            continue
        known = {name: fields.get(name) or outputs[name] for name in node.inputs}
        if not _kinds_fit(node, known, report):
            continue
        built = _attempt(node, fields, known, modules, signals, report)
        if built is not None:
            modules[node.name], signals[node.name] = built
            outputs[node.name] = Field.of(built[1])
    return modules, outputs


def _attempt(
    node: Node,
    fields: Mapping[str, Field],
    known: Mapping[str, Field],
    modules: Mapping[str, nn.Module],
    signals: Mapping[str, Signal],
    report: Report,
) -> tuple[nn.Module, Signal] | None:
    """The node's module and output; None after an error.

    A node with a bad value is tried again with that knob's default, to find the node's other problems.
    """
    assert node.recipe is not None
    try:
        with on_meta():
            module = build(node, fields, known, modules)
            output = run_node(node, module, signals)
        check_output(node, module, output, signals, fields)
        return module, output
    except ConfigError as error:
        found = error.problems
    except Invalid as error:
        found = [Problem(f"{node.path}.{error.parameter}" if error.parameter else node.path, error.message)]
    except Exception as error:  # a block is anybody's code: whatever stops it from building is a problem to report
        shown = str(error).strip().splitlines() or [""]
        message = f"does not work with these inputs ({_shapes(node, known)}): {type(error).__name__}: {shown[0]}"
        found = [Problem(node.path, f"'{node.recipe.name}' {message}", f"{node.path}.type")]
    report.extend(found)
    mended = node.recipe.without({problem.path for problem in found})
    if mended == node.recipe:
        return None
    return _attempt(replace(node, recipe=mended), fields, known, modules, signals, report)


def examples(fields: Mapping[str, Field]) -> dict[str, Signal]:
    """One signal on the meta device for every field; fields that share a time axis share its length.

    The lengths 7, 17, 47, ... are chosen so that none is the sum of others, another one subsampled, or the number of
    patches of an image (the first ones are prime).
    """
    lengths: dict[str, int] = {}
    for name, field in fields.items():
        lengths.setdefault(field.axis or name, 5 * 3 ** len(lengths) + 2)
    with on_meta():
        return {name: field.example(BATCH, lengths[field.axis or name]) for name, field in fields.items()}


def check_output(
    node: Node, module: nn.Module, output: object, signals: Mapping[str, Signal], fields: Mapping[str, Field]
) -> None:
    """Check that a node returns one signal, and that an aligned head's output has the time axis of its target."""
    assert node.recipe is not None
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
    aligned = said(module, "aligned")
    if aligned and isinstance(output, Timed) and isinstance(target, Timed) and output.time != target.time:
        axis = fields[node.predicts].axis or node.predicts
        raise Invalid(
            "from",
            f"runs along another sequence than '{node.predicts}' (time axis '{axis}'), so their lengths differ. "
            f"Read from a node that follows '{axis}'; a sequence that '{axis}' continues is the 'prefix' of a stack.",
        )


def _kinds_fit(node: Node, known: Mapping[str, Field], report: Report) -> bool:
    assert node.recipe is not None
    fit = True
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
                fit = False
    return fit


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
    def show(field: Field) -> str:
        return f"{field.kind} ({', '.join(str(size) for size in field.shape)})"

    return ", ".join(f"{name}: {show(known[name])}" for name in node.inputs)
