"""The functions that docs/architecture.md names are there, so that the page can be followed."""

import ast
import re
from functools import cache

import pytest

from tests.support.paths import ROOT

ROW = re.compile(r"^\| `([\w.]+)` \| `([\w/]+\.py)` \|", re.M)
STEPS = ROW.findall((ROOT / "docs" / "architecture.md").read_text())


@cache
def defined(file):
    """The functions and classes of a module, and those inside its classes; names that a package imports count, too."""
    names = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        if isinstance(node, ast.ImportFrom) and file.endswith("__init__.py"):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def test_the_page_names_every_way():
    assert len(STEPS) > 30
    assert (ROOT / "docs" / "architecture.md").read_text().count("\n| function | file |") == 4


@pytest.mark.parametrize(("function", "file"), sorted(set(STEPS)))
def test_a_function_that_the_page_names_is_there(function, file):
    assert function in defined(file)
