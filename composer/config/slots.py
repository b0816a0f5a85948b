"""What Hydra's merging leaves of a block that another one has replaced, and options that are no block's name.

Hydra merges mappings. A file or an override that changes the ``type`` of a slot therefore keeps the keys of the block
that stood there before; they are dropped here, because they came from a lower layer than the new type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

#: The keys of a node that belong to the node, whatever its block is.
NODE_KEYS = ("kind", "type", "from", "predicts", "causal", "weight")


#: A file's own ``type``, and its list of defaults.
TYPE, DEFAULTS = re.compile(r"^type:", re.MULTILINE), re.compile(r"^defaults:", re.MULTILINE)


@dataclass
class Layers:
    """Which layers of a config set a key: its files in the order in which Hydra merges them, then the command line.

    files: the package and the file of every layer; a layer without a file has None
    set_by: for every path, the numbers of the layers that set it, in ascending order
    """

    files: list[tuple[str, Path | None]] = field(default_factory=list)
    set_by: dict[str, list[int]] = field(default_factory=dict)

    def add(self, package: str, file: Path | None) -> None:
        self.files.append((package, file))

    def note(self, path: str) -> None:
        """A path that the last layer sets."""
        by, layer = self.set_by.setdefault(path, []), len(self.files) - 1
        if layer not in by:
            by.append(layer)

    def note_value(self, path: str, value: Any) -> None:
        """A path that the last layer sets to a value, with the paths inside the value."""
        self.note(path)
        if isinstance(value, Mapping):
            for key, item in value.items():
                self.note_value(f"{path}.{key}", item)

    def last(self, path: str) -> int:
        """The last layer that set a path or anything inside; -1 if none did."""
        inside = f"{path}."
        return max(
            (by[-1] for known, by in self.set_by.items() if known == path or known.startswith(inside)), default=-1
        )

    def value(self, path: str, layer: int) -> Any:
        """The value that a file sets at a path; None for a layer without a file."""
        package, file = self.files[layer]
        if file is None:
            return None
        found: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
        for key in (path.removeprefix(f"{package}.") if package else path).split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found


class Options:
    """The keys of the options of config groups, such as those of conf/mixer/lstm.yaml.

    file_of: the file of an option by its Hydra path, such as mixer/lstm
    compose: the config at such a path, composed by Hydra, for an option that has defaults of its own
    """

    def __init__(self, file_of: Callable[[str], Path | None], compose: Callable[[str], DictConfig]) -> None:
        self.file_of, self.compose = file_of, compose
        self._made_of_others: dict[tuple[str, object], bool] = {}

    def keys(self, group: str, name: object) -> dict[str, Any] | None:
        """The keys of an option, not resolved; None if there is no such option."""
        file = self._file(group, name)
        if file is None:
            return None
        found: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
        if "defaults" not in found:
            return found
        composed: Any = OmegaConf.to_container(self.compose(f"{group}/{name}"), resolve=False)
        return composed[group]

    def is_made_of_others(self, group: str, name: object) -> bool:
        """Whether there is an option of this name that leaves its ``type`` to the options among its defaults."""
        if (group, name) not in self._made_of_others:
            file = self._file(group, name)
            text = "" if file is None else file.read_text(encoding="utf-8")
            self._made_of_others[group, name] = bool(DEFAULTS.search(text)) and not TYPE.search(text)
        return self._made_of_others[group, name]

    def _file(self, group: str, name: object) -> Path | None:
        named = isinstance(name, str) and name.isidentifier() and group.isidentifier()  # no path to somewhere else
        return self.file_of(f"{group}/{name}") if named else None


def replace_blocks(config: DictConfig, layers: Layers, options: Options) -> None:
    """Where a later layer has changed a ``type``, the keys of the old block become those of the new one's option."""
    for path, by in list(layers.set_by.items()):
        parent, _, key = path.rpartition(".")
        if key != "type" or len(by) < 2 or not isinstance(section := OmegaConf.select(config, parent), DictConfig):
            continue
        chosen = _raw_type(section)
        if layers.value(path, by[-2]) == chosen:
            continue
        kept = NODE_KEYS if "kind" in section else ("type",)
        for name in [str(name) for name in section if name not in kept]:
            if by[0] <= layers.last(f"{parent}.{name}") < by[-1]:  # a layer before the first type speaks of any block
                del section[name]
        group = str(section.get("kind") or parent.rpartition(".")[2])
        for name, value in (options.keys(group, chosen) or {}).items():
            if name not in section:
                section[name] = value


def expand_options(section: Any, options: Options) -> None:
    """Replace every name of an option that is no block's, such as a bidirectional LSTM, by the option's own keys."""
    if not isinstance(section, DictConfig):
        return
    for key, value in list(section.items_ex(resolve=False)):
        mapping = isinstance(value, DictConfig)
        name = _raw_type(value) if mapping else value
        group = str(value.get("kind") or key) if mapping else str(key)
        if isinstance(name, str) and options.is_made_of_others(group, name):
            option = options.keys(group, name) or {}
            rest = {k: v for k, v in value.items_ex(resolve=False) if k != "type"} if mapping else {}
            section[key] = OmegaConf.merge(OmegaConf.create(option), OmegaConf.create(rest))
        expand_options(section._get_node(key), options)


def _raw_type(section: DictConfig) -> Any:
    """The value of the key ``type``, not resolved; None without one."""
    node: Any = section._get_node("type")
    return None if node is None else node._value()
