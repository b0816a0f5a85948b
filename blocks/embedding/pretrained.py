"""Pretrained word vectors from a text file, in the format of word2vec or GloVe.

    y_t = E[x_t], E read from ``path``;  y_t = W E[x_t] if ``dim`` is another width

A line is a token and its numbers; word2vec puts a line with two counts first. Tokens that are not in the file get
random vectors of the same size. W is initialised so that the file's vectors, whatever their size, are mapped to unit
size, like those of the embedding ``token``. Mikolov et al., 2013; Pennington et al., 2014. No state.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from composer import Ids, Invalid, Positive, Probability, Seq, register
from composer.core.problems import listed
from composer.core.storage.example_files import example_file

logger = logging.getLogger(__name__)


@register("embedding", "pretrained")
class Pretrained(nn.Module):
    files = ("path",)
    example = {"path": str(Path(__file__).with_name("pretrained_example.txt"))}

    def __init__(
        self,
        vocabulary: int,
        tokens: tuple[str, ...] | None,
        *,
        path: str | None,
        dim: Positive | None,
        width: Positive | None = None,
        frozen: bool = True,
        dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        if tokens is None:
            raise Invalid("from", "the data does not name its tokens, so no word can be looked up. Use token instead.")
        if (path is None) == (width is None):
            raise Invalid("path", "expected the path of a text file of vectors (or, with a checkpoint, their width).")
        file = VectorFile(path) if path is not None else None
        self.width = file.dim if file is not None else int(width or 0)
        meta = torch.get_default_device().type == "meta"  # on the meta device only the shape is needed
        weight = torch.empty(vocabulary, self.width) if meta or file is None else file.matrix(tokens)
        self.embedding = nn.Embedding.from_pretrained(weight, freeze=frozen)
        self.project = nn.Linear(self.width, dim, bias=False) if dim not in (None, self.width) else None
        if self.project is not None and not meta and file is not None:
            size = float(weight.square().mean().sqrt())
            nn.init.normal_(self.project.weight, std=1 / (size * self.width**0.5))
        self.dropout = nn.Dropout(dropout)

    def portable(self) -> dict[str, Any]:
        """The knobs that rebuild the block without its file; the checkpoint has the vectors."""
        return {"path": None, "width": self.width}

    @property
    def weight(self) -> nn.Parameter:
        """(V, D), for a head with tied weights."""
        return self.embedding.weight

    def map(self, values: Tensor) -> Tensor:
        vectors = self.embedding(values)  # (..., D)
        return self.dropout(vectors if self.project is None else self.project(vectors))

    def forward(self, x: Ids) -> Seq:
        return Seq(self.map(x.filled(0)), x.lengths)


class VectorFile:
    """A text file of word vectors, read line by line."""

    def __init__(self, path: str) -> None:
        self.path = example_file(path, "path") or Path(path)
        if not self.path.is_file():
            raise Invalid("path", f"there is no file '{path}' (looked in {Path.cwd()}). Give a text file of vectors.")
        _, first = next(self._lines(), (0, ""))
        fields = first.split(" ")
        self.header = len(fields) == 2 and all(field.isdigit() for field in fields)
        self.dim = int(fields[1]) if self.header else len(fields) - 1
        if self.dim < 1:
            raise Invalid("path", f"line 1 of '{path}' does not fit; expected a token and its numbers.")

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines. A token may hold any character but a line feed, and bytes that are not UTF-8."""
        with self.path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                yield number, line.rstrip("\r\n ")

    def vectors(self, wanted: set[str]) -> dict[str, list[float]]:
        """The wanted tokens' vectors; of several lines for one token, the first is used."""
        found: dict[str, list[float]] = {}
        for number, line in self._lines():
            if (number == 1 and self.header) or not line:
                continue
            token, *numbers = line.rsplit(" ", self.dim)
            if len(numbers) != self.dim or _is_number(token.rpartition(" ")[2] if " " in token else ""):
                width = sum(map(_is_number, line.split(" ")[1:]))
                raise Invalid(
                    "path",
                    f"line {number} of '{self.path}' has {width} numbers, the file's width is {self.dim}. Mend it.",
                )
            if token in wanted and token not in found:
                try:
                    found[token] = [float(text) for text in numbers]
                except ValueError as error:
                    message = f"line {number} of '{self.path}' has something that is no number. Mend it."
                    raise Invalid("path", message) from error
        return found

    def matrix(self, tokens: tuple[str, ...]) -> Tensor:
        """(V, D): the vector of every token, random for tokens that are not in the file."""
        found = self.vectors(set(tokens))
        missing = [token for token in tokens if token not in found]
        if not found:
            raise Invalid(
                "path",
                f"none of the {len(tokens)} tokens ({listed(tokens, 5)}) is in '{self.path}'. "
                "Use vectors of the data's language and of its kind of tokens.",
            )
        known = torch.tensor(list(found.values()))  # (known, D)
        weight = torch.randn(len(tokens), self.dim) * known.square().mean().sqrt()
        rows = {token: row for row, token in enumerate(found)}
        places = [place for place, token in enumerate(tokens) if token in found]
        weight[places] = known[[rows[tokens[place]] for place in places]]
        if missing:
            logger.warning(
                "%d of %d tokens are not in '%s' and start from random vectors: %s.",
                len(missing), len(tokens), self.path, listed(missing, 5),
            )  # fmt: skip
        return weight


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
