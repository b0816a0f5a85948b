"""A trained model: load it, generate, predict, evaluate, embed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from composer.config.environment import with_environment
from composer.core.problems import UserError, listed
from composer.core.showing.results import Drawing
from composer.core.showing.short_table import ShortTable, ShownAsTable
from composer.core.signals import Field, Signal
from composer.data import load_source
from composer.data.files.new_files import NewFiles, TrainedFile
from composer.graph.call_inputs import Given, Lengths, call_with
from composer.graph.describe import summarise
from composer.graph.graph import Graph
from composer.inference import model_vectors
from composer.inference.data_evaluation import evaluate_data
from composer.inference.find_checkpoint import Which, find_checkpoint, read_checkpoint
from composer.inference.prediction import PredictionOptions, Predictor
from composer.inference.prompts import Generation, Prompts
from composer.inference.run_data import Data, changed, check_fields, check_named
from composer.metrics import Evaluation
from composer.objectives import Objective, load_objective
from composer.runs import checkpoint as checkpoints
from composer.runs.ownership import signed
from composer.views.drawing import mermaid, svg
from composer.views.graph_tables import node_table


@dataclass(frozen=True, eq=False, repr=False)
class Model(ShownAsTable):
    """
    path: the checkpoint's file
    config: the config of the run
    graph: the model with its weights, in evaluation mode
    objective: the training objective, over a source that holds its vocabularies but has read no file
    vocabularies: the state of the data source (vocabularies, scales), as plain data
    step: the optimiser step of the checkpoint
    own: whether this user trained the model, so that the files of its config may be read
    trained_file: how the file was written that the model was trained on, where that is known
    """

    path: Path
    config: dict[str, Any]
    graph: Graph
    objective: Objective
    vocabularies: Mapping[str, Any]
    step: int
    own: bool = False
    trained_file: TrainedFile | None = None

    @classmethod
    def load(
        cls,
        run: str | PathLike[str],
        *,
        checkpoint: Which | None = None,
        plugins: Sequence[str] = (),
        device: str = "cpu",
    ) -> Model:
        """Load the model of a run's folder, of a checkpoint file, or of what ``Config.train`` has returned.
        The training data is not needed.

        checkpoint: 'best' or 'last'; by default the best one, or the last one if the run was never validated
        plugins: packages or files with your own blocks that the model uses; a checkpoint may not choose code to run
        """
        path = find_checkpoint(Path(run), checkpoint)
        content = read_checkpoint(path)
        graph, objective = checkpoints.rebuild(content, plugins=plugins)
        placed, own = graph.to(torch.device(device)), signed(content)
        file = TrainedFile(**content["file"]) if "file" in content else None
        return cls(path, content["config"], placed, objective, content["source"], content["step"], own, file)

    @property
    def fields(self) -> dict[str, Field]:
        """The fields that the model reads or predicts."""
        return self.objective.fields

    def __call__(self, inputs: Mapping[str, Given], lengths: Lengths | None = None) -> dict[str, Signal]:
        """The output of every head for tensors or signals: whole examples, of which a generated field is read with
        teacher forcing.

        lengths: the numbers of real steps in every row of padded tensors, by field, or those of the only sequence
        """
        return call_with(self.graph, inputs, lengths)

    def short_table(self) -> ShortTable:
        table = node_table(self.graph)
        return replace(table, title=f"{self.path} after {self.step:,} steps. {table.title}")

    def _repr_html_(self) -> str:
        summary = summarise(self.graph.materialise(device="meta"))
        return f"{Drawing(svg(summary), mermaid(summary))._repr_html_()}{self.short_table().html()}"

    @property
    def given(self) -> list[str]:
        """The fields that the model reads but does not generate."""
        return list(self.graph.plan.given)

    def data(
        self, *overrides: str, split: Any = None, labelled: bool = False, targets: bool | None = None
    ) -> Data:  # fmt: skip
        """The run's data, changed by overrides such as 'data.path=new.tsv'.

        With overrides and no split, the data is every row of the files. Otherwise it is one split: by default the
        test split, or the validation split if there is no test split. New files may lack the targets, unless
        ``labelled`` is set or a split is named.

        targets: whether new files hold what the model predicts, too; by default, what they hold tells
        """
        known, fields = self.objective.source.fields, None
        if split is None and overrides:  # only these fields are read, and all rows as one split
            fields = set(known) if labelled else self.objective.needs(self.wanted)
        written = self.config["data"]  # in which a foreign config may name any environment variable
        section, places = changed(with_environment(written)[0] if self.own else written, overrides)
        if not self.own:
            check_named(section, places, whole=fields is not None)
        new = NewFiles(self.trained_file, targets)
        source = load_source(section, lambda path: places.get(path, ""), self.vocabularies, fields, new)
        check_fields(source, known)
        objective = load_objective(self.config["objective"], source)
        if fields is not None:
            split = objective.source.every_row
        elif split is None:
            split = "test" if objective.size("test") else "valid"
        return Data(objective, split)

    @property
    def wanted(self) -> list[str]:
        """The fields that a row needs: the given fields, or for a language model the generated ones."""
        return self.given or sorted(self.graph.plan.generated)

    def generate(self, prompts: str | Sequence[Any] = "", **options: Any) -> list[Generation]:
        """Decode autoregressively for every prompt: the given input, or for a language model the text's beginning.

        options: the keywords of composer.decoding.Settings, and those of ``prepare``
        """
        return self.prepare(prompts, **options).generate()

    def stream(self, prompt: Any = "", **options: Any) -> Iterator[str]:
        """Generate for one prompt, and yield the text in pieces while it is generated."""
        return self.prepare([prompt], **options).stream()

    def prepare(self, prompts: str | Sequence[Any], **options: Any) -> Prompts:
        """Prompts as the graph reads them.

        forced: text that every generated text has to start with
        allowed: only the tokens of this text may be generated
        head: the head whose tokens to generate, if there are several
        """
        return Prompts(self.graph, self.objective, prompts, **options)

    def predict(self, rows: Data | str | Sequence[Any], **options: Any) -> list[dict[str, Any]]:
        """The heads' predictions for rows: texts, values in the units of the data, or the rows of a ``Data``.

        options: the keywords of composer.inference.prediction.PredictionOptions
        """
        return list(self.predictions(rows, **options))

    def predictions(
        self, rows: Data | str | Sequence[Any], *, limit: int | None = None, **options: Any
    ) -> Iterator[dict[str, Any]]:
        """The predictions for rows, yielded one after the other; at most ``limit`` of them."""
        chosen = PredictionOptions(**options)
        if isinstance(rows, Data):
            return Predictor(self.graph, rows.checked().objective, chosen).split(rows.split, limit)
        return Predictor(self.graph, self.objective, chosen).typed(rows, limit)

    def evaluate(self, data: Data | None = None, **options: Any) -> Evaluation:
        """Every metric that fits the model's heads; by default over the test split, or else the validation split."""
        return evaluate_data(self.graph, data or self.data(labelled=True), self.config.get("training"), **options)

    def embed(self, rows: str | Sequence[Any], *, node: str | None = None, pool: model_vectors.Pool = "mean") -> Tensor:
        """(B, D), one vector per row: the output of a node, for a sequence its mean over time or its last step.

        node: by default the last node before the heads that depends on no generated field: an encoder, a pool
        """
        return model_vectors.embed(self.graph, self.objective, rows, node, pool)

    def token_vectors(self, field: str | None = None) -> tuple[tuple[str, ...], Tensor]:
        """The tokens of a field and their embeddings, (V, D); by default of the first field that has an embedding."""
        found = self._embedding(field)
        return found.tokens, found.weight.detach().clone()

    def neighbours(self, token: str, count: int = 8, *, field: str | None = None) -> list[tuple[str, float]]:
        """The tokens with the most similar embeddings, each with its cosine similarity."""
        return self._embedding(field).neighbours(token, count)

    def analogy(self, a: str, b: str, c: str, count: int = 8, *, field: str | None = None) -> list[tuple[str, float]]:
        """The tokens that are to c as b is to a, nearest to b - a + c, each with its cosine similarity."""
        return self._embedding(field).analogous(a, b, c, count)

    def _embedding(self, field: str | None) -> model_vectors.TokenVectors:
        found = {vectors.name: vectors for vectors in model_vectors.token_vectors(self.graph)}
        if not found or (field is not None and field not in found):
            raise UserError(
                f"no embedding of this model is of {field or 'tokens'}.  (embedded: {listed(found) or '-'})"
            )
        return found[field or next(iter(found))]


#: ``composer.load``: the trained model of a run's folder or of a checkpoint's file.
load = Model.load
