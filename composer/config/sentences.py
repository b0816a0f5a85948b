"""Hydra's errors in the words of this project: the override or the file, what is wrong, and what to do."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, GrammarParseError, OmegaConfBaseException

from composer.config.resolution import paths, suggestions
from composer.config.yaml_files import ConfigFolder, circle
from composer.core.problems import UserError, did_you_mean, listed, suggest

#: A name that an override takes as it is.
PLAIN = re.compile(r"[\w.:/+-]+")


@contextmanager
def hydra_errors(overrides: Sequence[str]) -> Iterator[None]:
    """Turn Hydra's exceptions into user errors of one clear sentence."""
    try:
        yield
    except RecursionError as error:
        if not _while_reading(error):
            raise
        raise UserError(_circle(overrides)) from error
    except (HydraException, OmegaConfBaseException) as error:
        if isinstance(error.__cause__, UserError):
            raise error.__cause__ from error
        raise UserError(_sentence(error, overrides)) from error
    except ValueError as error:
        if str(error).startswith(("Only one of --run", "The --resolve flag")):
            raise UserError(f"command line: {error}.") from error
        if not str(error).startswith("Config group override"):
            raise
        nothing = [o for o in overrides if o.endswith("=null")] or overrides
        raise UserError(f"command line: {listed(nothing)}\n  a group takes the name of an option.") from error


def _while_reading(error: BaseException) -> bool:
    """Whether an error was raised while a config was read or composed, and not by a program that runs within Hydra."""
    frames, frame = deque[str](maxlen=20), error.__traceback__
    while frame is not None:
        frames.append(frame.tb_frame.f_globals.get("__name__", "").partition(".")[0])
        frame = frame.tb_next
    return not {"hydra", "omegaconf", "antlr4", "yaml"}.isdisjoint(frames) and "torch" not in frames


def _circle(overrides: Sequence[str]) -> str:
    """What is wrong where Hydra's recursion does not end: defaults lists that include each other, or deep nesting."""
    files = [file.shown for file in circle()]
    if len(files) == 1:
        return f"{files[0]}\n  includes itself in its list of defaults. Remove it there."
    if files:
        return f"{listed(files)}\n  include each other in their lists of defaults, without an end. Remove one of them."
    return f"command line: {listed(overrides, 3)}\n  is nested too deeply to be read."


def _sentence(error: BaseException, overrides: Sequence[str]) -> str:
    cause = error.__cause__ or error
    text = str(error).strip()
    key = str(getattr(cause, "full_key", None) or "")
    if key and isinstance(cause, OmegaConfBaseException):
        same = [o for o in overrides if o.lstrip("+~").split("=")[0] == key]
        given = next((o for o in same if o.startswith("~")), same[0] if same else key)
        parent, _, name = key.rpartition(".")
        if not isinstance(cause, ConfigKeyError | ConfigAttributeError):
            return f"command line: {given}\n  '{key}' cannot have this value{_reason(cause)}."
        siblings = [str(k) for k in cause.parent_node or {}] if hasattr(cause.parent_node, "keys") else []
        has = f"  (has: {listed(siblings)})" if siblings else ""
        if given.startswith("~"):
            return f"command line: {given}\n  '{key}' cannot be removed. Choose something else in its place."
        root = cause.parent_node._get_root() if cause.parent_node is not None else {}
        every = paths(OmegaConf.to_container(root, resolve=False) if root else {})
        near = suggestions(key, [path for path in every if not path.startswith(("study.", "search."))])
        _, equals, value = given.partition("=")
        meant = suggest(given.lstrip("+~"), *(f"{path}{equals}{value}" for path in near))
        hint = meant or did_you_mean(name, siblings)
        return f"command line: {given}\n  '{parent or 'the config'}' has no key '{name}'.{hint}{has}"
    if (gone := re.match(r"Could not delete from config\. '(.*)' does not exist", text)) is not None:
        given = next((o for o in overrides if o.startswith("~") and o[1:].split("=")[0] == gone[1]), f"~{gone[1]}")
        return f"command line: {given}\n  there is nothing to remove: '{gone[1]}' has no value."
    unknown = re.search(r"unexpected keyword argument '(\w+)'.*full_key: (hydra\.\w+)$", text, re.S)
    if unknown is not None:  # of a launcher or a sweeper
        name, section = unknown.groups()
        given = next((o for o in overrides if o.lstrip("+").startswith(f"{section}.{name}")), section)
        return f"command line: {given}\n  '{section}' has no key '{name}'."
    if isinstance(error, OverrideParseException):
        return f"command line: {error.override}\n  {not_an_override(str(error.override))}"
    missing = re.match(
        r"In '([^']*)': Could not (?:find|load) '([^']*)'(?:\s+Available options in '[^']*':(.*?)\nConfig)?", text, re.S
    )
    if missing:
        group, _, name = missing[2].rpartition("/")
        options = (missing[3] or "").split() or _options(group, re.findall(r"path=(\S+)", text))
        given = next(
            (f"command line: {o}" for o in overrides if name in re.split(r"[=,\[\]]", o)), f"{missing[1]}.yaml"
        )
        known = f"  ({group}: {listed(options, 40)})" if options and group else ""
        return f"{given}\n  there is no {group or 'config'} '{name}'.{did_you_mean(name, options)}{known}"
    return " ".join(text.split())


def not_an_override(text: str) -> str:
    """What is wrong with a text that cannot be read as an override, and how to quote its value, if that helps."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        return "is not an override. Write key=value, e.g. mixer=lstm."
    in_list = value.startswith("[") and value.endswith("]")
    names = [name.strip() for name in value[1:-1].split(",")] if in_list else [value]
    quoted = [name if PLAIN.fullmatch(name) else '"' + name.replace('"', r"\"") + '"' for name in names]
    better = f"{key}=[{','.join(quoted)}]" if in_list else f"{key}={quoted[0]}"
    try:
        wanted = OverridesParser.create().parse_override(better).value()
    except HydraException:
        wanted = None
    if wanted != (names if in_list else value) or (value[:1] in ("{", "[") and not in_list):
        return "has a value that cannot be read. Check its brackets, commas and quotes."
    return f"has a value that needs quotes, around it or around each of its names. Write {shlex.quote(better)}."


def _reason(error: BaseException) -> str:
    """Why OmegaConf does not take a value, if one of its usual errors says so."""
    text = str(error)
    if isinstance(error, GrammarParseError):
        return ": a value with ${...} in it needs a key there, e.g. ${model.dim}"
    if (merged := re.search(r"Cannot merge (\w+) with (\w+)", text)) is not None:
        words = {"DictConfig": "a mapping", "ListConfig": "a list"}
        kinds = [words.get(kind, "a value") for kind in merged.groups()]
        return f": {kinds[0]} and {kinds[1]} cannot be merged"
    if "is not an int" in text or "list index out of range" in text:
        return ": it is no place of that list"
    return ""


def _options(group: str, search: Sequence[str]) -> list[str]:
    """The options of a group, from its files: for a choice of several options, Hydra's error does not list them."""
    folders = [folder for entry in search if (folder := ConfigFolder.of(entry)) is not None]
    return sorted({file.stem for folder in folders for file in (folder.path / group).glob("*.yaml")})
