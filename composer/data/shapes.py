"""Unknown words by their shape: <unk:Aa-son> for "Ericsson", <unk:aa-ing> for "blogging", <unk:0> for "1987".

How a word is written and how it ends say much about its tag when the word itself was never seen (the unknown word
signatures of the Berkeley and Stanford parsers; Petrov et al., 2006). Which shapes there are is learned from the rare
words of the training split, so that no language is presupposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

#: A word that training has at most so many times is rare.
RARE = 2

#: Rare words of the training split that must have a shape for the shape to be a token of its own.
LEAST = 20


def learn_shapes(counts: Mapping[str, int]) -> list[str]:
    """The shapes that enough rare words have, the commonest first."""
    shapes = Counter(shape for word, count in counts.items() if count <= RARE for shape in shapes_of(word))
    return sorted((s for s, n in shapes.items() if n >= LEAST), key=lambda shape: (-shapes[shape], shape))


def shapes_of(word: str) -> Iterator[str]:
    """The names of a word's shapes, the most special first: its case and its last 3 or 2 letters, its case alone."""
    case = case_of(word)
    for letters in (3, 2):
        if len(word) > letters + 1 and word[-letters:].isalpha():
            yield f"<unk:{case}-{word[-letters:].lower()}>"
    yield f"<unk:{case}>"


def case_of(word: str) -> str:
    """Which characters a word is made of, as a pattern: 0, aa, Aa, AA, a-a for a hyphen within, . for no letter."""
    if any(letter.isdigit() for letter in word):
        return "0"
    if not any(letter.isalpha() for letter in word):
        return "."
    if "-" in word[1:-1]:
        return "a-a"
    if word.isupper() and len(word) > 1:
        return "AA"
    return "Aa" if word[0].isupper() else "aa"
