"""Group word problems: the product of a sequence of group elements (Liu et al., 2023; Merrill et al., 2024).

Permutations act one after the other: the product of g and h maps i to h(g(i)). Products in S5 and A5, which are not
solvable, need a depth that grows with the length from models whose steps are computed in parallel (if TC0 is not NC1).
"""

from __future__ import annotations

import re
from itertools import permutations

import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.synthetic.tracking import Aligned, Tracking

#: The largest group that is tabulated.
LARGEST = 1000


@register("data", "group_words")
class GroupWords(Tracking):
    """source: elements of a group; target: their product after every element or, if not ``aligned``, the last."""

    group: str = "S5"
    aligned: Aligned = True

    def prepare(self) -> None:
        group, names, table = self.group, [""], torch.zeros(1, 1, dtype=torch.long)
        for factor in group.split("x"):
            own, products = _factor(factor, group)
            if len(names) * len(own) > LARGEST:
                raise Invalid("group", f"'{group}' has more than {LARGEST} elements. Take a smaller one.")
            names = [f"{name},{other}".lstrip(",") for name in names for other in own]
            table = (table[:, None, :, None] * len(own) + products[None, :, None, :]).reshape(len(names), len(names))
        self.symbols = self.states = tuple(names)
        self.table = table  # (N, N), the product of a row's element and a column's element

    def track(self, values: Tensor) -> Tensor:
        states = values.clone()
        for step in range(1, values.shape[1]):
            states[:, step] = self.table[states[:, step - 1], values[:, step]]
        return states


def _factor(name: str, group: str) -> tuple[list[str], Tensor]:
    """The names of the elements of S, A or Z with a number, and the table of their products.

    Permutations are named by the images of 1, 2, ..., the elements of Z by numbers, whose product is the sum.
    """
    found = re.fullmatch(r"([SAZ])([1-9]\d{0,3})", name)
    size = int(found[2]) if found else 0
    if found is None or size > (LARGEST if found[1] == "Z" else 6):
        message = f"'{group}' is no group. Take S3 to S6 or A3 to A6 (permutations), Z2 to Z{LARGEST} (sums modulo a "
        raise Invalid("group", message + "number), or a product such as A4xZ5.")
    numbers = torch.arange(size)
    if found[1] == "Z":
        return [str(i) for i in range(size)], (numbers[:, None] + numbers) % size
    every = [p for p in permutations(range(size)) if found[1] == "S" or _even(p)]
    images = torch.tensor(every)  # (N, size)
    products = images[:, images].transpose(0, 1)  # (N, N, size): the second's image of the first's image
    codes = size ** numbers.flip(0)  # the images as one number, in the order of the permutations
    return ["".join(str(i + 1) for i in p) for p in every], torch.searchsorted(images @ codes, products @ codes)


def _even(permutation: tuple[int, ...]) -> bool:
    inversions = sum(a > b for i, a in enumerate(permutation) for b in permutation[i + 1 :])
    return inversions % 2 == 0
