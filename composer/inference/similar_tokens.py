"""Tokens that are alike by their embeddings: tables of neighbours and analogies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from composer.core.problems import UserError, did_you_mean, listed
from composer.graph.graph import Graph
from composer.inference.model_vectors import TokenVectors, token_vectors
from composer.views.html_page import HtmlTable, PageSection

TOKENS = 12  # tokens whose neighbours are listed, unless the user names some
NEAREST = 6  # neighbours of each token

#: a, b and c of the question a : b :: c : ?
Analogy = Sequence[str]


def neighbour_section(graph: Graph, asked: Sequence[str]) -> PageSection:
    """The nearest neighbours of the tokens asked for, or else of the most frequent ones."""
    tables = []
    for found in token_vectors(graph):
        frequent = [found.tokens[i] for i in found.frequent(TOKENS, found.special)]
        if rows := neighbour_rows(found, asked) or neighbour_rows(found, frequent):
            tables.append(_table(found.title, "token", rows))
    notes = ["By cosine similarity of their embeddings: 1 is the same direction, 0 is orthogonal."]
    return PageSection("Tokens that are alike", notes, [], tables)


def analogy_section(graph: Graph, asked: Sequence[Analogy]) -> PageSection:
    tables = []
    for found in token_vectors(graph):
        if rows := analogy_rows(found, asked):
            tables.append(_table(found.title, "a : b :: c : ?", rows))
    notes = ["The tokens nearest to b - a + c, by cosine similarity (Mikolov et al., 2013), without a, b and c."]
    return PageSection("Analogies", notes, [], tables)


def neighbour_rows(found: TokenVectors, asked: Sequence[str]) -> list[list[str]]:
    """The tokens asked for that are in this vocabulary, each before the tokens that are most like it."""
    known = [token for token in asked if token in found.tokens]
    return [[quoted(token), *_written(found.neighbours(token, NEAREST, found.special))] for token in known]


def analogy_rows(found: TokenVectors, asked: Sequence[Analogy]) -> list[list[str]]:
    """The analogies whose three tokens are in this vocabulary, each before its best answers."""
    rows = []
    for a, b, c in asked:
        if {a, b, c} <= {*found.tokens}:
            answers = found.analogous(a, b, c, NEAREST, found.special)
            rows.append([f"{quoted(a)} : {quoted(b)} :: {quoted(c)} : ?", *_written(answers)])
    return rows


def check_tokens(graph: Graph, asked: Sequence[str], option: str = "--tokens") -> None:
    """Raise an error if a requested token is in no vocabulary of the model."""
    known = [token for found in token_vectors(graph) for token in found.tokens]
    for token in asked:
        if token not in known:
            raise UserError(
                f"{option}: there is no token '{token}'.{did_you_mean(token, known)}  (has: {listed(known)})"
            )


def check_analogies(graph: Graph, asked: Sequence[Analogy]) -> None:
    """Raise an error if no embedding of the model has all three tokens of an analogy."""
    for analogy in asked:
        check_tokens(graph, analogy, "--analogy")
        if not any(all(token in found.tokens for token in analogy) for found in token_vectors(graph)):
            raise UserError(f"--analogy: no embedding of this model has all of {listed(analogy)}.")


def _written(found: Iterable[tuple[str, float]]) -> list[str]:
    return [f"{quoted(token)} {alike:.2f}" for token, alike in found]


def _table(title: str, first: str, rows: list[list[str]]) -> HtmlTable:
    return HtmlTable(title, [first, *map(str, range(1, len(rows[0])))], rows)


def quoted(token: str) -> str:
    """A token, quoted if it would otherwise be invisible."""
    return token if token.strip() and token.isprintable() else repr(token)
