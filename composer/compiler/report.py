"""Where the passes put what they find."""

from __future__ import annotations

from composer.problems import Problem


class Report:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, path: str, message: str, *, origin: str | None = None) -> None:
        self.problems.append(Problem(path, message, origin))

    def extend(self, problems: list[Problem]) -> None:
        self.problems.extend(problems)
