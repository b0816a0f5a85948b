"""What an override can begin with: groups, their options, slots and keys of the config that a command line chooses.

Hydra takes longer to import than a person waits for a completion. The files are read here as Hydra would read them, as
far as completion needs it: choices of groups, lists of defaults, packages. Nothing is resolved or checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from composer.config.yaml_files import PRIMARY, ConfigFile, ConfigFolder, folder_of_user
from composer.core.problems import UserError
from composer.core.program import CONF

#: In an option, that of another group.
OTHER = re.compile(r"\$\{([\w/]+)\}")

#: Groups whose options change the choices of other groups.
CHOOSING = ("experiment", "study", "search")


class Completion:
    """
    choices: of groups, those of the words and of the files that they choose
    slots: the packages of the files of every group, such as mixer -> model.nodes.encoder.mixer
    values: the keys of the config
    """

    def __init__(self, words: Sequence[str], config_dir: str | None = None) -> None:
        own = folder_of_user(config_dir)
        self.folders = [ConfigFolder(CONF, trusted=True), *([] if own is None else [ConfigFolder(own, trusted=False)])]
        self.choices: dict[str, Any] = {}
        self.slots: dict[str, list[str]] = {}
        self.values: dict[str, Any] = {}
        primary = self._file(PRIMARY)
        assert primary is not None
        given = dict(word.split("=", 1) for word in words if "=" in word)
        named: dict[str, Any] = {}
        for group in CHOOSING:
            named |= self._overridden(group, given.get(group))
        self.choices = dict(_entries(primary)) | named | given
        self.choices |= self._overridden("data", self._chosen(self.choices["data"])) | named | given
        self._add(primary, "")

    def _overridden(self, group: str, option: object) -> dict[str, Any]:
        """The choices of other groups by a file such as an experiment, and by those that it builds on."""
        found: dict[str, Any] = {}
        for key, chosen in _entries(self._file(f"{group}/{option}")):
            if not key:
                found |= self._overridden(group, chosen)
            elif key.startswith("override "):
                name, _, place = key.removeprefix("override ").lstrip("/").partition("@")
                found[name if place in ("", f"_global_.{name}") else f"{name}@{place}"] = chosen
        return found

    def complete(self, word: str) -> list[str]:
        """The words that this one may become; of a path, up to its next key."""
        key, equals, value = word.partition("=")
        group = key.partition("@")[0].lstrip("+~")
        if equals:
            head, _, begun = value.rpartition(",")  # of several options, the last one
            before = f"{key}={head}{',' if head else ''}" + ("[" if begun.startswith("[") else "")
            return [f"{before}{name}" for name in self.options(group) if name.startswith(begun.lstrip("["))]
        if "@" in key:
            return [f"{group}@{slot}=" for slot in self.slots.get(group, ()) if f"{group}@{slot}=".startswith(word)]
        sign = word[: len(word) - len(word.lstrip("+~"))]
        return [sign + name for name in sorted({*self._groups(), *self._keys(word[len(sign) :])})
                if name.startswith(word[len(sign) :])]  # fmt: skip

    def options(self, group: str) -> list[str]:
        return sorted({file.stem for folder in self.folders for file in (folder.path / group).glob("*.yaml")})

    def _groups(self) -> Iterator[str]:
        for group in (*self.choices, "hydra/launcher"):
            if "hydra/" not in group or group == "hydra/launcher":
                yield f"{group}="
                if self.slots.get(group):
                    yield f"{group}@"

    def _keys(self, word: str) -> Iterator[str]:
        *parents, _ = word.split(".")
        section: Any = self.values
        for name in parents:
            section = section.get(name) if isinstance(section, dict) else None
        prefix = "".join(f"{name}." for name in parents)
        for name, value in section.items() if isinstance(section, dict) else ():
            yield f"{prefix}{name}{'.' if isinstance(value, dict) and value else '='}"

    def _file(self, option: str) -> ConfigFile | None:
        for folder in self.folders:
            if folder.file(option).is_file():
                try:
                    return folder.read(option)
                except UserError:  # that command will say what is wrong
                    return None
        return None

    def _add(self, file: ConfigFile | None, package: str, group: str = "") -> None:
        """Merge a file and the files of its list of defaults into the values."""
        if file is None:
            return
        package = "" if file.package == "_global_" else package
        for key, option in _entries(file):
            if key.startswith(("override ", "hydra")):
                continue
            name, _, place = key.removeprefix("optional ").partition("@")
            name = name.lstrip("/") if name.startswith("/") or not group else "/".join(filter(None, (group, name)))
            inside = package if not key or place == "_here_" else ".".join(filter(None, (package, place or name)))
            if place and place != "_here_":
                self.slots.setdefault(name, []).append(inside)
            chosen = self._chosen(self.choices.get(f"{name}@{inside}", option if group else self.choices[name]))
            for one in chosen if isinstance(chosen, list) else str(chosen).strip("[]").split(","):
                self._add(self._file(f"{name}/{one}"), inside, name)
        section = self.values
        for part in package.split(".") if package else ():
            section = _section(section, part)
        _merge(section, {key: value for key, value in file.content.items() if key not in ("defaults", "hydra")})

    def _chosen(self, option: Any) -> Any:
        """An option of a list of defaults; ${mixer} stands for that of another group."""
        for _ in range(5):  # which may be that of a third
            if isinstance(option, str):
                option = OTHER.sub(lambda found: str(self.choices.get(found[1], "")), option)
        return option


def _entries(file: ConfigFile | None) -> Iterator[tuple[str, Any]]:
    """The entries of a list of defaults: a group and its option; without a group, another file of the same group."""
    for entry in (file.content.get("defaults") if file is not None else None) or ():
        if isinstance(entry, dict):
            yield from entry.items()
        elif entry != "_self_":
            yield "", entry


def _merge(section: dict[str, Any], values: dict[Any, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, dict):
            _merge(_section(section, key), value)
        else:
            section[key] = value


def _section(values: dict[str, Any], key: str) -> dict[str, Any]:
    """The mapping at a key, which is made if there is none."""
    if not isinstance(values.get(key), dict):
        values[key] = {}
    made: dict[str, Any] = values[key]
    return made
