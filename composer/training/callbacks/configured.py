"""The callbacks of a config (its section ``callbacks``), and their states in a checkpoint."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from composer.core.binding import bind_named
from composer.core.problems import ConfigError, Locate, Problem

if TYPE_CHECKING:
    from lightning import Callback

#: The callbacks of a config by the names that the config gives them.
Configured = Mapping[str, "Callback"]


def load_callbacks(section: object, locate: Locate = lambda path: "") -> Configured:
    """The callbacks of a config's ``callbacks`` section, which has one key for each: checked, but not yet attached."""
    built = bind_named("callback", section, "callbacks", locate)
    if built:
        from lightning import Callback  # which takes a second to import

        wrong = [
            Problem(f"callbacks.{name}", f"is a {type(made).__name__}, and no lightning.Callback. Make it one.")
            for name, made in built.items()
            if not isinstance(made, Callback)
        ]
        if wrong:
            raise ConfigError(wrong, locate)
    return built


def states(configured: Configured) -> dict[str, Any]:
    """What the callbacks keep in a checkpoint: plain data and tensors. A warning names what is neither."""
    found = {}
    for name, callback in configured.items():
        state = callback.state_dict()
        if (foreign := _foreign(state)) is not None:
            warnings.warn(
                f"callbacks.{name}: its state_dict has a value of type {foreign}. A checkpoint keeps plain data and "
                "tensors only, so this callback begins anew in a resumed run.",
                stacklevel=2,
            )
        elif state:
            found[name] = state
    return found


def restore(configured: Configured, saved: Mapping[str, Any]) -> None:
    """Restore the states of a checkpoint to the callbacks of their names."""
    for name in configured.keys() & saved.keys():
        configured[name].load_state_dict(saved[name])


def _foreign(value: Any) -> str | None:
    """The type of the first value that is neither plain data nor a tensor."""
    if isinstance(value, Mapping | list | tuple):
        inner = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
        return next((foreign for each in inner if (foreign := _foreign(each)) is not None), None)
    return None if value is None or isinstance(value, bool | int | float | str | Tensor) else type(value).__name__
