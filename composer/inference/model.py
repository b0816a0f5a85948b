"""A trained model and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import UserError, did_you_mean, listed
from composer.core.signals import Field
from composer.decoding import Settings
from composer.graph.graph import Graph
from composer.inference import vectors
from composer.inference.data import Data, read_data
from composer.inference.evaluation import evaluate_data
from composer.inference.find_checkpoint import Which, find_checkpoint
from composer.inference.generation import (
    Generation,
    Prompts,
    allowed_tokens,
    pieces,
    run,
    settings_for,
    token_head,
)
from composer.inference.prediction import PredictionOptions, predict_data, predict_rows
from composer.metrics import Evaluation
from composer.objectives import Objective
from composer.training import checkpoint as checkpoints


@dataclass(frozen=True, eq=False)
class Model:
    """
    path: the checkpoint's file
    config: the config of the run
    graph: with its weights, in evaluation mode
    objective: what was learned, over data that knows its vocabularies and has read no file
    vocabularies: what the data had learned, as plain data
    """

    path: Path
    config: dict[str, Any]
    graph: Graph
    objective: Objective
    vocabularies: Mapping[str, Any]
    step: int

    @classmethod
    def load(
        cls, run: str | Path, *, checkpoint: Which | None = None, plugins: Sequence[str] = (), device: str = "cpu"
    ) -> Model:
        """The model of a run's folder or of a checkpoint's file. Nothing else is needed: not the data, not the code.

        checkpoint: 'best' or 'last'; the best by default, where there is one
        plugins: packages or files with blocks of your own that it is made of; a checkpoint cannot choose code to run
        """
        path = find_checkpoint(run, checkpoint)
        content = checkpoints.load(path)
        graph, objective = checkpoints.rebuild(content, plugins=plugins)
        return cls(
            path, content["config"], graph.to(torch.device(device)), objective, content["source"], content["step"]
        )

    @property
    def fields(self) -> dict[str, Field]:
        """What the model reads and predicts."""
        return self.objective.fields

    @property
    def given(self) -> list[str]:
        """What it reads and does not generate."""
        return list(self.graph.plan.given)

    def data(self, *overrides: str, split: Any = None, labelled: bool = False) -> Data:
        """The run's data, changed by overrides such as 'data.path=new.tsv'.

        With overrides and no split, every row of the files; otherwise a split, by default that for tests, or else for
        validation. What is to be predicted may be missing in new files, unless ``labelled`` or a split is asked for.
        """
        known, fields = self.objective.source.fields, None
        if split is None and overrides:
            fields = set(known) if labelled else self.objective.needs(self.wanted)
        objective = read_data(self.config, self.vocabularies, overrides, known, fields)
        if fields is not None:
            split = objective.source.every_row
        elif split is None:
            split = "test" if objective.size("test") else "valid"
        return Data(objective, split)

    @property
    def wanted(self) -> list[str]:
        """What a row has to bring: what is given, or what is generated where nothing is."""
        return self.given or sorted(self.graph.plan.generated)

    def generate(
        self, prompts: str | Sequence[Any] = "", *, forced: str | None = None, allowed: str | None = None,
        head: str | None = None, **options: Any,
    ) -> list[Generation]:  # fmt: skip
        """What the model writes for every prompt: a sequence's beginning, or what is given.

        forced: what every generated text begins with
        allowed: the only tokens that may come are those of this text
        options: those of composer.decoding.Settings
        """
        return run(*self.prepare(prompts, forced=forced, allowed=allowed, head=head, **options))

    def stream(self, prompt: Any = "", **options: Any) -> Iterator[str]:
        """The same for one prompt, piece by piece as it comes."""
        return pieces(*self.prepare([prompt], **options))

    def prepare(
        self, prompts: str | Sequence[Any], *, forced: str | None = None, allowed: str | None = None,
        head: str | None = None, **options: Any,
    ) -> tuple[Prompts, Settings]:  # fmt: skip
        node = token_head(self.graph, head)
        if allowed is not None:
            options["allowed"] = allowed_tokens(self.objective, str(node.predicts), allowed)
        settings = settings_for(self.graph, options)
        values = [prompts] if isinstance(prompts, str | Mapping) else list(prompts)
        return Prompts(self.graph, self.objective, values, forced, node), settings

    def predict(self, rows: Data | str | Sequence[Any], **options: Any) -> list[dict[str, Any]]:
        """What the heads say of rows: texts, or values as the data has them, or all of some ``data``.

        options: those of composer.inference.prediction.Wishes
        """
        return list(self.predictions(rows, **options))

    def predictions(
        self, rows: Data | str | Sequence[Any], *, limit: int | None = None, **options: Any
    ) -> Iterator[dict[str, Any]]:
        """The same, one after the other."""
        if isinstance(rows, Data):
            return predict_data(self.graph, rows, PredictionOptions(**options), limit)
        values = [rows] if isinstance(rows, str | Mapping) else list(rows)
        return predict_rows(self.graph, self.objective, values[:limit], PredictionOptions(**options))

    def evaluate(self, data: Data | None = None, **options: Any) -> Evaluation:
        """Every metric that fits, with intervals to ask for; over the test or else the validation split by default."""
        return evaluate_data(self.graph, data or self.data(labelled=True), self.config["training"], **options)

    def embed(self, rows: str | Sequence[Any], *, node: str | None = None, pool: vectors.Pool = "mean") -> Tensor:
        """(B, D): a vector for every row, of what a node makes of it: its only one, or the mean or last of its steps.

        node: by default the last one before the heads that depends on nothing generated: an encoder, a pool
        """
        values = [rows] if isinstance(rows, str | Mapping) else list(rows)
        return vectors.embed(self.graph, self.objective, values, node, pool)

    def token_vectors(self, field: str | None = None) -> tuple[tuple[str, ...], Tensor]:
        """The tokens of a field, and the vector of each, (V, D); by default of the first that has an embedding."""
        name, weight = self._embedding(field)
        return self.fields[name].tokens or (), weight.detach().clone()

    def neighbours(self, token: str, count: int = 8, *, field: str | None = None) -> list[tuple[str, float]]:
        """The tokens with the most similar vectors, with the cosine of their angle."""
        name, weight = self._embedding(field)
        tokens = self.fields[name].tokens or ()
        if token not in tokens:
            raise UserError(f"'{name}' has no token '{token}'.{did_you_mean(token, tokens)}")
        return [(tokens[i], alike) for i, alike in vectors.neighbours(weight, tokens.index(token), count)]

    def _embedding(self, field: str | None) -> tuple[str, Tensor]:
        found = dict(vectors.token_vectors(self.graph).values())
        if not found or (field is not None and field not in found):
            raise UserError(
                f"no embedding of this model is of {field or 'tokens'}.  (embedded: {listed(found) or '-'})"
            )
        name = field or next(iter(found))
        return name, found[name]


#: ``composer.load``: the trained model of a run's folder or of a checkpoint's file.
load = Model.load
