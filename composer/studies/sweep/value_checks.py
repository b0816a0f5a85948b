"""The check of a new sweep's values: with each of them, a trial has to compose and compile before the first one starts.

A combination of sound values may still be impossible, such as a width that is no multiple of the heads. Such a trial
fails by itself, and the others are trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from composer.config.composition import Composed
from composer.core.problems import UserError
from composer.studies.planning.scalable_arm import Objectives
from composer.studies.tuning.search_space import Choice, Interval, Point, Space
from composer.training.run.plan import TrainingPlan, check_config

#: The most trials of one value that are compiled before the value is refused.
TRIED = 8


#: A trial that can show that its values are sound: the values that the sweep varies, by the keys of their overrides,
#: and all of its overrides.
Candidate = tuple[Mapping[str, Any], Sequence[str]]


class ValueRefused(UserError):
    """No trial with this value compiles, of which the first one's error is shown. Without a key there is one trial."""

    def __init__(self, key: str, value: Any, error: UserError) -> None:
        value_refused = f"{key}={value} cannot be trained, so no trial was started.\n" if key else ""
        super().__init__(f"{value_refused}{error}")
        self.key, self.value = key, value


def check_values(candidates: Iterable[Candidate], compose: Callable[[Sequence[str]], Composed]) -> TrainingPlan | None:
    """Raise the error of the first value with which no candidate compiles. Returns the first one that compiles, if any.

    compose: the config of a trial's overrides
    """
    objectives, sound, first = Objectives(), set[tuple[str, Any]](), None
    by_value: dict[tuple[str, Any], list[Candidate]] = {}
    for candidate in candidates:
        for value in candidate[0].items() or [("", None)]:  # a sweep of one trial varies nothing
            by_value.setdefault(value, []).append(candidate)
    for value, having in by_value.items():
        if value in sound:
            continue
        errors = []
        for candidate in having[:: -(-len(having) // TRIED)]:  # spread evenly over the combinations
            try:
                composed = compose(candidate[1])
                plan = check_config(composed, opened=objectives.of(composed))
            except UserError as error:
                errors.append(error)
            else:
                sound.update(candidate[0].items())
                first = first or plan
                break
        else:
            raise ValueRefused(value[0], value[1], errors[0]) from errors[0]
    return first


def corners(space: Space) -> Iterator[Point]:
    """Points of a search's space in which every choice and both ends of every interval occur, one by one."""
    ends = {key: _ends(values) for key, values in space.items()}
    for i in range(max(map(len, ends.values()), default=0)):  # all keys change at once
        yield {key: values[i % len(values)] for key, values in ends.items()}
    first = {key: values[0] for key, values in ends.items()}
    for key, values in ends.items():
        yield from (first | {key: value} for value in values)


def _ends(values: Interval | Choice) -> Sequence[Any]:
    return values.values if isinstance(values, Choice) else (values.low, values.high)
