"""What a block's class may declare beside its signatures: the only list of the attributes and methods the kernel reads.

An attribute is declared on the class (``causal = True``) or set by the constructor; otherwise it has the default listed
here. A method is offered by defining it. ``register`` refuses a class that declares an attribute of a wrong type, or a
public attribute that the kernel does not read, such as a misspelt name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from torch import nn

from composer.core.problems import UserError, listed


@dataclass(frozen=True)
class Attribute:
    type: Any
    default: Any
    meaning: str


ATTRIBUTES: dict[str, Attribute] = {
    "causal": Attribute(
        bool | None,
        None,
        "True: the output at a step depends on no later step of its sequences, the port 'memory' aside. False: the "
        "block always reads both directions. Not declared: the block mixes no time steps, or its constructor takes "
        "'causal' and sets it.",
    ),
    "ordered": Attribute(bool, False, "a mixer that depends on the order of its steps without positions: a recurrence"),
    "enters": Attribute(
        str,
        "input",
        "of a position: how it enters a stack, by 'input' (added or joined to every step), 'attention' (inside the "
        "mixers) or 'both'. Of a bridge: 'input', 'prefix' (as steps before the first), or the name of the port of the "
        "stack's blocks that receives the bridge's output: 'memory', 'initial' or one of your own",
    ),
    "unless_ordered": Attribute(bool, False, "a position that a stack leaves out if all its mixers are 'ordered'"),
    "out_dim": Attribute(int | None, None, "the width of the output, where it is not the width of the input"),
    "limit": Attribute(int | None, None, "the longest sequence that the block can read"),
    "aligned": Attribute(
        bool, True, "a head whose prediction at step t is for the target's step t; CTC finds its own alignment: False"
    ),
    "together": Attribute(
        bool,
        False,
        "a head that predicts all steps of a row together (CRF): its loss has one value per row, and it may not read "
        "its target, so it cannot generate",
    ),
    "stepwise": Attribute(
        bool,
        False,
        "a head whose output and loss at a step depend on nothing but that step of its input and its target, so that "
        "training can leave out the steps that do not count",
    ),
    "binary": Attribute(bool, False, "a head whose entries are 0 or 1 (multi-label), rather than real values"),
    "decodes": Attribute(
        bool,
        True,
        "of a head that generates: whether decoding searches for the most likely target (greedy, beam search); False "
        "for a head whose steps are always sampled",
    ),
    "metrics": Attribute(
        tuple | None,
        None,
        "of a head: the registered names of its metrics beside the loss, in the order of their columns; or a method "
        "metrics(target) that returns them, where they depend on the target. Not declared: the metrics that fit the "
        "kind of the target",
    ),
    "judge": Attribute(str | None, None, "the earlier name of 'monitor'"),
    "monitor": Attribute(
        str | None,
        None,
        "of a head: the metric, among its metrics, by which its users judge a model, and which chooses the best "
        "checkpoint; or a method monitor(target) that returns it. Not declared: the metric that fits the kind of the "
        "target, or the loss",
    ),
    "baseline": Attribute(
        bool,
        False,
        "of a head: without any training it predicts a baseline, such as the last value of a window. The untrained "
        "model is then validated, too, and remains the best checkpoint unless training improves on it",
    ),
    "sparse": Attribute(
        bool, False, "some weights may get no gradient in a step: distributed training then searches for unused weights"
    ),
    "shows": Attribute(
        Literal["attention", "layers", None],
        None,
        "what the block records: attention weights (B, heads, T, S) by 'composer.show', or the input of every layer "
        "and the output, (B, T, D), by 'composer.show_layer', which other graphs may read as features",
    ),
    "exports": Attribute(
        bool | tuple,
        True,
        "whether the block can be exported; a tuple lists the possible formats, ('torch',)",
    ),
    "no_decay": Attribute(
        tuple,
        (),
        "the names of weights that never decay, although they are matrices: a decay, a step size or a frequency of a "
        "recurrence, a table of biases. Vectors never decay",
    ),
    "rate_factors": Attribute(
        dict, {}, "by the name of a weight, the factor of the learning rate with which it is trained, above 0 up to 1"
    ),
    "files": Attribute(
        tuple,
        (),
        "the parameters that name files. A block is rebuilt from a checkpoint without them (see 'portable'), because a "
        "checkpoint may not choose which files are read",
    ),
    "example": Attribute(dict, {}, "values for required parameters, for the laws and the documentation"),
}

METHODS: dict[str, str] = {
    "map": "of a pointwise block: the outputs of steps (..., D), each computed independently; no lengths are given",
    "advance": "one step of every row, from (B, D) and the state to the output and the next state: see block_steps.py",
    "start": "the state before the first step: start(batch, **ports that are read once)",
    "loss": "of a head: the loss of every step or row, zero in the padding",
    "predict": "of a head: the most likely target; in greedy decoding its input is one step of every row, a Vec",
    "sample": "of a head: a target drawn at random",
    "deviation": "of a head of real values: the standard deviation of every value of an output, (..., D); calibrated "
    "bounds are multiples of it, or the same for all inputs without this method",
    "report": "of a head: what 'predict' writes for every row, report(output, asked) -> list of dicts; for a head "
    "without this method, the fields that fit the kind of its target",
    "decode": "of a head: its own decoding, decode(output, options), which returns a composer.decoding.Prediction; the "
    "options are DecodeOptions. A head that generates gets a composer.decoding.Stream in the place of an output",
    "log_probabilities": "of a head: the log-probability of every token at a step, for decoding",
    "log_marginals": "of a head that predicts all steps of a row together: the log-probability of every token at every "
    "step of an output, (B, T, V), in place of 'log_probabilities'",
    "flops": "the FLOPs of the block's definition for a row of so many steps, flops(time), where its computation does "
    "more than that, e.g. over chunks of a fixed size; without this method, the products of 'forward' are counted",
    "sublayers": "of a container: the modules that activation checkpointing and FSDP wrap one by one",
    "weight_layers": "of a container with depth: the modules of each of its layers, from the first to the last, "
    "[[module, ...], ...]. Layer-wise decay of the learning rate counts them; weights in none of them are the first's",
    "contents": "of a block made of blocks: the names of the blocks inside, for tables and pictures",
    "opened": "of a block made of layers: what each of them does, for pictures: [(title, [(text, block), ...]), ...]",
    "portable": "the keys that rebuild the block without the file it was built from, for the checkpoint",
    "rotate": "of a position: queries and keys rotated by their positions",
    "bias": "of a position: a bias added to the attention scores, by distance",
    "tilt": "of a position: queries, keys and values with one more feature, in place of a bias linear in the distance",
    "weight": "of an embedding: the matrix of its token vectors, for weight tying and for pictures",
}


def declared(block: nn.Module | type[nn.Module], attribute: str) -> Any:
    """The value of a declared attribute of a block, or the default of the attribute."""
    return getattr(block, attribute, ATTRIBUTES[attribute].default)


def offers(block: nn.Module | type[nn.Module] | None, method: str) -> bool:
    """Whether a block has a declared method."""
    assert method in METHODS, method
    return getattr(block, method, None) is not None


def is_causal(block: nn.Module | type[nn.Module]) -> bool:
    """Whether a block's output at a step depends on no later step of its sequences, the port ``memory`` aside."""
    return declared(block, "causal") is not False


def can_export(block: nn.Module | type[nn.Module], format: str) -> bool:
    """Whether a block can be exported to a format."""
    exports = declared(block, "exports")
    return exports if isinstance(exports, bool) else format in exports


def check_capabilities(block: type[nn.Module]) -> None:
    """Refuse a class with an attribute of a wrong type, or with one that is not in the lists above."""
    where = f"{block.__module__}.{block.__qualname__}"
    for name, value in _public(block):
        plain = not callable(value) and not isinstance(value, property | cached_property | classmethod | staticmethod)
        if name in ATTRIBUTES:
            if plain and not _fits(value, ATTRIBUTES[name].type):
                expected = ATTRIBUTES[name]
                raise UserError(
                    f"{where} says {name} = {value!r}, expected {_words(expected.type)}: {expected.meaning}."
                )
        elif name in METHODS:
            continue
        elif plain:
            near = _near(name)
            hint = f" Did you mean '{near}'?" if near else ""
            raise UserError(
                f"{where} says {name} = {value!r}, which nobody asks a block.{hint}  (a block may say: "
                f"{listed(ATTRIBUTES, len(ATTRIBUTES))}; write a constant of your own in capitals, or with a leading _)"
            )
        elif near := _near(name):
            raise UserError(f"{where} has '{name}', which nobody asks a block. Did you mean '{near}'?")


def _public(block: type[nn.Module]) -> Iterator[tuple[str, Any]]:
    """The public names that the class and its bases define, without the classes of torch."""
    for cls in block.__mro__:
        if cls in nn.Module.__mro__ or cls.__module__.startswith("torch."):
            continue
        for name, value in vars(cls).items():
            if not name.startswith("_") and not name.isupper():
                yield name, value


@cache  # every block of the catalogue asks, most of them for the same names
def _near(name: str) -> str | None:
    """The declared name that this one is a misspelling of."""
    return next(iter(difflib.get_close_matches(name, [*ATTRIBUTES, *METHODS], n=1, cutoff=0.8)), None)


def _fits(value: Any, annotation: Any) -> bool:
    options = get_args(annotation) or (annotation,)
    if get_origin(annotation) is Literal:
        return value in options
    return isinstance(value, options) and (bool in options or not isinstance(value, bool))


def _words(annotation: Any) -> str:
    options = get_args(annotation) or (annotation,)
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(map(repr, options))
    return " or ".join("None" if option is NoneType else option.__name__ for option in options)
