"""The form of a checkpoint's content: which keys hold tensors, which hold numbers. Everything else is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from composer.core.bounds import LEVELS, Bounds
from composer.runs.progress import LoggingWindow, RunProgress

#: A form is a type, a tuple of alternatives of which the last is the usual one, ``[form]`` for a list, ``{str: form}``
#: for a mapping of any names, or a mapping of known keys, which may be missing. None stands for itself.
Form = Any

NUMBER = (int, float)
TENSORS = {str: Tensor}
SECTION = (None, {str: object})
TYPED = {str: object, "type": str}

COURSE = {field.name: NUMBER for field in fields(RunProgress)} | {
    "step": int, "place": {str: int}, "best": (None, *NUMBER), "best_loss": (None, *NUMBER), "pruned": bool,
    "monitor": (None, str), "judge": (None, str),
}  # fmt: skip
WINDOW = {field.name: NUMBER for field in fields(LoggingWindow)}
RANK = {
    "random": TENSORS, "carried": list, "window": WINDOW, "losses": {"heads": Tensor, "auxiliary": TENSORS},
}  # fmt: skip
CONFIG = {
    "model": {"nodes": {str: {str: object}}}, "data": TYPED, "objective": TYPED, "training": SECTION,
    "trainer": SECTION, "optimiser": TYPED, "schedule": TYPED, "logger": SECTION, "plugins": (None, [str]),
    "seed": (str, int),
}  # fmt: skip
FILE = {
    "suffix": str, "delimiter": (None, str), "width": int, "names": (None, [str]), "columns": {str: (str, int)},
}  # fmt: skip
BOUNDS = {field.name: Tensor for field in fields(Bounds)}
CONTENT = {
    "version": str, "config": CONFIG, "source": {str: object}, "file": FILE, "step": int, "model": TENSORS,
    "average": (None, TENSORS), "init": (None, list, {str: object}), "plugins": (None, [{str: (None, str)}]),
    "course": COURSE, "optimiser": {str: {str: (None, bool, *NUMBER, Tensor)}}, "schedule": {str: NUMBER},
    "ranks": [RANK], "bounds": (None, {str: BOUNDS}), "untrained": (None, TENSORS),
}  # fmt: skip

#: The states of torch's optimisers that have the shapes of their weights. Those of a plugin's may have others.
MOMENTS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer", "square_avg", "grad_avg")

#: What a run needs in order to go on, beside what every checkpoint has.
RESUMED = ("course", "optimiser", "schedule", "ranks")


def misfit(content: Mapping[str, Any]) -> str | None:
    """What is wrong with a checkpoint's content, or nothing."""
    return _misfit(content, CONTENT, "") or _unknown_fields(content) or _wrong_tensors(content)


def _misfit(value: object, form: Form, path: str) -> str | None:
    if isinstance(form, tuple):
        found = [_misfit(value, each, path) for each in form]
        return None if None in found else found[-1]
    if form is None:
        return None if value is None else _wrong(value, path, "nothing")
    if isinstance(form, type):
        return None if isinstance(value, form) else _wrong(value, path, NAMES.get(form, form.__name__))
    if isinstance(form, list):
        if not isinstance(value, list):
            return _wrong(value, path, "a list")
        parts = [(f"{path}.{i}", each, form[0]) for i, each in enumerate(value)]
    elif not isinstance(value, Mapping):
        return _wrong(value, path, "a mapping")
    elif str in form:
        if foreign := [key for key in value if not isinstance(key, str)]:
            return _wrong(foreign[0], path, "names")
        parts = [(f"{path}.{key}", each, form.get(key, form[str])) for key, each in value.items()]
    else:
        parts = [(f"{path}.{key}", value[key], each) for key, each in form.items() if key in value]
    return next((text for part, each, wanted in parts if (text := _misfit(each, wanted, part)) is not None), None)


NAMES: dict[type, str] = {Tensor: "a tensor", int: "a whole number", float: "a number", str: "a text", list: "a list"}


def _wrong(value: object, path: str, wanted: str) -> str:
    return f"'{path.removeprefix('.')}' should be {wanted}, and is a {type(value).__name__}"


def _unknown_fields(content: Mapping[str, Any]) -> str | None:
    found: list[tuple[str, Mapping[str, Any], Mapping[str, Form]]] = [("course", content.get("course", {}), COURSE)]
    found += [("window", rank.get("window", {}), WINDOW) for rank in content.get("ranks", [])]
    for name, values, known in found:
        if foreign := [key for key in values if key not in known]:
            return f"'{name}' has an unknown '{foreign[0]}'"
    if "file" in content and set(content["file"]) != set(FILE):
        return "'file' is not the form of a file"
    if content["step"] < 0:
        return f"'step' is {content['step']}"
    return None


def _wrong_tensors(content: Mapping[str, Any]) -> str | None:
    """Tensors that claim more values than are stored, states of the optimiser and random numbers of another shape."""
    model = content["model"]
    states = content.get("optimiser", {})
    randoms = [rank["random"] for rank in content.get("ranks", []) if "random" in rank]
    bounds = content.get("bounds") or {}
    groups = [model, content.get("average") or {}, *states.values(), *randoms, *bounds.values()]
    for name, value in ((name, value) for group in groups for name, value in group.items()):
        if isinstance(value, Tensor) and value.numel() * value.element_size() > value.untyped_storage().nbytes():
            return f"the tensor '{name}' has a shape of more values than are stored"
    for name, state in states.items():
        for key, value in state.items():
            if key in MOMENTS and isinstance(value, Tensor) and (name not in model or value.shape != model[name].shape):
                return f"the optimiser's '{key}' of '{name}' has the shape {tuple(value.shape)}"
    for head, tensors in bounds.items():
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        if shapes.keys() != BOUNDS.keys() or len(shapes["scale"]) != 2 or shapes["quantiles"] != (LEVELS + 1,):
            return f"the bounds of '{head}' have the shapes {shapes}"
    wanted = torch.get_rng_state()
    for random in randoms:
        found = random.get("cpu")
        if found is None or found.dtype != wanted.dtype or found.shape != wanted.shape:
            return "the state of the random numbers is none"
    return None
