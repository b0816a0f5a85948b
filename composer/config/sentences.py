"""Hydra's errors in the words of this project: the override or the file, what is wrong, and what to do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, GrammarParseError, OmegaConfBaseException

from composer.config import yaml_files
from composer.config.loading import root
from composer.config.resolution import paths, suggestions
from composer.core.problems import UserError, did_you_mean, listed

#: A name that an override takes as it is.
PLAIN = re.compile(r"[\w.:/+-]+")


class hydra_errors:  # noqa: N801 - reads as a statement
    """Turn Hydra's exceptions into user errors of one clear sentence."""

    def __init__(self, overrides: Sequence[str]) -> None:
        self.overrides = overrides

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, yaml.MarkedYAMLError):
            mark = error.problem_mark
            place = f"{mark.name}:{mark.line + 1}" if mark is not None else "a YAML file"
            raise UserError(f"{place}\n  is not YAML: {error.problem}.") from error
        if isinstance(error, RecursionError) and yaml_files.while_reading(error):
            raise UserError(yaml_files.circle(self.overrides)) from error
        if isinstance(error, HydraException | OmegaConfBaseException):
            if isinstance(error.__cause__, UserError):
                raise error.__cause__
            raise UserError(_sentence(error, self.overrides)) from error
        if isinstance(error, ValueError) and str(error).startswith("Config group override"):
            nothing = [o for o in self.overrides if o.endswith("=null")] or self.overrides
            raise UserError(f"command line: {listed(nothing)}\n  a group takes the name of an option.") from error


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
        near = suggestions(key, list(paths(cause.parent_node._get_root()))) if cause.parent_node is not None else []
        hint = did_you_mean(name, siblings) or (f" Did you mean {' or '.join(near)}?" if near else "")
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
    roots = [folder for path in search if (folder := root(path)) is not None]
    return sorted({file.stem for root in roots for file in (root / group).glob("*.yaml")})
