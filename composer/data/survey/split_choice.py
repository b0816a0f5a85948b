"""Files of the other splits beside a training file, by their names, and rows that occur in several places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from composer.data.files.lines import bare
from composer.data.source import Split
from composer.data.splits.splits import WORDS

#: A word of a file's name that tells its split: train, test2016, devset.
TELLS = re.compile(rf"({'|'.join(sorted(WORDS, key=len, reverse=True))})(?:set|data)?\d*")

#: What the files of the splits are called.
NAMES: dict[Split, str] = {"train": "training", "valid": "validation", "test": "test"}

#: The number of a shard: train-00000-of-00004.parquet
SHARD = re.compile(r"-\d{5}-of-\d{5}$")

#: Suffixes of parallel files, of which each is in a language, and those of the language to translate into.
LANGUAGES = frozenset(
    """ar bg bn cs da de el en es et fa fi fr gu he hi hr hu id it ja kk ko lt lv nl no pl pt ro ru sk sl sr sv ta te th
    tr uk ur vi zh src tgt trg source target""".split()  # noqa: SIM905 - more readable
)
TARGETS = ("en", "target", "tgt", "trg")

#: Words of the names of test files that have no targets.
COVERED = frozenset(("covered", "blind", "unlabeled", "unlabelled", "nolabel", "nolabels", "hidden"))


class SplitName(NamedTuple):
    """The name of a file of a split.

    word: the word that tells the split
    before: the words before it
    after: those behind it, without the suffix
    suffix: of the file, without that of a compressed one
    """

    split: Split
    word: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    suffix: str

    @property
    def covered(self) -> bool:
        return not COVERED.isdisjoint((*self.before, *self.after))

    def distance(self, other: SplitName) -> int | None:
        """The number of words by which two files of different splits differ; None where they do not belong together."""
        if self.suffix != other.suffix or self.before != other.before:
            return None
        mine, theirs = set(self.after), set(other.after)
        own, strange = ({word for word in words if not word.isdigit()} for words in (mine - theirs, theirs - mine))
        return None if own and strange else len(mine ^ theirs)


def split_name(file: Path) -> SplitName | None:
    """How the name of a file tells its split; None where no word of it, or more than one, tells a split."""
    path = bare(file)
    dotted = path.suffix and not TELLS.fullmatch(path.suffix[1:].lower())
    stem, suffix = (path.stem, path.suffix.lower()) if dotted else (path.name, "")
    words = [word.lower() for word in re.split(r"[^A-Za-z0-9]+", SHARD.sub("", stem))]
    told = [(place, found) for place, word in enumerate(words) if (found := TELLS.fullmatch(word)) is not None]
    if len(told) != 1:
        return None
    [(place, found)] = told
    return SplitName(WORDS[found[1]], found[0], tuple(words[:place]), tuple(words[place + 1 :]), suffix)


@dataclass
class Divided:
    """The files of the training split, and those of the other splits that belong to them.

    folders: the folder of every split, where a split is a folder
    left: files that are not taken, by the reason
    """

    train: list[Path]
    others: dict[Split, list[Path]] = field(default_factory=dict)
    folders: dict[Split, Path] = field(default_factory=dict)
    left: dict[str, list[Path]] = field(default_factory=dict)

    def leave(self, files: Iterable[Path], reason: str) -> None:
        self.left.setdefault(reason, []).extend(files)


def divided(files: Sequence[Path]) -> Divided | None:
    """The files of the splits among these, or beside the only one; None where their names do not tell the splits.

    Of several training files the largest is taken, of parallel ones that of the language to translate from.
    """
    groups = grouped(files)
    trained = [name for name in groups if name.split == "train"]
    if sum(map(len, groups.values())) < len(files) or not trained:
        return None
    if len(files) == 1:
        around = grouped(sorted(file for file in files[0].parent.iterdir() if file.is_file()))
        return _with_others(trained[0], {**around, trained[0]: list(files)})
    if len(trained) == len(groups):
        return None
    size = {name: max(file.stat().st_size for file in groups[name]) for name in trained}
    largest = max(size, key=lambda name: (size[name], name))
    same = [name for name in size if name._replace(suffix="") == largest._replace(suffix="")]
    chosen = source_language(same) or largest
    found = _with_others(chosen, groups)
    for name in size:
        if name != chosen and name.suffix == chosen.suffix:
            found.leave(groups[name], "a further training file, smaller than the one that is taken")
    return found if found.others else None


def in_folders(path: Path, files: Sequence[Path]) -> Divided | None:
    """The files of the splits, where every file is inside of a folder that has the name of a split: train, test."""
    folders: dict[Split, Path] = {}
    inside: dict[Split, list[Path]] = {}
    for file in files:
        top = file.relative_to(path).parts[0]
        split = WORDS.get(top.lower())
        if split is None or file == path / top or folders.setdefault(split, path / top) != path / top:
            return None
        inside.setdefault(split, []).append(file)
    train = inside.pop("train", [])
    return Divided(train, inside, folders) if train and inside else None


def grouped(files: Iterable[Path]) -> dict[SplitName, list[Path]]:
    """Files of splits by their names; the shards of a split have one name."""
    groups: dict[SplitName, list[Path]] = {}
    for file in files:
        if (name := split_name(file)) is not None:
            groups.setdefault(name, []).append(file)
    return groups


def source_language(names: Sequence[SplitName]) -> SplitName | None:
    """Of the names of parallel files, the one to translate from; None where they are not parallel."""
    if len(names) < 2 or not all(name.suffix[1:] in LANGUAGES for name in names):
        return None
    return min(names, key=lambda name: (name.suffix[1:] in TARGETS, name.suffix))


def _with_others(own: SplitName, groups: Mapping[SplitName, list[Path]]) -> Divided:
    """The training files with the validation and test files whose names differ least from theirs."""
    found, parallel = Divided(groups[own]), _languages(own, groups)
    near: list[tuple[int, SplitName]] = []
    for name, files in groups.items():
        if name.split == "train" or name.suffix != own.suffix:
            continue
        if name.covered:
            found.leave(files, "without targets, by its name")
        elif parallel and not _languages(name, groups):
            found.leave(files, "without a file in the other language")
        elif (distance := own.distance(name)) is not None:
            near.append((distance, name))
    for _, name in sorted(near):
        if name.split in found.others:
            found.leave(groups[name], f"another {NAMES[name.split]} file")
        else:
            found.others[name.split] = groups[name]
    return found


def _languages(own: SplitName, groups: Iterable[SplitName]) -> list[SplitName]:
    """The names of files that are parallel to a file: in other languages."""
    if own.suffix[1:] not in LANGUAGES:
        return []
    return [name for name in groups if name.suffix[1:] in LANGUAGES and name[:-1] == own[:-1] and name != own]


def as_path(files: Sequence[Path]) -> str:
    """The path of one file, or the pattern of several shards."""
    if len(files) == 1:
        return str(files[0])
    return re.sub(r"-\d{5}-of-", "-*-of-", str(files[0]))
