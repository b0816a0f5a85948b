"""What a package index, a citation and a common CI read of the repository."""

import re
import tomllib

import yaml

from composer.core.version import __version__
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HOME = PROJECT["urls"]["Repository"]

#: Where a file of the repository is shown, and where a picture in it is.
FILES = (f"{HOME}/blob/main/", HOME.replace("github.com", "raw.githubusercontent.com") + "/main/")


def test_the_links_of_the_readme_are_absolute_and_lead_to_files():
    links = re.findall(r"\]\(([^)\s]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 20
    for link in links:
        assert link.startswith(("https://", "#")), f"{link}: an index shows no file of the repository"
        for base in FILES:
            if link.startswith(base):
                assert (ROOT / link.removeprefix(base).partition("#")[0]).is_file(), link
        assert not link.startswith(HOME) or link.startswith(FILES[0]), link


def test_the_citation_names_the_version_and_the_repository():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert citation["repository-code"] == HOME
    assert citation["abstract"] == PROJECT["description"]
    assert citation["license"] == PROJECT["license"]


def test_the_hooks_and_the_workflow_run_what_make_test_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]
    pinned = re.search(r"^ruff==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)
    assert hooks["rev"] == f"v{pinned[1]}"
    assert [hook["id"] for hook in hooks["hooks"]] == ["ruff-check", "ruff-format"]
    steps = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]["test"]["steps"]
    assert "make test" in [step.get("run") for step in steps]
    version = next(step["with"]["python-version"] for step in steps if "python-version" in step.get("with", {}))
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
