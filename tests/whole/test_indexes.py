"""What lists the rooms and modules lists all of them: CONTRIBUTING.md, and the docstrings of packages."""

import ast
import re
import tomllib

import pytest

from tests.support.paths import ROOT

#: A line of an index in a package's docstring: a module or a folder, and what it holds.
ENTRY = re.compile(r"^(\w+(?:\.py|/))\s+\S", re.M)


def index(package):
    return ENTRY.findall(ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or "")


def contents(package):
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py", "__main__.py"}
    return modules, {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}


PACKAGES = [path.parent for path in sorted(ROOT.glob("composer/**/__init__.py"))]
INDEXED = {str(package.relative_to(ROOT)): package for package in PACKAGES if index(package)}


def test_some_packages_have_an_index():
    assert {"composer/data", "composer/training", "composer/testing"} <= set(INDEXED)


@pytest.mark.parametrize("name", INDEXED)
def test_a_packages_index_lists_what_is_there(name):
    """Every folder; and if it lists any module, every module."""
    modules, folders = contents(INDEXED[name])
    listed = index(INDEXED[name])
    wanted = folders | modules if any(entry.endswith(".py") for entry in listed) else folders
    assert sorted(listed) == sorted(wanted)


def layers():
    """The rooms from the top down, as import-linter holds them; those of one layer may not import each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rooms = next(contract for contract in contracts if contract["name"] == "rooms")
    return [layer.split(" | ") for layer in rooms["layers"]]


ROOMS = {f"{room}/" for layer in layers() for room in layer}


def test_the_table_of_rooms_is_the_contract():
    """A row has the rooms of one layer."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where things are")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", section, re.M)
    assert [re.findall(r"\w+", row) for row in rows] == layers()


def test_the_rooms_are_the_folders_of_composer():
    assert contents(ROOT / "composer")[1] == ROOMS | {"catalogue/"}  # which finds blocks/


def test_the_tests_mirror_the_rooms():
    beside = {"blocks/", "benchmarks/", "whole/", "support/"}
    assert contents(ROOT / "tests")[1] == ROOMS | beside


def test_the_files_that_contributing_names_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for name in re.findall(r"`((?:composer|blocks|conf|tests|benchmarks)/[\w/.]*\w)`", text):
        assert (ROOT / name).exists(), name
