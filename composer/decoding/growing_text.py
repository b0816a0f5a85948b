"""The texts of rows during generation, and the stop texts that end a row.

A text is decoded as it grows: a token is decoded with a few tokens before it, because it may end a character that these
began or follow them after a space. So the work for a text is proportional to its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

from torch import Tensor

UNFINISHED = "\ufffd"  # the replacement character, which decoders return while a character lacks some of its bytes

#: The number of tokens with which the next one is decoded: where the last of their characters is complete, and where it
#: is not. The bytes of a character are at most four, among which may be tokens that are not shown.
CONTEXT, OPEN_CONTEXT = 4, 16

#: Turns the tokens of a row into text.
Show = Callable[[list[int]], str]


@dataclass(frozen=True)
class ShownRow:
    """Turns the generated tokens of a row into text, of which the tokens before them, its prefix, are part or not.

    decode: turns tokens into text
    repeats: whether the text has the prefix, too
    grows: whether the text of more tokens goes on from the text of fewer. Tokens in reverse order do not
    """

    decode: Show
    prefix: Sequence[int] = ()
    repeats: bool = True
    grows: bool = True

    def __call__(self, tokens: list[int]) -> str:
        """The text of all tokens. They are decoded with the prefix: a space may appear only between the two."""
        whole = self.decode([*self.prefix, *tokens])
        before = "" if self.repeats or not self.prefix else self.decode([*self.prefix])
        return whole[len(before) :] if whole.startswith(before) else self.decode(tokens)


def shown_rows(show: Show | Sequence[Show] | None, rows: int) -> list[ShownRow] | None:
    """One for each row, of either one function for all rows or a sequence of functions."""
    if show is None:
        return None
    each = [show] * rows if callable(show) else show
    return [one if isinstance(one, ShownRow) else ShownRow(one) for one in each]


class GrowingText:
    """The text of one row, of which the pieces are returned as soon as no later token can change them.

    A text that does not grow at its end is decoded as a whole: at every token where there are stop texts, otherwise
    once, after the last token.
    """

    def __init__(self, row: ShownRow, stops: Sequence[str] = ()) -> None:
        self.row, self.stops = row, stops
        before = row.decode([*row.prefix]) if row.prefix else ""
        self.grows = row.grows and (row.repeats or not before.endswith(UNFINISHED))
        self.text = ""  # that has not been returned
        self.tokens: list[int] = []  # that the next token is decoded with; all tokens where the text does not grow
        self._taken = 0  # the number of characters of the text of these tokens that are complete, and in ``text``
        self._pending = 0  # the number of characters at the end of ``text`` that are incomplete
        self._stop: int | None = None  # where a stop text begins in ``text``
        if self.grows:
            self.tokens, self._taken = [*row.prefix], 0 if row.repeats else len(before)
            self._take(before)

    def add(self, token: int) -> bool:
        """Append a token; return whether a stop text now ends the row."""
        self.tokens.append(token)
        if self.grows:
            self._take(self.row.decode(self.tokens))
        elif self.stops:
            self.text = self.row(self.tokens)
        self._stop = first_stop(self.text, self.stops)
        return self._stop is not None

    def copy(self) -> GrowingText:
        """A copy to go on with another token. What has become certain is left out."""
        self.fresh()
        same = copy(self)
        same.tokens = [*self.tokens]
        return same

    def fresh(self, last: bool = False) -> str:
        """The new text that no later token can change.

        A possible beginning of a stop text and an incomplete character are held back, unless this is the ``last`` call.
        """
        if last and not self.grows:
            self.text = self.row(self.tokens)
        sure = self._stop if self._stop is not None else len(self.text) if last else self._sure()
        new, self.text = self.text[:sure], self.text[sure:]
        return new

    def _take(self, shown: str) -> None:
        """Take over the text of ``tokens``, and forget the tokens that no later token has to be decoded with."""
        new = shown[self._taken :]
        self.text = self.text[: len(self.text) - self._pending] + new
        self._pending = int(new.endswith(UNFINISHED))
        self._taken = max(self._taken, len(shown)) - self._pending
        count = OPEN_CONTEXT if self._pending else CONTEXT
        if len(self.tokens) >= 2 * count:
            late = self.row.decode(self.tokens[-count:])
            if late:
                self.tokens, self._taken = self.tokens[-count:], len(late) - self._pending
            else:  # tokens that are not shown: a space may depend on those before them
                self.tokens = self.tokens[:-count]

    def _sure(self) -> int:
        if not self.grows:
            return 0
        end = len(self.text) - self._pending
        for stop in self.stops:
            sizes = range(min(len(stop) - 1, end), 0, -1)
            end -= next((size for size in sizes if self.text.endswith(stop[:size], 0, end)), 0)
        return end


def first_stop(text: str, stops: Sequence[str]) -> int | None:
    """The place of the first stop text in a text; None where there is none."""
    return min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)


def shown_text(show: Show | None, tokens: Tensor, stop: int | None, stops: Sequence[str]) -> str | None:
    """The text of the tokens of a row, (T,), without <eos> and up to a stop text; None without ``show``."""
    if show is None:
        return None
    text = show([token for token in tokens.tolist() if token != stop])
    return text[: first_stop(text, stops)]
