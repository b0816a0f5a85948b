"""One public address: README, docs and the catalogue import the names of ``composer.__all__``, and all are there."""

import ast
import dataclasses
import re

import pytest

import composer
from composer.core import registry
from tests.support.paths import ROOT

PYTHON = re.compile(r"```python\n(.*?)```", re.S)
ATTRIBUTE = re.compile(r"\bcomposer\.([A-Za-z]\w*)\b(?![./])")

#: The second address, for tests of one's own blocks.
TESTING = "composer.testing"


def imported(code):
    """Every (module, name) that some code imports from this project."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "composer":
            yield from ((node.module, alias.name) for alias in node.names)


def test_every_public_name_is_there():
    for name in composer.__all__:
        assert getattr(composer, name) is not None, name
    assert list(composer.__all__) == sorted(composer.__all__)


def test_pages_import_public_names_alone():
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    lines = {
        line.strip(" >") for page in pages for code in PYTHON.findall(page.read_text()) for line in code.split("\n")
    }
    found = {pair for line in lines if line.startswith(("from ", "import ")) for pair in imported(line)}
    assert ("composer", "register") in found
    for module, name in found:
        assert module == TESTING or (module == "composer" and name in composer.__all__), (module, name)
    for page in pages:
        for name in ATTRIBUTE.findall(page.read_text()):
            assert name in composer.__all__ or (ROOT / "composer" / name).is_dir(), (page.name, name)


def test_the_catalogue_uses_the_public_address_where_a_name_has_one():
    for path in ROOT.glob("blocks/**/*.py"):
        for module, name in imported(path.read_text()):
            assert module == "composer" or name not in composer.__all__, (path, module, name)


def test_the_page_on_extending_names_every_section_and_the_map_of_conf_every_group():
    extending, groups = (ROOT / "docs" / "extending.md").read_text(), (ROOT / "conf" / "README.md").read_text()
    for section in registry.SECTION_PACKAGES:
        assert f'@register("{section}"' in extending, section
    for folder in ROOT.glob("conf/*/"):
        assert folder.name.startswith("__") or f"| `{folder.name}` |" in groups, folder.name


def test_what_is_known_of_the_values_of_a_field_was_an_attribute_of_the_field_and_still_is():
    with pytest.warns(DeprecationWarning, match="Field.contents"):
        field = composer.Field("ids", vocabulary=2, tokens=("a", "b"), text=True)
    assert field == composer.Field("ids", vocabulary=2, contents=composer.Contents(tokens=("a", "b"), text=True))
    with pytest.warns(DeprecationWarning, match="Field.contents"):
        assert field.tokens == ("a", "b")
    with pytest.warns(DeprecationWarning, match="Field.contents"):
        assert dataclasses.replace(field, bleu="char").contents == dataclasses.replace(field.contents, bleu="char")


def test_names_of_earlier_versions_still_work_and_say_their_new_name():
    for old, new in composer._RENAMED.items():
        assert old not in composer.__all__
        with pytest.warns(DeprecationWarning, match=new):
            assert getattr(composer, old) is getattr(composer, new)
