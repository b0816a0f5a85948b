"""Unknown words by their shape: <unk:Aa-son> for "Ericsson", <unk:aa-ing> for "blogging", <unk:0> for "1987".

The case and the ending of an unknown word are good predictors of its tag (the unknown word signatures of the Berkeley
and Stanford parsers; Petrov et al., 2006). The set of shapes is learned from the rare words of the training split, so
it depends on no particular language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

#: A word is rare if it occurs at most this often in the training split.
RARE = 2

#: The number of rare words of the training split that a shape needs to become a token.
LEAST = 20


def learn_shapes(counts: Mapping[str, int]) -> list[str]:
    """The shapes of enough rare words, the most frequent first."""
    shapes = Counter(shape for word, count in counts.items() if count <= RARE for shape in shapes_of(word))
    return sorted((s for s, n in shapes.items() if n >= LEAST), key=lambda shape: (-shapes[shape], shape))


def shapes_of(word: str) -> Iterator[str]:
    """The names of a word's shapes, the most specific first: case and last 3 letters, case and last 2, case alone."""
    case = case_of(word)
    for letters in (3, 2):
        if len(word) > letters + 1 and word[-letters:].isalpha():
            yield f"<unk:{case}-{word[-letters:].lower()}>"
    yield f"<unk:{case}>"


def case_of(word: str) -> str:
    """The case pattern of a word: 0 with a digit, a-a with an inner hyphen, . without letters, or aa, Aa, AA."""
    if any(letter.isdigit() for letter in word):
        return "0"
    if not any(letter.isalpha() for letter in word):
        return "."
    if "-" in word[1:-1]:
        return "a-a"
    if word.isupper() and len(word) > 1:
        return "AA"
    return "Aa" if word[0].isupper() else "aa"
