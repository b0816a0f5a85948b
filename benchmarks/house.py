"""How large and how winding the code is: lines of code by room, loose modules, repeated file names, and hops.

Lines of code are lines of ``composer/`` that hold a token other than a comment or a docstring. Functions of ours
(``composer/``, ``hydra_plugins/``, ``train.py``) that a command enters are counted once however often they are called;
lambdas, comprehensions and the bodies of modules and classes do not count. A hop is one of them that is under way, on
the stack, when the command reaches something outside: when it opens a file, calls a module of torch, computes a
gradient, takes a step of an optimiser, starts a process or prints. The hops are what a reader walks through; what is
entered includes every small function on the side. Four commands are followed: a config to its graph (describe), a row
of a file to an optimiser step (a run, whose hops end with its first step), a prompt to a token (generate), and a study
to a line of its report (a study of two runs, and compare without figures). Trials of a study are runs, and are not
followed.

    python -m benchmarks.house            # sizes and hops of this checkout
    python -m benchmarks.house --sizes    # sizes alone, in a second
    python -m benchmarks.house --root ../other_checkout
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}

#: Follows one command; standard input is the list of its arguments, the first of which is a program or ``composer``.
FOLLOW = """
import atexit, json, os, runpy, sys, threading
root, out, last, *arguments = sys.argv[1:]
sys.path.insert(0, root)
ours = tuple(os.path.join(root, part) for part in ("composer" + os.sep, "hydra_plugins" + os.sep, "train.py"))
outside = {
    ("torch/nn/modules/module.py", "Module._wrapped_call_impl"),
    ("torch/_tensor.py", "Tensor.backward"),
    ("torch/optim/optimizer.py", "Optimizer.profile_hook_step.<locals>.wrapper"),
    ("subprocess.py", "Popen.__init__"),
    ("multiprocessing/process.py", "BaseProcess.start"),
}
entered, passed, known, reaching, ended = set(), set(), {}, {}, False

def name_of(code):
    if code not in known:
        mine = code.co_filename.startswith(ours) and "<" not in code.co_qualname.rsplit(".", 1)[-1]
        function = mine and code.co_flags & 1  # not the body of a class, which is not optimised
        known[code] = (code.co_filename[len(root) + 1:], code.co_qualname) if function else None
    return known[code]

def reached(frame):
    while frame is not None and not ended:
        passed.add(name_of(frame.f_code))
        frame = frame.f_back

def profile(frame, event, argument):
    global ended
    if event == "call":
        code = frame.f_code
        entered.add(name_of(code))
        if code not in reaching:
            reaching[code] = any(code.co_filename.endswith(file) and code.co_qualname == name for file, name in outside)
        if reaching[code]:
            reached(frame)
            ended = ended or code.co_qualname == last
    elif event == "c_call":
        if argument is print or argument.__name__ == "write" and argument.__self__ in (sys.stdout, sys.stderr):
            reached(frame)

def audit(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and not arguments[0].endswith((".py", ".pyc", ".so", ".pyi")):
        reached(sys._getframe())

def write():
    sys.setprofile(None)
    if os.getpid() == parent:
        with open(out, "w") as file:
            json.dump([sorted(functions - {None}) for functions in (entered, passed)], file)

parent = os.getpid()
atexit.register(write)
threading.setprofile(profile)
sys.addaudithook(audit)
sys.argv = arguments
sys.setprofile(profile)
if arguments[0] == "composer":
    runpy.run_module("composer", run_name="__main__", alter_sys=False)
else:
    sys.argv[0] = os.path.join(root, arguments[0])
    runpy.run_path(sys.argv[0], run_name="__main__")
"""

SMALL = ["model.dim=16", "training.batch=2", "training.steps=1"]


def code_lines(path: Path) -> int:
    """The lines of a module with a token that is neither a comment nor part of a docstring."""
    text = path.read_text()
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node, False
        ):
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in NOT_CODE and token.type != tokenize.ENCODING:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def sizes(root: Path) -> None:
    """Prints lines of code and loose modules by room, files past 350 lines, and file names that occur twice."""
    composer = root / "composer"
    modules = sorted(composer.rglob("*.py"))
    lines = {path: code_lines(path) for path in modules}
    print(f"{'room':12} {'files':>6} {'loose':>6} {'code':>7}")
    for room in sorted(path for path in composer.iterdir() if (path / "__init__.py").exists()):
        inside = [path for path in modules if room in path.parents]
        print(f"{room.name:12} {len(inside):6} {len(list(room.glob('*.py'))):6} {sum(map(lines.get, inside)):7}")
    print(f"{'all':12} {len(modules):6} {'':6} {sum(lines.values()):7}")
    long = [path for path in modules if len(path.read_text().splitlines()) > 350]
    print(f"{len(long)} files past 350 lines: {', '.join(str(path.relative_to(root)) for path in long) or 'none'}")
    names = Counter(path.name for path in modules if path.name != "__init__.py")
    twice = sorted(name for name, times in names.items() if times > 1)
    print(f"{len(twice)} file names in more than one folder: {', '.join(twice) or 'none'}")


#: The step of an optimiser, as torch calls it.
STEP = "Optimizer.profile_hook_step.<locals>.wrapper"

Functions = set[tuple[str, str]]  # (file, qualified name)


def follow(root: Path, folder: Path, arguments: list[str], last: str = "") -> tuple[Functions, Functions]:
    """The functions of ours that a command enters, and those of them that are hops.

    last: the function outside with whose first call hops are no longer counted
    """
    out = folder / "entered.json"
    out.unlink(missing_ok=True)
    environment = os.environ | {
        "PYTHONPATH": str(root),
        "WANDB_MODE": "disabled",
        "COMPOSER_CACHE": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW, str(root), str(out), last, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not out.exists() or done.returncode:
        raise SystemExit(
            f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    entered, passed = ({(file, name) for file, name in functions} for functions in json.loads(out.read_text()))
    return entered, passed


def hops(root: Path, save: Path | None) -> None:
    """Prints the hops of the four ways, their files, and the functions entered; ``save`` keeps the lists."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = folder / "pairs.tsv"
        pairs.write_text("".join(f"a b c {n % 7}\t{n % 7} c b a\n" for n in range(60)))
        text = folder / "text.txt"
        text.write_text("the quick brown fox jumps over the lazy dog\n" * 200)
        run = ["train.py", "data=pairs", f"data.path={pairs}", *SMALL, "runs=runs", "name=pairs"]
        model = ["train.py", "model=language_model", "data=text", f"data.path={text}", *SMALL, "runs=runs", "name=text"]
        study = [
            "train.py",
            "-m",
            "mixer=gru,lstm",
            "data=pairs",
            f"data.path={pairs}",
            *SMALL,
            "runs=runs",
            "name=study",
        ]
        ways = {
            "argv to graph": [["composer", "describe", "model.dim=16"]],
            "row to optimiser step": [run],
            "prompt to token": [["composer", "generate", "runs/text", "the", "--length", "8"]],
            "study to report": [study, ["composer", "compare", "runs/study", "--no-figures", "-o", "report.html"]],
        }
        follow(root, folder, model)
        print(f"{'way':24} {'hops':>5} {'files':>6} {'entered':>8}")
        for way, commands in ways.items():
            last = STEP if way == "row to optimiser step" else ""
            followed = [follow(root, folder, command, last) for command in commands]
            entered, passed = (set().union(*functions) for functions in zip(*followed, strict=True))
            print(f"{way:24} {len(passed):5} {len({file for file, _ in passed}):6} {len(entered):8}")
            if save is not None:
                save.mkdir(parents=True, exist_ok=True)
                lines = [f"{'+' if hop in passed else ' '} {' '.join(hop)}\n" for hop in sorted(entered)]
                (save / f"{way.replace(' ', '_')}.txt").write_text("".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout that is measured (default: this one)")
    parser.add_argument("--sizes", action="store_true", help="sizes alone, without following commands")
    parser.add_argument("--save", type=Path, help="a folder for the lists of functions entered")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    sizes(root)
    if not arguments.sizes:
        hops(root, arguments.save and arguments.save.resolve())


if __name__ == "__main__":
    main()
