"""The screen output of a run before and after training."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from composer.core.capabilities import offers
from composer.core.program import CONF
from composer.data import SPLITS
from composer.metrics import LOSS
from composer.runs.folder import RunFolder
from composer.training.hardware import chosen
from composer.training.run.metric_text import metric_lines, result_table
from composer.training.run.plan import TrainingPlan
from composer.training.run.record import VALID, RunRecorder
from composer.training.screen import Screen
from composer.views.graph_tables import graph_table
from composer.views.tables import filled


def show_start(screen: Screen, plan: TrainingPlan, folder: RunFolder, *, brief: bool) -> None:
    """Print the graph, the data, the device and the run's folder."""
    if not brief:
        screen.say(graph_table(plan.summary))
        objective, source, values = plan.objective, plan.objective.source, plan.composed.values
        sizes = ", ".join(f"{objective.size(split):,} {split}" for split in SPLITS if objective.size(split))
        screen.say()
        facts = [("data", f"{values['data']['type']}: {sizes} examples, objective {values['objective']['type']}")]
        facts += [
            ("unread", f"'{field}' is not read: no node takes it, and no head predicts it") for field in plan.unread
        ]
        facts += [("tokens", f"{field}: {note}") for field, note in source.notes.items()]
        facts += [("files", remark) for remark in source.remarks]
        facts += [("init", line) for line in taken(plan.taken_from or {})]
        if (monitor := plan.training.monitor) not in (None, LOSS):
            facts.append(("monitor", f"{monitor} of the validation split chooses the best checkpoint"))
        facts.append(("device", f"{device(plan)}, {plan.hardware.precision}"))
        for label, text in facts:
            screen.say(filled(label.ljust(10) + text, indent=10))
    screen.say(f"run       {shown(folder)}")
    screen.say()


def taken(record: Mapping[str, Any]) -> Iterator[str]:
    """The nodes, graphs and vocabularies that a run has taken from other runs, a line for each run."""
    if "from" in record:
        yield f"{_renamed(record['nodes'])} {_origin(record)}"
    for node, graph in record.get("graphs", {}).items():
        yield f"the graph in {node} {_origin(graph)}"


def _renamed(names: Mapping[str, str]) -> str:
    return ", ".join(ours if ours == theirs else f"{theirs} as {ours}" for ours, theirs in names.items())


def _origin(record: Mapping[str, Any]) -> str:
    fields = _renamed(record["fields"])
    step = f" at step {record['step']:,}" if record["step"] is not None else ""
    vocabularies = f"the vocabulary of {fields}" if fields else "no vocabulary"
    return f"from {os.path.relpath(record['from'])}{step}, with {vocabularies}"


def show_signals(screen: Screen, plan: TrainingPlan) -> None:
    """Print warnings about activations and gradients at initialisation that would hinder learning."""
    from composer.graph.signal_flow import measure, problems, warnings  # needed only with --signals

    found = problems(measure(plan.meta.materialise(plan.composed.values["seed"])))
    sound = "signals   within their limits at initialisation"
    screen.say(warnings(found, plan.composed.locate) if found else sound)
    screen.say()


def device(plan: TrainingPlan) -> str:
    hardware = plan.hardware
    gpu = chosen(hardware) == "gpu"
    name = torch.cuda.get_device_name() if gpu else "cpu"
    count = hardware.threads or torch.get_num_threads()
    threads = "" if gpu else f", {count} thread{'s' * (count > 1)}"
    many = "" if hardware.strategy == "single" else f", {hardware.strategy} on {hardware.devices} x {hardware.nodes}"
    return f"{name}{threads}{many}"


def show_end(record: RunRecorder, *, brief: bool) -> None:
    """Print samples and metrics of the best checkpoint, the run's folder, and commands to run next."""
    plan, folder, screen = record.plan, record.folder, record.screen
    where = shlex.quote(shown(folder))
    screen.say()
    if record.status == "stopped":
        screen.say(f"stopped, and saved. Go on with:\n  python train.py resume={where}")
        return
    if brief:
        return
    result = record.result()
    for sample in result.samples:
        screen.say(filled(in_a_line(sample), indent=9))
    if result.samples:
        screen.say()
    best = "best at " if record.best is not None else ""
    by = f" by {plan.training.monitor}" if best and plan.training.monitor not in (None, LOSS) else ""
    title, values = f"{best}step {result.step:,}{by}", {n.removeprefix(VALID): v for n, v in result.values.items()}
    screen.say(result_table(title, values, record.test) if record.test else metric_lines(title, values))
    screen.say()
    screen.say(f"run       {shown(folder)}")
    screen.say(f"next      python -m composer evaluate {where}")
    screen.say(f"          python -m composer {use(record, where)}")
    screen.say(f"          python -m composer inspect {where}")
    screen.say(f"          {longer(record, where)}")
    if (name := packaged_experiment(plan.composed.overrides)) is not None:
        screen.say(f"          python -m composer gallery {name}")


def longer(record: RunRecorder, where: str) -> str:
    """The command that trains on; where the best checkpoint is long past, what else may help."""
    best, rate = record.best, record.plan.composed.values["optimiser"].get("learning_rate")
    if best is None or 2 * best.step > record.steps:
        return f"python train.py resume={where} training.steps={2 * record.steps}"
    slower = f", optimiser.learning_rate={rate / 3:.1g}" if isinstance(rate, float) else ""
    return (
        f"not more steps, because the best was at step {best.step:,} of {record.steps:,}: try a new run with more "
        f"dropout, a smaller model, more data{slower}"
    )


def packaged_experiment(overrides: Iterable[str]) -> str | None:
    """The experiment of this package that overrides choose, of which the gallery says what to try next."""
    name = next((word.removeprefix("experiment=") for word in overrides if word.startswith("experiment=")), "")
    return name if (CONF / "experiment" / f"{name}.yaml").is_file() else None


def in_a_line(sample: Mapping[str, Any]) -> str:
    """One sample in a line: the inputs if there are any, the prediction, and the target, unless both are equal."""
    given = "  ".join(str(value) for key, value in sample.items() if key not in ("wanted", "found", "right"))
    mark = {True: "right  ", False: "WRONG  ", None: ""}[sample["right"]]
    wanted = "" if sample["right"] or "wanted" not in sample else f"  (wanted {sample['wanted']})"
    return f"  {mark}{given}{' -> ' if given else ''}{sample['found']}{wanted}".replace("\n", "\\n")


def use(record: RunRecorder, where: str) -> str:
    """The command that fits the model: ``generate`` with an example prompt, or ``predict``.

    ``generate`` needs a head of tokens, which is named where there are several, and a prompt that can be typed.
    """
    graph, samples = record.plan.meta, record.result().samples
    heads = [node for node in graph.heads if graph.target(node).generates]
    able = [node for node in heads if offers(graph.nodes[node.name], "log_probabilities")]
    if able:
        head = f" --head {shlex.quote(able[0].name)}" if len(heads) > 1 else ""
        read = graph.reads(able[0].name)
        given = [name for name in graph.plan.given if name in read]
        if not given:
            return f"generate {where} ''{head}"
        typed = next((str(sample[given[0]]) for sample in samples if given[0] in sample), None)
        if len(given) == 1 and typed is not None:
            return f"generate {where} {shlex.quote(typed)}{head}"
    return f"predict {where} --split valid --rows 5"


def shown(folder: RunFolder) -> str:
    """The folder's path, relative if it lies below the working directory."""
    path = os.path.relpath(folder.path)
    return path if not path.startswith("..") else str(folder.path.resolve())
