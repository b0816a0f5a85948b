"""Private names of Hydra, OmegaConf and Lightning break with a release of theirs: few modules may import them."""

import ast

from tests.support.paths import ROOT

LIBRARIES = ("hydra", "omegaconf", "lightning")

#: The modules that may import private names. Each says why in its first lines.
EXCEPTIONS: set[str] = set()


def private_imports(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            library, *parts = name.split(".")
            if library in LIBRARIES and any(part.startswith("_") and not part.endswith("__") for part in parts):
                yield name


def test_a_private_import_is_found():
    assert list(private_imports("from hydra._internal import hydra")) == ["hydra._internal.hydra"]
    assert list(private_imports("from lightning.fabric import _get_rank")) == ["lightning.fabric._get_rank"]
    assert not list(private_imports("from hydra import compose, __version__\nfrom torch.utils import _pytree"))


def test_private_names_are_imported_by_the_exceptions_alone():
    folders = ("composer", "blocks", "hydra_plugins", "benchmarks")
    files = [ROOT / "train.py", *(file for folder in folders for file in (ROOT / folder).rglob("*.py"))]
    found = {str(file.relative_to(ROOT)): list(private_imports(file.read_text())) for file in files}
    assert {file for file, names in found.items() if names} <= EXCEPTIONS, found
