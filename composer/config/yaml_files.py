"""The YAML files of configs, each parsed once in a process until the file changes, with the line of every key.

A file from outside of this package (of ``--config-dir``, or of another search path) holds plain values only. It cannot
set Hydra's own config, which names functions to call (callbacks, launchers, log handlers), and nothing in it can stop
the parser: recursive anchors, deep nesting, endless numbers.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections import deque
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from composer.core.problems import UserError
from composer.core.program import CONF

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

#: The packages whose YAML may set Hydra's own config, beside our own folder.
HYDRA_PACKAGES = re.compile(r"(hydra|hydra_plugins)(\.|$)")

#: A part of a defaults list, or of an override's key, that reaches into Hydra's own config.
INTO_HYDRA = re.compile(r"(^|[/@.\s])hydra([/@.:=\s]|$)")

#: The first lines of a file that Hydra reads: '# @package _global_'.
HEADER = re.compile(r"#+\s*@(.*)")

PLAIN = "A config holds plain values: choose registered entries by type, and name code of your own with plugins=[...]."
GIVE_THEM = "Hydra's own settings are taken from the command line only, e.g. hydra/launcher=parallel."


class PlainLoader(yaml.SafeLoader):
    """Reads YAML as OmegaConf does: 1e3 is a number, and a date is a text."""


class FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same in C, ten times faster. Its errors say less, so that a file with an error is read again in Python."""


for _loader in (PlainLoader, FastLoader):
    _loader.yaml_implicit_resolvers = {
        start: [(tag, pattern) for tag, pattern in known if not tag.endswith((":timestamp", ":float"))]
        for start, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    _loader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


@dataclass(frozen=True)
class ConfigFile:
    """A YAML file in memory, which nobody may change.

    folder: the folder of configs that the file is in
    trusted: whether this folder belongs to this package, to Hydra, or to a plugin of Hydra
    package: the package that the file's first line names; None without such a line
    lines: for every key, at any depth, its path and its line; without the list of defaults
    """

    path: Path
    folder: Path
    trusted: bool
    package: str | None
    content: dict[Any, Any]
    lines: dict[str, int]

    @property
    def shown(self) -> str:
        """The file's path in messages: relative to the working folder, or as conf/... for those of this package."""
        if self.path.is_relative_to(Path.cwd()):
            return str(self.path.relative_to(Path.cwd()))
        return str(self.folder.name / self.path.relative_to(self.folder))


#: The folder of configs of the user (--config-dir), which is at the end of the search path.
user_folder: ContextVar[Path | None] = ContextVar("user_folder", default=None)


def folder_of_user(given: str | Path | None = None) -> Path | None:
    """The user's folder of configs: the one that is given, or else ./conf, unless that is our own."""
    if given is not None and not Path(given).is_dir():
        raise UserError(f"--config-dir: there is no folder '{given}'.")
    folder = Path("conf" if given is None else given).resolve()
    return folder if given is not None or (folder.is_dir() and folder != CONF) else None


#: The files that this process has read, each with its time of change and its size when it was read.
files: dict[Path, tuple[tuple[int, int], ConfigFile]] = {}


@dataclass(frozen=True)
class ConfigFolder:
    """A folder of Hydra's search path.

    trusted: whether the folder belongs to this package, to Hydra, or to a plugin of Hydra
    """

    path: Path
    trusted: bool

    @classmethod
    def of(cls, entry: str | None) -> ConfigFolder | None:
        """The folder of an entry such as pkg://hydra.conf; None for Hydra's schemas and packages without a folder."""
        scheme, _, place = (entry or "structured://").rpartition("://")
        if scheme == "structured":
            return None
        if os.path.isabs(place):
            return cls(Path(place), trusted=Path(place) == CONF)
        package = place.replace("/", ".").rstrip(".")
        spec = importlib.util.find_spec(package)
        found = next(iter(spec.submodule_search_locations or ()), None) if spec is not None else None
        return cls(Path(found), bool(HYDRA_PACKAGES.match(package))) if found is not None else None

    def file(self, config_path: str) -> Path:
        return self.path / f"{config_path.removesuffix('.yaml')}.yaml"

    def read(self, config_path: str) -> ConfigFile:
        """A config of this folder by its path in it, without suffix."""
        path = self.file(config_path)
        inside = Path(os.path.abspath(path)) if self.trusted else path.resolve()
        if not inside.is_relative_to(self.path if self.trusted else self.path.resolve()):
            raise UserError(
                f"'{config_path}' leads out of the folder of configs '{self.path}'. An option is a file inside of it."
            )
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = files.get(path)
        if known is None or known[0] != stamp:
            known = files[path] = (stamp, self._parsed(path, config_path))
        return known[1]

    def _parsed(self, path: Path, config_path: str) -> ConfigFile:
        name = ConfigFile(path, self.path, self.trusted, None, {}, {}).shown
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            byte, line = error.object[error.start], error.object[: error.start].count(b"\n") + 1
            raise UserError(
                f"{name}:{line}\n  is not UTF-8: it has the byte 0x{byte:02x}. Save it as UTF-8."
            ) from error
        except OSError as error:
            raise UserError(f"{name}\n  cannot be read: {error.strerror}.") from error
        if not self.trusted and config_path.split("/")[0] == "hydra":
            raise UserError(f"{name}\n  is an option of 'hydra', which can call functions. {GIVE_THEM}")
        return ConfigFile(path, self.path, self.trusted, *parse(text, name, trusted=self.trusted))


def parse(text: str, name: str, *, trusted: bool = False) -> tuple[str | None, dict[Any, Any], dict[str, int]]:
    """The package, the content and the lines of YAML. Raises a UserError for what is no mapping of plain values, and
    unless the text is trusted, for what reaches into Hydra's own config or could stop a parser.
    """
    try:
        try:
            content, lines = _parsed(text, name, FastLoader, trusted)
        except (yaml.YAMLError, ValueError):
            content, lines = _parsed(text, name, PlainLoader, trusted)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        raise UserError(f"{name}{line}\n  is not YAML: {error.problem or error.context}.") from error
    except yaml.reader.ReaderError as error:
        number = text.count("\n", 0, error.position) + 1
        raise UserError(f"{name}:{number}\n  is not YAML: it has the character {chr(error.character)!r}.") from error
    except ValueError as error:  # a value that looks like a number or a date, and is none
        raise UserError(f"{name}\n  is not YAML that can be read: {error}.") from error
    if content is not None and not isinstance(content, dict):
        raise UserError(
            f"{name}\n  expected keys and values (key: value), found {type(content).__name__} {content!r:.60}."
        )
    package = _package(text, name)
    if not trusted:
        _check_hydra(content or {}, package, name)
    return package, content or {}, lines


def _parsed(text: str, name: str, kind: Any, trusted: bool) -> tuple[Any, dict[str, int]]:
    if not trusted:
        _check_events(yaml.parse(text, Loader=kind), name)
    loader = kind(text)
    try:
        node = loader.get_single_node()
        lines = dict(_lines(loader, node, name, () if trusted else CALLING))
        return loader.construct_document(node) if node is not None else None, lines
    finally:
        loader.dispose()


def _lines(loader: Any, node: Any, name: str, refused: Collection[str], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Every key with its line. A key is spelled as OmegaConf reads it: 1e3 is 1000.0."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:  # which have no place of their own, but keys to check
            deque(_lines(loader, item, name, refused), maxlen=0)
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        merges = key.tag == "tag:yaml.org,2002:merge"
        word = key.value if merges or key.value in refused else loader.construct_object(key, deep=True)
        if word in refused:
            raise UserError(f"{name}:{line}\n  has the key '{word}', which makes Hydra call a function. {PLAIN}")
        if not isinstance(word, str | int | float | bool):
            raise UserError(f"{name}:{line}\n  has the key {word!r}. A key is a word.")
        if isinstance(word, str) and not merges and sum(key.value == other.value for other, _ in node.value) > 1:
            raise UserError(f"{name}:{line}\n  is not YAML: found duplicate key {word}.")
        yield f"{prefix}{word}", line
        yield from _lines(loader, value, name, refused, f"{prefix}{word}.")


def _package(text: str, name: str) -> str | None:
    """The package that the first lines of a file name."""
    package = None
    for line in filter(None, map(str.strip, text.splitlines())):
        found = HEADER.match(line)
        if found is None:
            break
        words = found[1].split()
        if len(words) != 2:
            raise UserError(f"{name}:1\n  expected '# @package' and a package, e.g. _global_, found '{line}'.")
        package = words[1] if words[0] == "package" else package
    return package


def _check_events(events: Iterator[yaml.Event], name: str) -> None:
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


def _check_hydra(content: dict[Any, Any], package: str | None, name: str) -> None:
    """Raise a UserError if a file reaches into Hydra's own config."""
    if "hydra" in content or INTO_HYDRA.search(package or ""):
        raise UserError(f"{name}\n  sets 'hydra', which can call functions. {GIVE_THEM}")
    defaults = content.get("defaults")
    if "defaults" in content and not isinstance(defaults, list):
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


def circle() -> list[ConfigFile]:
    """The files, of those that this process has read, whose lists of defaults lead back to them."""
    known = {path: file for path, (_, file) in files.items() if path.is_file()}
    includes = {path: set(_included(file)) for path, file in known.items() if file.content.get("defaults")}
    while ends := [path for path, others in includes.items() if includes.keys().isdisjoint(others)]:
        for path in ends:
            del includes[path]
    return [known[path] for path in includes if any(path in others for others in includes.values())]


def _included(file: ConfigFile) -> Iterator[Path]:
    """The files that a list of defaults names."""
    for entry in file.content["defaults"]:
        for group, names in entry.items() if isinstance(entry, dict) else [("", entry)]:
            for name in names if isinstance(names, list) else [names]:
                path = str(group).removeprefix("override ").partition("@")[0] + f"/{name}.yaml".replace("//", "/")
                absolute = path.startswith("/") and (group or str(name).startswith("/"))
                yield (file.folder if absolute else file.path.parent) / path.lstrip("/")
