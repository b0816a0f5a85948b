"""How large and how winding the code is: lines of code by room, loose modules, repeated file names, and hops.

Lines of code are lines of ``composer/`` that hold a token other than a comment or a docstring. A hop is a function of
ours (``composer/``, ``hydra_plugins/``, ``train.py``) that a command enters, counted once however often the function is
called; lambdas, comprehensions and the bodies of modules and classes do not count. Four commands are followed: a config
to its graph (describe), a row of a file to an optimiser step (a run of one step), a prompt to a token (generate), and a
study to a line of its report (a study of two runs, and compare). Trials of a study are runs, and are not followed.

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
root, out, *arguments = sys.argv[1:]
sys.path.insert(0, root)
ours = tuple(os.path.join(root, part) for part in ("composer" + os.sep, "hydra_plugins" + os.sep, "train.py"))
entered, known = set(), {}

def profile(frame, event, argument):
    if event == "call":
        code = frame.f_code
        mine = known.get(code)
        if mine is None:
            mine = known[code] = code.co_filename.startswith(ours) and "<" not in code.co_qualname.rsplit(".", 1)[-1]
            if mine and not (code.co_flags & 1 == 0):  # not the body of a class, which is not optimised
                entered.add((code.co_filename[len(root) + 1:], code.co_qualname))

def write():
    sys.setprofile(None)
    if os.getpid() == parent:
        with open(out, "w") as file:
            json.dump(sorted(entered), file)

parent = os.getpid()
atexit.register(write)
threading.setprofile(profile)
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


def follow(root: Path, folder: Path, arguments: list[str]) -> set[tuple[str, str]]:
    """The functions of ours that a command enters, as (file, qualified name)."""
    out = folder / "entered.json"
    out.unlink(missing_ok=True)
    environment = os.environ | {
        "PYTHONPATH": str(root),
        "WANDB_MODE": "disabled",
        "COMPOSER_CACHE": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW, str(root), str(out), *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not out.exists() or done.returncode:
        raise SystemExit(
            f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    return {tuple(entry) for entry in json.loads(out.read_text())}


def hops(root: Path, save: Path | None) -> None:
    """Prints how many functions and files each of the four ways enters; ``save`` keeps the lists."""
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
            "study to report": [study, ["composer", "compare", "runs/study", "-o", "report.html"]],
        }
        follow(root, folder, model)
        print(f"{'way':24} {'hops':>5} {'files':>6}")
        for way, commands in ways.items():
            entered = set().union(*(follow(root, folder, command) for command in commands))
            print(f"{way:24} {len(entered):5} {len({file for file, _ in entered}):6}")
            if save is not None:
                save.mkdir(parents=True, exist_ok=True)
                lines = [f"{file} {function}\n" for file, function in sorted(entered)]
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
