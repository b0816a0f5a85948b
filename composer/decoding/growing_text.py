"""The texts of rows during generation, and the stop texts that end a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

UNFINISHED = "\ufffd"  # the replacement character, which decoders return while a character lacks some of its bytes

#: Turns the tokens of a row into text.
Show = Callable[[list[int]], str]


def show_rows(show: Show | Sequence[Show] | None, rows: int) -> list[Show] | None:
    """One function a row, of either one function for all rows or a sequence of functions."""
    if show is None:
        return None
    return [show] * rows if callable(show) else list(show)


class GrowingText:
    """The text of one row so far. A stop text may span several tokens."""

    def __init__(self, show: Show, stops: Sequence[str] = ()) -> None:
        self.show = show
        self.stops = stops
        self.tokens: list[int] = []
        self.whole = ""
        self.stopped = False
        self._returned = 0

    def add(self, token: int) -> bool:
        """Append a token; return whether a stop text now ends the row.

        All tokens are turned into text again, because a token may change the text of the tokens before it.
        """
        self.tokens.append(token)
        self.whole, self.stopped = cut(self.show(self.tokens), self.stops)
        return self.stopped

    def fresh(self, last: bool = False) -> str:
        """The new text that no later token can change.

        A possible beginning of a stop text and an incomplete character are held back, unless this is the ``last`` call.
        """
        sure = len(self.whole) if last or self.stopped else self._sure()
        new = self.whole[self._returned : sure]
        self._returned = max(self._returned, sure)
        return new

    def _sure(self) -> int:
        end = len(self.whole.rstrip(UNFINISHED))
        for stop in self.stops:
            for size in range(min(len(stop) - 1, end), 0, -1):
                if self.whole[:end].endswith(stop[:size]):
                    end = min(end, len(self.whole[:end]) - size)
                    break
        return end


def cut(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """The text before its first stop text, and whether it contains one."""
    places = [place for place in (text.find(stop) for stop in stops) if place >= 0]
    return (text[: min(places)], True) if places else (text, False)
