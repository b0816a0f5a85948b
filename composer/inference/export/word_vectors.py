"""The token vectors of a model as text files in the format of word2vec, which ``embedding=pretrained`` reads.

The first line is the number of tokens and the width; every other line is a token and its numbers.
"""

from __future__ import annotations

from pathlib import Path

from composer.core.problems import UserError, listed
from composer.core.storage.atomic_files import write_text
from composer.graph.graph import Graph
from composer.inference.model_vectors import TokenVectors, token_vectors


def save_vectors(graph: Graph, folder: Path) -> list[Path]:
    """Write a file for every node that embeds tokens, and return their paths."""
    every = [found for found in token_vectors(graph) if found.tokens]
    if not every:
        raise UserError("no node of this model has a vector for every token of the data, so there are none to write.")
    texts = {folder / f"{found.node}.txt": as_text(found) for found in every}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            write_text(path, text)
    except OSError as error:
        raise UserError(f"cannot write into '{folder}': {error.strerror}.") from error
    return list(texts)


def as_text(found: TokenVectors) -> str:
    """The vectors of all tokens but the special ones. A token with a space or a line break cannot be a line's first."""
    special = {place for place in found.special if place is not None}
    kept = [(token, row) for row, token in enumerate(found.tokens) if row not in special]
    spaced = [token for token, _ in kept if not token or any(letter.isspace() for letter in token)]
    if spaced:
        raise UserError(
            f"the tokens of '{found.name}' have spaces or line breaks in them ({listed(map(repr, spaced), 5)}), which "
            "the text format cannot hold. It is for words: data.tokeniser.type=words."
        )
    rows = found.weight.detach().float().cpu().tolist()
    lines = [f"{token} {' '.join(f'{number:.6g}' for number in rows[row])}" for token, row in kept]
    return "\n".join([f"{len(kept)} {found.weight.shape[1]}", *lines, ""])
