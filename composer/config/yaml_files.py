"""The YAML of other people: read with care before Hydra reads it.

A file from outside of this package (of ``--config-dir``, or of another search path) holds plain values only. It cannot
set Hydra's own config, which names functions to call (callbacks, launchers, log handlers), and nothing in it can stop
the parser: recursive anchors, deep nesting, endless numbers.
"""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.plugins.config_source import ConfigSource

from composer.core.problems import UserError, listed

#: The name of the primary config.
PRIMARY = "train"

#: The deepest nesting of a file. Our own files need 8 levels.
DEEPEST = 50

#: The most values of a file, aliases counted as often as they are used.
LARGEST = 100_000

#: The most characters of a number.
LONGEST_NUMBER = 400

#: Keys that make Hydra call a function.
CALLING = tuple(f"_{word}_" for word in ("target", "partial", "args", "recursive", "convert"))

NUMBER = re.compile(r"[-+]?\d[\da-fA-FxXoO_.:]*")

#: A real number as OmegaConf reads it. YAML 1.1 wants a point and a sign: 1e3 would be a text.
FLOAT = re.compile(
    r"""^(?:[-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?
        |[-+]?[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+)
        |\.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?
        |[-+]?[0-9]+(?:_[0-9]+)*(?::[0-5]?[0-9])+\.[0-9_]*
        |[-+]?\.(?:inf|Inf|INF)
        |\.(?:nan|NaN|NAN))$""",
    re.X,
)

#: The packages whose YAML may set Hydra's own config.
OWN_PACKAGES = re.compile(r"(conf|hydra|hydra_plugins)(\.|$)")

#: A part of a defaults list, or of an override's key, that reaches into Hydra's own config.
INTO_HYDRA = re.compile(r"(^|[/@.\s])hydra([/@.:=\s]|$)")


class PlainLoader(yaml.SafeLoader):
    """Reads YAML as OmegaConf does: no key twice, 1e3 is a number, and a date is a text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(key.value for key, _ in node.value if key.tag == self.DEFAULT_SCALAR_TAG)
        for key, _ in node.value:
            if keys[key.value] > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"found duplicate key {key.value}", node.value[-1][0].start_mark
                )
        return super().construct_mapping(node, deep=deep)


PlainLoader.yaml_implicit_resolvers = {
    start: [(tag, pattern) for tag, pattern in known if not tag.endswith((":timestamp", ":float"))]
    for start, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
PlainLoader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


def check_yaml(text: str, name: str) -> None:
    """Raise a UserError for YAML that is not a mapping of plain values, or reaches into Hydra's own config."""
    try:
        check_events(yaml.parse(text, Loader=PlainLoader), name)
        tree = yaml.load(text, Loader=PlainLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise UserError(f"{name}{line}\n  is not YAML: {error.problem or error.context}.") from error
    except yaml.reader.ReaderError as error:
        number = text.count("\n", 0, error.position) + 1
        raise UserError(f"{name}:{number}\n  is not YAML: it has the character {chr(error.character)!r}.") from error
    except ValueError as error:  # a value that looks like a number or a date, and is none
        raise UserError(f"{name}\n  is not YAML that can be read: {error}.") from error
    if tree is not None and not isinstance(tree, dict):
        raise UserError(f"{name}\n  expected keys and values (key: value), found {type(tree).__name__} {tree!r:.60}.")
    check_keys(tree, name)
    check_plain(tree or {}, text, name)


def check_events(events: Iterator[yaml.Event], name: str) -> None:
    """Check nesting, anchors and numbers without building anything."""
    open_anchors: list[str | None] = []
    begun: list[int] = []
    sizes: dict[str, int] = {}
    count = 0
    for event in events:
        place = f"{name}:{event.start_mark.line + 1 if event.start_mark is not None else 1}"
        if isinstance(event, yaml.CollectionStartEvent):
            open_anchors.append(event.anchor)
            begun.append(count)
            if len(open_anchors) > DEEPEST:
                raise UserError(f"{place}\n  is nested more than {DEEPEST} levels deep. Make it flatter.")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, start = open_anchors.pop(), begun.pop()
            if anchor is not None:
                sizes[anchor] = count - start
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in open_anchors:
                raise UserError(f"{place}\n  contains itself: the anchor '&{event.anchor}' is around its own alias.")
            count += sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.ScalarEvent):
            count += 1
            if event.implicit[0] and len(event.value) > LONGEST_NUMBER and NUMBER.fullmatch(event.value):
                raise UserError(f"{place}\n  has a number of {len(event.value):,} characters. Is it a text? Quote it.")
        if count > LARGEST:
            raise UserError(f"{place}\n  has more than {LARGEST:,} values, aliases included. Is it a config?")


def check_keys(tree: Any, name: str) -> None:
    for key, value in tree.items() if isinstance(tree, dict) else ():
        if not isinstance(key, str | int | float | bool):
            raise UserError(f"{name}\n  has the key {key!r}. A key is a word.")
        check_keys(value, name)
    for item in tree if isinstance(tree, list) else ():
        check_keys(item, name)


def check_plain(tree: dict[Any, Any], text: str, name: str) -> None:
    """Raise a UserError if a file could choose functions to call."""
    if (found := find_key(text, CALLING)) is not None:
        key, line = found
        raise UserError(f"{name}:{line}\n  has the key '{key}', which makes Hydra call a function. {PLAIN}")
    try:
        header = ConfigSource._get_header_dict(text[:512])
    except ValueError as error:
        raise UserError(f"{name}:1\n  expected '# @package' and a package, e.g. _global_: {error}.") from error
    if "hydra" in tree or INTO_HYDRA.search(str(header.get("package", ""))):
        raise UserError(f"{name}\n  sets 'hydra', which can call functions. {GIVE_THEM}")
    defaults = tree.get("defaults")
    if "defaults" in tree and not isinstance(defaults, list):
        raise UserError(f"{name}\n  expected a list of defaults, found {defaults!r:.60}.")
    for entry in defaults or []:
        if not isinstance(entry, str) and not (isinstance(entry, dict) and _chooses(entry)):
            raise UserError(
                f"{name}\n  expected an option in the list of defaults, e.g. - mixer: lstm, found {entry!r:.60}."
            )
        words = [str(word) for word in entry] if isinstance(entry, dict) else [entry]
        if any(INTO_HYDRA.search(word) for word in words):
            raise UserError(f"{name}\n  chooses '{words[0]}' in its defaults. {GIVE_THEM}")


def _chooses(entry: dict[Any, Any]) -> bool:
    """Whether an entry of a defaults list is one group with its option or options."""
    group, options = next(iter(entry.items()), (None, None))
    return (len(entry) == 1 and isinstance(group, str)) and (
        options is None
        or isinstance(options, str)
        or (isinstance(options, list) and all(isinstance(option, str) for option in options))
    )


PLAIN = "A config holds plain values: choose registered entries by type, and name code of your own with plugins=[...]."
GIVE_THEM = "Hydra's own settings are taken from the command line only, e.g. hydra/launcher=parallel."


def find_key(text: str, keys: Collection[str]) -> tuple[str, int] | None:
    """The first of these keys, at any depth, and its line."""
    nodes = [yaml.compose(text, Loader=PlainLoader)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                if isinstance(name, yaml.ScalarNode) and name.value in keys:
                    return name.value, name.start_mark.line + 1
                nodes += [name, value]
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value
    return None


#: The users' files with a list of defaults that this process has read, in their order, and their folders of configs.
with_defaults: dict[Path, Path] = {}


def shown(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def while_reading(error: BaseException) -> bool:
    """Whether an error was raised while a config was read or composed, and not by a program that runs within Hydra."""
    frames, frame = deque[str](maxlen=20), error.__traceback__
    while frame is not None:
        frames.append(frame.tb_frame.f_globals.get("__name__", "").partition(".")[0])
        frame = frame.tb_next
    return not {"hydra", "omegaconf", "antlr4", "yaml"}.isdisjoint(frames) and "torch" not in frames


def circle(overrides: Sequence[str]) -> str:
    """What is wrong where Hydra's recursion does not end: defaults lists that include each other, or deep nesting."""
    files = [shown(file) for file in _in_a_circle()]
    if len(files) == 1:
        return f"{files[0]}\n  includes itself in its list of defaults. Remove it there."
    if files:
        return f"{listed(files)}\n  include each other in their lists of defaults, without an end. Remove one of them."
    return f"command line: {listed(overrides, 3)}\n  is nested too deeply to be read."


def _in_a_circle() -> list[Path]:
    """The user's files whose lists of defaults lead back to them."""
    includes = {file: set(_included(file, folder)) for file, folder in with_defaults.items() if file.is_file()}
    while ends := [file for file, others in includes.items() if includes.keys().isdisjoint(others)]:
        for file in ends:
            del includes[file]
    return [file for file in includes if any(file in others for others in includes.values())]


def _included(file: Path, folder: Path) -> Iterator[Path]:
    """The files that a list of defaults names; ``folder`` is the folder of configs that the file is in."""
    for entry in yaml.safe_load(file.read_text(encoding="utf-8"))["defaults"] or ():
        for group, names in entry.items() if isinstance(entry, dict) else [("", entry)]:
            for name in names if isinstance(names, list) else [names]:
                path = str(group).removeprefix("override ").partition("@")[0] + f"/{name}.yaml".replace("//", "/")
                absolute = path.startswith("/") and (group or str(name).startswith("/"))
                yield (folder if absolute else file.parent) / path.lstrip("/")


def check_file(path: Path, config_path: str) -> None:
    """Check a file of a user's folder, which Hydra knows by its path in that folder."""
    name = shown(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        byte, line = error.object[error.start], error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{name}:{line}\n  is not UTF-8: it has the byte 0x{byte:02x}. Save it as UTF-8.") from error
    except OSError as error:
        raise UserError(f"{name}\n  cannot be read: {error.strerror}.") from error
    if re.search(r"^defaults\s*:", text, re.M):
        with_defaults[path] = path.parents[config_path.count("/")]
    if config_path.split("/")[0] == "hydra":
        raise UserError(f"{name}\n  is an option of 'hydra', which can call functions. {GIVE_THEM}")
    check_yaml(text, name)


def leads_out(config_path: str, folder: str) -> str:
    """The sentence for an option that is no file inside the folder of configs."""
    return f"'{config_path}' leads out of the folder of configs '{folder}'. An option is a file inside of it."
