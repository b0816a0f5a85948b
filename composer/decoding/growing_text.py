"""Texts as they grow, and the stop texts that end them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

UNFINISHED = "\ufffd"  # what decoders write for a character that has not all its bytes yet

#: What tokens say.
Show = Callable[[list[int]], str]


def show_rows(show: Show | Sequence[Show] | None, rows: int) -> list[Show] | None:
    """What the tokens of each row say, where one function says it for all of them, or every row has its own."""
    if show is None:
        return None
    return [show] * rows if callable(show) else list(show)


class GrowingText:
    """What one row says so far. A stop text may begin in one token and end in another."""

    def __init__(self, show: Show, stops: Sequence[str] = ()) -> None:
        self.show = show
        self.stops = stops
        self.tokens: list[int] = []
        self.whole = ""
        self.stopped = False
        self._given = 0

    def add(self, token: int) -> bool:
        """One token more; whether the text ends here. All is shown anew: a token may change what others say."""
        self.tokens.append(token)
        self.whole, self.stopped = cut(self.show(self.tokens), self.stops)
        return self.stopped

    def fresh(self, last: bool = False) -> str:
        """What is new and sure to stay: no beginning of a stop text, no half of a character."""
        sure = len(self.whole) if last or self.stopped else self._sure()
        new = self.whole[self._given : sure]
        self._given = max(self._given, sure)
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
    """The text before the first stop text in it, and whether there is one."""
    places = [place for place in (text.find(stop) for stop in stops) if place >= 0]
    return (text[: min(places)], True) if places else (text, False)
