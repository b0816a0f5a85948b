"""A training run, from a composed config to what the model has learned."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import lightning

from composer.compiler.bind import bind_section
from composer.config import Composed
from composer.data import Source
from composer.decoding import greedy
from composer.describe import summarise, table
from composer.graph import Graph
from composer.model import compile_config
from composer.signals import Ids
from composer.training import Settings, Training, batches


def run(composed: Composed) -> dict[str, Any]:
    """Compile, train and show the result."""
    meta, objective = compile_config(composed)
    source = objective.source
    settings = bind_section("training", Settings, composed.values["training"], "training", composed.locate)
    seed = composed.values["seed"]
    print(table(summarise(meta)), flush=True)
    graph = meta.materialise(seed)
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)  # not which accelerators are not there
    trainer = lightning.Trainer(
        max_steps=settings.steps, max_epochs=-1, accelerator="cpu", gradient_clip_val=1.0,
        logger=False, enable_checkpointing=False, enable_model_summary=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")  # batches are made in microseconds
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")  # Lightning's own, about torch
        trainer.fit(Training(graph, settings.learning_rate), batches(source, settings.batch, seed))
    results = {"loss": float(trainer.callback_metrics["loss"])}
    results |= evaluate(graph, source)
    print("  ".join(f"{name} {value:.4g}" for name, value in results.items()))
    return results


def evaluate(graph: Graph, source: Source, rows: int = 500) -> dict[str, float]:
    """How many held-out sequences come out exactly right, with a few to look at."""
    graph.eval()
    batch = source.batch("valid", list(range(min(rows, source.size("valid")))))
    heads = [head for head in graph.heads if head.predicts in graph.plan.generated]
    inputs = {name: batch[name] for name in graph.plan.inputs if name not in graph.plan.generated}
    if not heads or not inputs or not isinstance(batch[str(heads[0].predicts)], Ids):
        return {}  # nothing is given that would fix what has to come out
    head = heads[0]
    assert head.predicts is not None
    target = batch[head.predicts]
    assert isinstance(target, Ids)
    found = source.show(head.predicts, greedy(graph, inputs, head.name, target.time + 5))
    wanted = source.show(head.predicts, target)
    shown = source.show("source", batch["source"]) if "source" in inputs else [""] * len(found)
    for text, written, right in list(zip(shown, found, wanted, strict=True))[:8]:
        print(f"  {'right' if written == right else 'WRONG'}  {text} -> {written}")
    return {"exact": sum(a == b for a, b in zip(found, wanted, strict=True)) / len(wanted)}
