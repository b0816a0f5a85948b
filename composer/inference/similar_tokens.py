"""Tokens that are alike by their embeddings: tables of neighbours and analogies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from composer.core.problems import UserError, did_you_mean, listed
from composer.core.signals import Field
from composer.inference.model import Model
from composer.inference.model_vectors import analogous, frequent, neighbours, token_vectors
from composer.views.html_page import HtmlTable, PageSection

TOKENS = 12  # tokens whose neighbours are listed, unless the user names some
NEAREST = 6  # neighbours of each token

#: a, b and c of the question a : b :: c : ?
Analogy = Sequence[str]


class Embedded(NamedTuple):
    """The embedding matrix (V, D) of a node that embeds tokens, and the field of these tokens."""

    node: str
    name: str
    field: Field
    tokens: tuple[str, ...]
    weight: Tensor

    @property
    def special(self) -> tuple[int | None, ...]:
        return (self.field.start, self.field.stop, self.field.blank, *self.field.contents.special)

    @property
    def title(self) -> str:
        return f"{self.node}, tokens of '{self.name}'"

    def nearest(self, token: int) -> list[str]:
        """The tokens that are most like a token."""
        return self.written(neighbours(self.weight, token, NEAREST, self.special))

    def written(self, found: Iterable[tuple[int, float]]) -> list[str]:
        return [f"{quoted(self.tokens[i])} {alike:.2f}" for i, alike in found]


def embedded_tokens(model: Model) -> Iterator[Embedded]:
    for node, (name, weight) in token_vectors(model.graph).items():
        described = model.fields[name]
        if described.contents.tokens is not None:
            yield Embedded(node, name, described, described.contents.tokens, weight)


def neighbour_section(model: Model, asked: Sequence[str]) -> PageSection:
    """The nearest neighbours of the tokens asked for, or else of the most frequent ones."""
    tables = []
    for found in embedded_tokens(model):
        chosen = [found.tokens.index(token) for token in asked if token in found.tokens]
        chosen = chosen or frequent(found.tokens, found.field.contents.idf, found.special, TOKENS)
        rows = [[quoted(found.tokens[i]), *found.nearest(i)] for i in chosen]
        tables.append(_table(found.title, "token", rows))
    notes = ["By cosine similarity of their embeddings: 1 is the same direction, 0 is orthogonal."]
    return PageSection("Tokens that are alike", notes, [], tables)


def analogy_section(model: Model, asked: Sequence[Analogy]) -> PageSection:
    tables = []
    for found in embedded_tokens(model):
        rows = [[question(analogy), *answers] for analogy, answers in answered(found, asked)]
        if rows:
            tables.append(_table(found.title, "a : b :: c : ?", rows))
    notes = ["The tokens nearest to b - a + c, by cosine similarity (Mikolov et al., 2013), without a, b and c."]
    return PageSection("Analogies", notes, [], tables)


def answered(found: Embedded, asked: Sequence[Analogy]) -> Iterator[tuple[Analogy, list[str]]]:
    """The analogies whose three tokens are in this vocabulary, each with its best answers."""
    for analogy in asked:
        if all(token in found.tokens for token in analogy):
            a, b, c = (found.tokens.index(token) for token in analogy)
            yield analogy, found.written(analogous(found.weight, a, b, c, NEAREST, found.special))


def question(analogy: Analogy) -> str:
    a, b, c = map(quoted, analogy)
    return f"{a} : {b} :: {c} : ?"


def check_tokens(model: Model, asked: Sequence[str], option: str = "--tokens") -> None:
    """Raise an error if a requested token is in no vocabulary of the model."""
    known = [token for found in embedded_tokens(model) for token in found.tokens]
    for token in asked:
        if token not in known:
            raise UserError(
                f"{option}: there is no token '{token}'.{did_you_mean(token, known)}  (has: {listed(known)})"
            )


def check_analogies(model: Model, asked: Sequence[Analogy]) -> None:
    """Raise an error if no embedding of the model has all three tokens of an analogy."""
    for analogy in asked:
        check_tokens(model, analogy, "--analogy")
        if not any(all(token in found.tokens for token in analogy) for found in embedded_tokens(model)):
            raise UserError(f"--analogy: no embedding of this model has all of {listed(analogy)}.")


def _table(title: str, first: str, rows: list[list[str]]) -> HtmlTable:
    count = len(rows[0]) - 1 if rows else 0
    return HtmlTable(title, [first, *map(str, range(1, count + 1))], rows)


def quoted(token: str) -> str:
    """A token, quoted if it would otherwise be invisible."""
    return token if token.strip() and token.isprintable() else repr(token)
