"""What holds of the code itself."""

import ast
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.support.paths import ROOT

SOURCES = sorted([*ROOT.glob("composer/**/*.py"), *ROOT.glob("blocks/**/*.py"), ROOT / "train.py"])


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_catalogue_needs_the_protocol_alone():
    heavy = {"hydra", "omegaconf", "lightning", "wandb", "rich"}
    for path in ROOT.glob("blocks/**/*.py"):
        assert not heavy & {name.split(".")[0] for name in imports(path)}, path


def test_nothing_instantiates_or_unpickles():
    words = re.compile(r"_target_|hydra\.utils|instantiate\(|weights_only=False|pickle\.load|\beval\(|\bexec\(")
    for path in SOURCES:
        code = "\n".join(line for line in path.read_text().splitlines() if ".eval()" not in line)
        assert not words.search(code), f"{path}: {words.search(code)}"


@pytest.mark.slow
def test_no_architecture_is_known_by_name_in_the_kernel():
    """No branch on a block's name: the kernel knows blocks by what their signatures say."""
    from composer.core import registry

    names = {name for kind in ("mixer", "cross", "embedding", "head") for name in registry.blocks(kind)}
    for path in ROOT.glob("composer/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                found = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
                assert not found & names, f"{path}:{node.lineno} compares with {found & names}"


QUICK = [
    "composer.cli.main",
    "composer.config.composition",
    "composer.config.completion",
    "composer.views.drawing",
    "train",
]


@pytest.mark.slow
@pytest.mark.parametrize("module", QUICK)
def test_what_answers_quickly_does_not_import_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules or 'lightning' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_train_is_short():
    assert len((ROOT / "train.py").read_text().splitlines()) < 80


def test_a_package_would_have_every_module_of_the_kernel():
    """Hatchling leaves out what .gitignore names: a pattern such as ``runs/`` would take the room with it."""
    tracked = subprocess.run(["git", "ls-files", "composer"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a repository")
    modules = {str(path.relative_to(ROOT)) for path in ROOT.glob("composer/**/*.py")}
    assert modules <= set(tracked.stdout.split())
    names = "\n".join(sorted(modules))
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=ROOT,
        input=names,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ignored.stdout == ""


@pytest.mark.slow
def test_the_wheel_and_the_source_distribution_have_every_module_and_config(tmp_path):
    build = "import sys; from hatchling.build import *; build_wheel(sys.argv[1]); build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,), (source,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        installed = set(file.namelist())
    with tarfile.open(source) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    folders = [ROOT / name for name in ("composer", "blocks", "conf", "hydra_plugins")]
    files = [path for folder in folders for suffix in ("py", "pyi", "yaml") for path in folder.rglob(f"*.{suffix}")]
    wanted = {path.relative_to(ROOT).as_posix() for path in files}
    assert "composer/core/block.py" in wanted
    inside = {f"composer/{name}" if name.startswith(("blocks/", "conf/")) else name for name in wanted}
    assert inside <= installed
    assert {name.partition("/")[0] for name in installed if ".dist-info" not in name} == {"composer", "hydra_plugins"}
    assert wanted | {"train.py", "pyproject.toml", "README.md"} <= packed


def mutable(value):
    """Whether a value at the top of a module is made to be filled later: an empty collection, a stack, a variable."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in {"ContextVar", "Recorder", "WeakKeyDictionary"} or (
            not value.args and not value.keywords and value.func.id in {"dict", "list", "set", "deque"}
        )
    return (isinstance(value, ast.List) and not value.elts) or (isinstance(value, ast.Dict) and not value.keys)


def test_what_a_process_keeps_beside_its_objects_is_listed():
    """The docstring of the lowest room lists every module with a stack, a ContextVar or a collection of its own."""
    found = set()
    for path in ROOT.glob("composer/**/*.py"):
        tree = ast.parse(path.read_text())
        values = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
        if any(map(mutable, values)) or any(isinstance(node, ast.Global) for node in ast.walk(tree)):
            found.add(path.relative_to(ROOT / "composer").as_posix())
    index = ast.get_docstring(ast.parse((ROOT / "composer/core/__init__.py").read_text()))
    assert found <= set(re.findall(r"^(\w+/[\w/]+\.py)", index, re.M))


def test_no_module_is_long_and_no_room_has_many_at_its_top():
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in SOURCES}
    assert [name for name, count in lines.items() if count > 350] == []
    for room in ROOT.glob("composer/*/__init__.py"):
        assert len(list(room.parent.glob("*.py"))) <= 16, room.parent
