"""The templates of conf/model with every mixer, over fields of a few tokens, and rows that are easy to learn."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import yaml

from composer.config.composition import compose
from composer.core import registry
from composer.core.block import Signature
from composer.core.signals import Field, Ids, Label, Seq, Signal, Timed, Vec
from composer.graph.graph import Graph
from tests.support.paths import ROOT

WIDTH, VOCABULARY, ROWS = 16, 7, 6
TOKENS = Field("ids", vocabulary=VOCABULARY, start=0, stop=1)

#: The fields that each template of conf/model reads and predicts.
TEMPLATES: dict[str, dict[str, Field]] = {
    "forecaster": {"source": Field("seq", dim=2, steps=6), "target": Field("seq", dim=2, steps=4)},
    "language_model": {"target": TOKENS},
    "seq2seq": {"source": Field("ids", vocabulary=VOCABULARY), "target": TOKENS},
    "seq2vec": {"source": Field("ids", vocabulary=VOCABULARY), "target": Field("label", vocabulary=3)},
    "tagger": {
        "source": Field("ids", vocabulary=VOCABULARY),
        "target": Field("ids", vocabulary=VOCABULARY, axis="source"),
    },
    "vec2seq": {"source": Field("vec", dim=3), "target": TOKENS},
}


def batch(template: str) -> dict[str, Signal]:
    """A few rows that are easy to learn: the target follows from the source, or from its own step before."""
    lengths = torch.tensor([6, 5, 4, 6, 3, 2])
    first = torch.arange(ROWS)[:, None] % VOCABULARY
    walk = Ids((first + torch.arange(6)) % VOCABULARY, lengths)
    wave = 4 * torch.sin(first[..., None] + torch.arange(10)[:, None] * torch.tensor([0.7, 1.1]))  # (B, 10, 2)
    if template == "forecaster":
        return {"source": Seq(wave[:, :6]), "target": Seq(wave[:, 6:])}
    target: dict[str, Signal] = {
        "language_model": walk,
        "seq2seq": Ids(walk.values[:, :4], lengths.clamp(max=4)),
        "seq2vec": Label(first[:, 0] % 3),
        "tagger": Ids((walk.values * 3) % VOCABULARY, lengths),
        "vec2seq": walk,
    }
    source = Vec(torch.eye(ROWS)[:, :3] + 0.1 * first) if template == "vec2seq" else walk
    return {"source": source, "target": target[template]}


@cache
def composed(template: str, mixer: str) -> dict[str, Any]:
    return compose([f"model={template}", f"mixer={mixer}", f"model.dim={WIDTH}"]).values["model"]["nodes"]


@cache
def written(mixer: str) -> dict[str, Any]:
    """The config of a mixer as its file in conf/mixer has it, and those of the mixers in its defaults list."""
    content = yaml.safe_load((ROOT / "conf/mixer" / f"{mixer}.yaml").read_text(encoding="utf-8"))
    for entry in content.pop("defaults", []):
        if entry != "_self_":
            ((slot, held),) = entry.items()
            content[slot.removeprefix("/mixer@")] = written(held)
    return content


def nodes(template: str, mixer: str) -> dict[str, Any]:
    """What ``model=template mixer=mixer`` composes, out of one composition a template, which is slow, and a file."""
    swapped = written(mixer)
    plain = composed(template, "identity")
    return {name: node | {"mixer": swapped} if "mixer" in node else node for name, node in plain.items()}


def mean_loss(graph: Graph, rows: dict[str, Signal]) -> torch.Tensor:
    given = {name: rows[name] for name in graph.plan.inputs if name not in graph.plan.generated}
    outputs, _ = graph(given | graph.shifted(rows))
    target = rows["target"]
    count = target.counts.sum() if isinstance(target, Timed) else target.batch
    return graph.losses(outputs, rows)["output"].sum() / count


def refusals(template: str, mixer: str) -> list[str]:
    """Why the compiler has to refuse a pair, by what the mixer's class says of itself."""
    block = registry.blocks("mixer")[mixer]
    generates = any(field.start is not None for field in TEMPLATES[template].values())
    reasons = ["looks both ways"] if generates and getattr(block, "causal", None) is False else []
    return [*reasons, "needs a memory"] if needs_memory(mixer) else reasons


def needs_memory(mixer: str) -> bool:
    memory = Signature.of(registry.blocks("mixer")[mixer]).ports.get("memory")
    return memory is not None and not memory.optional
