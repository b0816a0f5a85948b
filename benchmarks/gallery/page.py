"""docs/gallery.md, written from the results."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.gallery.results import Result
from benchmarks.gallery.system import Arm, System
from composer.cli.gallery import System as Experiment
from composer.cli.gallery import systems as experiments
from composer.cli.main import main as command

INTRODUCTION = """\
# The gallery

Written by `python -m benchmarks.gallery --write`; the figures come from `benchmarks/gallery/results.jsonl`, in which
that script keeps what it has measured. `python -m composer gallery` lists the systems, and
`python train.py experiment=<name>` trains any of them on data that comes with the packages. The figures here are of the
data named in each section, with the commands as they were run. Brackets hold 95 % bootstrap intervals over the examples
of one run. Minutes are those of a run on two CPU cores, with whatever else ran beside it.
"""


Results = Mapping[tuple[str, str], Result]


def write_page(path: Path, systems: Sequence[System], results: Results) -> None:
    """The page, and a drawing of every system's graph in the folder beside it that has the page's name."""
    known = experiments()
    found = [system for system in systems if any((system.name, arm.name) in results for arm in system.arms)]
    parts = [INTRODUCTION, summary(found, results)]
    parts += [section(path, system, known[system.name], results) for system in found]
    path.write_text("\n".join(parts), encoding="utf-8")


def summary(systems: Sequence[System], results: Results) -> str:
    """The first figure of every arm, and its goal."""
    lines = ["| system | arm | figure | minutes | goal |", "| --- | --- | --- | --- | --- |"]
    for system in systems:
        for arm, result in arms_with_results(system, results):
            name = arm.figures[0] if arm.goal is None else arm.goal.metric
            cells = [f"[{system.name}](#{system.name})", arm.name, f"{name} {figure(result, name)}",
                     f"{result.minutes:g}", outcome(arm, result, results)]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def arms_with_results(system: System, results: Results) -> list[tuple[Arm, Result]]:
    return [(arm, results[system.name, arm.name]) for arm in system.arms if (system.name, arm.name) in results]


def section(path: Path, system: System, experiment: Experiment, results: Results) -> str:
    picture = path.with_suffix("") / f"{system.name}.svg"
    if not system.reads_a_run:
        draw(experiment.name, picture)
    found = arms_with_results(system, results)
    figures = list(dict.fromkeys(name for _, result in found for name in result.figures))
    lines = [
        f"## {system.name}\n",
        f"{experiment.what}\n",
        f"![The graph of {system.name}]({path.stem}/{picture.name})\n",
        f"```sh\npython train.py experiment={experiment.name}\n```\n",
        f"Data: {system.data}.\n",
        "| arm | " + " | ".join(figures) + " | split | parameters | steps | minutes | goal |",
        "| --- " * (len(figures) + 6) + "|",
        *(row(arm, result, figures, results) for arm, result in found),
        "",
        "\n".join(f"- {arm.name}: {commands(result)}" for arm, result in found) + "\n",
    ]
    if system.published:
        lines.append(f"Published: {system.published}.\n")
    if system.remarks:
        lines.append(f"{system.remarks}\n")
    for arm, result in found:
        if result.samples and (arm.prompts or arm is found[0][0]):  # the same prompts show how the arms differ
            lines.append(f"Samples of {arm.name}:\n\n```text\n{samples(result)}\n```\n")
    for arm, result in found:
        lines += looked(path, system, arm, result)
    if experiment.next:
        lines.append(f"Next: {experiment.next}\n")
    return "\n".join(lines)


def looked(path: Path, system: System, arm: Arm, result: Result) -> Iterator[str]:
    """What `composer inspect` says and draws of an arm."""
    if result.looked:
        yield f"`python -m composer inspect runs/<name> {shlex.join(arm.looked)}`, {arm.name}:\n"
        yield f"```text\n{result.looked}\n```\n"
    if arm.picture is not None:
        yield f"![{arm.picture[1]}]({path.stem}/{system.run_name(arm)}.png)\n"


def commands(result: Result) -> str:
    return f"first `{result.before}`, then `{result.command}`" if result.before else f"`{result.command}`"


def row(arm: Arm, result: Result, figures: Sequence[str], results: Results) -> str:
    cells = [figure(result, name) for name in figures]
    rest = [result.split, f"{result.parameters:,}", f"{result.steps:,}", f"{result.minutes:g}"]
    return f"| {arm.name} | " + " | ".join([*cells, *rest, outcome(arm, result, results)]) + " |"


def outcome(arm: Arm, result: Result, results: Results) -> str:
    """The goal of an arm, and whether it was reached."""
    goal = arm.goal
    if goal is None or any(other not in results for other in goal.over):
        return ""
    others = [results[other].figures[goal.metric] for other in goal.over]
    return f"{goal}: {'reached' if goal.reached(result.figures[goal.metric], others) else '**not reached**'}"


def figure(result: Result, name: str) -> str:
    if name not in result.figures:
        return ""
    low, high = result.intervals.get(name, (None, None))
    between = "" if low is None or high is None else f" [{low:.4g}, {high:.4g}]"
    return f"{result.figures[name]:.4g}{between}"


def samples(result: Result) -> str:
    """The samples in a line each, without the line breaks of a text."""
    lines = []
    for sample in result.samples:
        texts = {key: " ".join(str(text).split())[:110] for key, text in sample.items() if key not in ("step", "head")}
        read = ", ".join(text for key, text in texts.items() if key not in ("wanted", "found", "right"))
        wanted = f"   (wanted: {texts['wanted']})" if "wanted" in texts else ""
        lines.append(f"{read + ' -> ' if read else ''}{texts['found']}{wanted}")
    return "\n".join(lines)


def draw(experiment: str, picture: Path) -> None:
    picture.parent.mkdir(parents=True, exist_ok=True)
    if command(["draw", f"experiment={experiment}", "-o", str(picture)]) != 0:
        raise RuntimeError(f"the graph of {experiment} was not drawn")
