"""Random configs: templates with random blocks, and random graphs over declared fields."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from composer.core.program import CONF
from composer.core.signals import Field
from composer.testing.strategies import block_configs
from tests.support.graphs import BREAKAGES, graphs

#: Where the made files are, as a config writes it; ``Case.command`` and the trials put the folder in its place.
FILES = "FILES"

#: The name of a case's own experiment file.
OWN = "fuzzed"

SMALL = (
    "training.steps=2", "training.batch=3", "training.validate_rows=3", "training.decode_rows=2", "training.samples=1",
    "training.figures=false", "training.checkpoint_every=1", "training.log_every=1", "trainer.threads=1",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """
    overrides: of the command line
    experiment: the text of a YAML file in a folder of the user's own, chosen by experiment=fuzzed; None for none
    damaged: whether something was broken on purpose, so that the config is expected to be refused
    luck: the seed of the choices that its trial makes: which of the expensive steps are taken, which files are damaged
    """

    overrides: tuple[str, ...]
    experiment: str | None = None
    damaged: bool = False
    kind: str = field(default="template", compare=False)
    luck: int = field(default=0, compare=False)

    def words(self, files: Path) -> list[str]:
        """The overrides, with the folder of the made files in its place."""
        own = [f"experiment={OWN}"] if self.experiment is not None else []
        return [word.replace(FILES, str(files)) for word in (*own, *self.overrides)]


#: Sources of data with what makes them small, each with the models and objectives that usually go with it.
SOURCES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("adding", "copy", "dyck", "parity", "reverse", "sine", "sort"),
        ("data.train_size=12", "data.valid_size=4", "data.length=5"),
    ),
    "induction": ("data.train_size=12", "data.valid_size=4", "data.length=12"),
    "associative_recall": ("data.train_size=12", "data.valid_size=4"),
    "selective_copying": ("data.train_size=12", "data.valid_size=4", "data.length=24"),
    "shapes": ("data.train_size=12", "data.valid_size=4"),
    "tones": ("data.train_size=12", "data.valid_size=4", "data.bands=4"),
    "dates": ("data.train_size=12", "data.valid_size=4", "data.locales=[en,de]"),
    "date_parts": ("data.train_size=12", "data.valid_size=4", "data.locales=[en,de]"),
    "names": ("data.kinds=[scripts]",),
    "data_to_text": ("data.meanings=20",),
    "colours": (),
    "pairs": (f"data.path={FILES}/pairs.tsv",),
    "labelled": (f"data.path={FILES}/labelled.tsv",),
    "tagged": (f"data.path={FILES}/tagged.conll",),
    "text": (f"data.path={FILES}/text.txt", "data.length=8"),
    "series": (f"data.path={FILES}/series.csv", "data.length=8"),
    "vectors": (f"data.path={FILES}/vectors.csv", "data.columns=[a,b]"),
    "images": (f"data.path={FILES}/pictures",),
    "audio": (f"data.path={FILES}/sounds", "data.bands=4"),
}
FITTING = {
    "adding": ["seq2vec"], "parity": ["seq2vec", "tagger"], "labelled": ["seq2vec"], "images": ["seq2vec"],
    "audio": ["seq2vec"], "tagged": ["tagger"], "series": ["forecaster"], "sine": ["forecaster", "language_model"],
    "data_to_text": ["vec2seq"], "shapes": ["captioner"], "tones": ["seq2vec"], "date_parts": ["tagger"],
    "text": ["language_model", "bidirectional_lm", "tagger", "seq2seq"], "colours": ["vec2seq"], "vectors": ["vec2seq"],
    "dyck": ["language_model", "tagger", "seq2seq"], "induction": ["language_model", "seq2seq"],
    "associative_recall": ["tagger", "language_model"], "selective_copying": ["tagger", "seq2seq"],
}  # fmt: skip
OBJECTIVES = {
    "language_model": "next_token", "bidirectional_lm": "bidirectional_lm", "tagger": "masked_token",
    "seq2seq": "denoising",
}  # fmt: skip
SLOTS = ("mixer", "ffn", "norm", "position", "cross", "pool", "bridge", "embedding", "head")
TRAINING = {
    "training.accumulate": [1, 2, 3], "training.clip": [1.0, None], "training.ema": [None, 0.9],
    "training.carry": [False, True], "training.sort": [False, True], "training.batch_tokens": [None, 64],
    "training.patience": [None, 1], "training.validate_every": [1, 2, None], "training.epochs": [None, 1],
    "trainer.recompute": [False, True], "optimiser.layer_decay": [None, 0.5], "model.dim": [4, 8, 12],
}  # fmt: skip


@cache
def options(group: str) -> list[str]:
    return sorted(file.stem for file in (CONF / group).glob("*.yaml"))


def as_override(path: str, value: Any) -> str:
    return f"{path}={json.dumps(value)}" if isinstance(value, bool | None | dict | list) else f"{path}={value}"


@st.composite
def templates(draw: st.DrawFn) -> Case:
    """A template of conf/model with random blocks in its slots, mostly with data and an objective that fit it."""
    data = draw(st.sampled_from(sorted(SOURCES)))
    fitting = FITTING.get(data, ["seq2seq"])
    model = draw(st.sampled_from(fitting) if draw(st.integers(0, 7)) else st.sampled_from(options("model")))
    words = [f"model={model}", f"data={data}", *SOURCES[data], *SMALL]
    if model in OBJECTIVES and (model not in ("tagger", "seq2seq") or data in ("text", "dyck", "induction")):
        words.append(f"objective={OBJECTIVES[model]}")
    elif not draw(st.integers(0, 7)):
        words.append(f"objective={draw(st.sampled_from(options('objective')))}")
    for slot in draw(st.lists(st.sampled_from(SLOTS), max_size=3, unique=True)):
        if slot not in ("embedding", "head") or not draw(st.integers(0, 3)):
            words.append(f"{slot}={draw(st.sampled_from(options(slot)))}")
    for group in ("optimiser", "schedule"):
        if draw(st.booleans()):
            words.append(f"{group}={draw(st.sampled_from(options(group)))}")
    known = {word.split("=")[0] for word in words}
    for key in draw(st.lists(st.sampled_from(sorted(TRAINING)), max_size=4, unique=True)):
        if key not in known:
            words.append(as_override(key, draw(st.sampled_from(TRAINING[key]))))
    words += [] if any(word.startswith("model.dim=") for word in words) else ["model.dim=8"]
    return Case(tuple(words))


#: Columns of the made table that give a field of each kind and width.
COLUMNS = {
    ("ids", None): {"type": "text", "column": "text", "tokeniser": {"type": "words"}},
    ("seq", 2): {"type": "sequence", "column": "steps"},
    ("vec", 4): {"type": "vector", "columns": ["a", "b", "c", "d"]},
    ("vec", 3): {"type": "vector", "columns": ["a", "b", "c"]},
    ("label", None): {"type": "class", "column": "kind"},
}
FIELDS = st.fixed_dictionaries(
    {"target": st.sampled_from([Field("ids", vocabulary=19, start=0, stop=1), Field("seq", dim=2)])},
    optional={
        "source": st.sampled_from([Field("ids", vocabulary=19), Field("seq", dim=2), Field("vec", dim=4)]),
        "other": st.sampled_from([Field("ids", vocabulary=19), Field("vec", dim=3)]),
        "label": st.just(Field("label", vocabulary=3)),
    },
)


@st.composite
def own_graphs(draw: st.DrawFn, damage: bool = False) -> Case:
    """A graph of its own in a YAML file, over fields of the made table; without damage, a few edges are random."""
    nodes, fields = draw(graphs(fields=FIELDS))
    nodes = copy.deepcopy(nodes)
    if damage:
        breakage = draw(st.sampled_from(BREAKAGES))
        breakage(draw, nodes, draw(st.sampled_from(sorted(nodes))))
    else:
        for _ in range(draw(st.integers(0, 2))):
            draw(st.sampled_from([_second_head, _other_edge, _other_direction, _other_block]))(draw, nodes, fields)
    declared = {name: COLUMNS[known.kind, known.dim if known.kind in ("seq", "vec") else None]
                for name, known in fields.items()}  # fmt: skip
    config = {
        "defaults": [{"override /model": None}, {"override /data": "table"}],
        "model": {"nodes": nodes},
        "data": {"path": f"{FILES}/table.csv", "fields": declared},
    }
    text = "# @package _global_\n" + yaml.safe_dump(config, sort_keys=False)
    return Case(SMALL, text, damage, "damaged graph" if damage else "graph")


def _second_head(draw: st.DrawFn, nodes: dict[str, Any], fields: dict[str, Field]) -> None:
    field_name = draw(st.sampled_from(sorted(fields)))
    kind = draw(st.sampled_from(["categorical", "gaussian", "bernoulli", "ctc"]))
    nodes["extra"] = {"kind": "head", "type": kind, "from": draw(_anything(nodes, fields)), "predicts": field_name}


def _other_edge(draw: st.DrawFn, nodes: dict[str, Any], fields: dict[str, Field]) -> None:
    node = nodes[draw(st.sampled_from(sorted(nodes)))]
    place = node["from"]
    key: Any = None
    if isinstance(place, dict):
        key = draw(st.sampled_from(sorted(place)))
    elif isinstance(place, list):
        key = draw(st.integers(0, len(place) - 1))
    target = draw(_anything(nodes, fields))
    if key is None:
        node["from"] = target
    else:
        place[key] = target


def _other_direction(draw: st.DrawFn, nodes: dict[str, Any], fields: dict[str, Field]) -> None:
    for node in nodes.values():
        if node["kind"] == "stack":
            node["causal"] = draw(st.booleans())


def _other_block(draw: st.DrawFn, nodes: dict[str, Any], fields: dict[str, Field]) -> None:
    name = draw(st.sampled_from(sorted(nodes)))
    kind = nodes[name]["kind"]
    if kind != "stack":
        kept = {key: nodes[name][key] for key in ("kind", "from", "predicts") if key in nodes[name]}
        nodes[name] = {**kept, **draw(block_configs(kind))}


def _anything(nodes: dict[str, Any], fields: dict[str, Field]) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted([*nodes, *fields]))
