"""The files that come with the package: what the script writes, read under ``example:`` by every key of a path."""

import csv
import fnmatch
import tomllib
from collections import Counter, defaultdict

import pytest

from benchmarks.example_files import FILES
from composer.core.problems import ConfigError
from composer.core.storage.example_files import EXAMPLES
from composer.data import load_source
from tests.support.paths import ROOT


def rows(name, delimiter):
    with (EXAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def sentences(text):
    return [[tuple(line.split("\t")) for line in part.splitlines()] for part in text.strip().split("\n\n")]


def test_the_folder_holds_the_files_of_the_script():
    assert sorted(file.name for file in EXAMPLES.iterdir()) == sorted([*FILES, "vectors.txt"])


def test_the_vectors_are_those_of_the_words_in_the_commands():
    lines = [line.split(" ") for line in (EXAMPLES / "vectors.txt").read_text("utf-8").splitlines()]
    words = {word for row in rows("commands.tsv", "\t") for word in row["text"].split()}
    assert {len(line) for line in lines} == {1 + 16}
    assert words >= {line[0] for line in lines}, "rare words have none"


@pytest.mark.parametrize("name", sorted(set(FILES) - {"dates.conll"}))
def test_a_file_is_what_the_script_writes(name):
    assert (EXAMPLES / name).read_text(encoding="utf-8") == FILES[name]()


def test_sentences_without_a_date_are_what_the_script_writes_and_dates_are_tagged():
    """Another version of Babel may write a date in another way."""
    kept = sentences((EXAMPLES / "dates.conll").read_text("utf-8"))
    written = sentences(FILES["dates.conll"]())
    assert len(kept) == len(written)
    for one, other in zip(kept, written, strict=True):
        undated = all(tag == "O" for _, tag in other)
        assert one == other if undated else {tag for _, tag in one} >= {"B-DAY", "B-MONTH", "B-YEAR"}


def test_a_hypothesis_alone_does_not_tell_its_label():
    labels = defaultdict(Counter)
    for row in rows("entailment.tsv", "\t"):
        labels[row["hypothesis"].split(maxsplit=1)[1]][row["label"]] += 1
    guessed = sum(count.most_common(1)[0][1] for count in labels.values())
    assert guessed / sum(count.total() for count in labels.values()) < 0.45


def test_a_command_has_a_tag_for_every_word():
    found = rows("intents.tsv", "\t")
    assert all(len(row["words"].split()) == len(row["tags"].split()) for row in found)
    assert len({row["intent"] for row in found}) == 7


def test_the_files_are_in_what_is_installed():
    """The wheel has the folders of its packages, without what .gitignore names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    packages = {*wheel["packages"], *wheel["force-include"]}
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()]
    for file in [*EXAMPLES.iterdir(), *(ROOT / "conf").rglob("*.yaml")]:
        parts = file.relative_to(ROOT).parts
        assert parts[0] in packages
        assert not [pattern for part in parts for pattern in ignored if fnmatch.fnmatch(part, pattern)]


FIELDS = {"words": {"type": "words", "column": "words"}}


@pytest.mark.parametrize(("key", "split"), [("path", "train"), ("valid", "valid"), ("test", "test")])
def test_every_key_of_a_path_takes_an_example(tmp_path, key, split):
    (tmp_path / "mine.conll").write_text("on\tO\nMay\tB-MONTH\n\nin\tO\n1970\tB-YEAR\n")
    config = {"type": "table", "path": str(tmp_path / "mine.conll"), "valid": 0.0, "fields": FIELDS}
    source = load_source({**config, key: "example:dates.conll"})
    assert source.size(split) == len(sentences((EXAMPLES / "dates.conll").read_text("utf-8")))


def test_other_sources_take_an_example_too():
    text = load_source({"type": "text", "path": "example:entailment.tsv", "column": "premise"})
    assert text.size("train") > 0
    tagged = load_source({"type": "tagged", "path": "example:dates.conll"})
    assert tagged.size("train") + tagged.size("valid") == len(sentences((EXAMPLES / "dates.conll").read_text("utf-8")))


@pytest.mark.parametrize("key", ["path", "valid", "test"])
@pytest.mark.parametrize("name", ["intent.tsv", "../files.py", "", "*.tsv"])
def test_an_unknown_example_is_refused_with_the_names_of_all(key, name):
    config = {"type": "table", "path": "example:intents.tsv", "fields": FIELDS, key: f"example:{name}"}
    with pytest.raises(ConfigError) as caught:
        load_source(config)
    (problem,) = caught.value.problems
    assert problem.path == f"data.{key}"
    assert f"no example file '{name}'" in problem.message
    assert all(known in problem.message for known in FILES)
    assert ("Did you mean 'intents.tsv'?" in problem.message) == (name == "intent.tsv")
