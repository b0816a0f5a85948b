"""Notes on stderr about the data that a command reads."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from composer.core.problems import listed

if TYPE_CHECKING:
    from composer.inference.run_data import Data


def note_unknown(unknown: Sequence[str]) -> None:
    if unknown:
        names = listed(f"'{token}'" for token in unknown)
        print(f"note: the model reads {names} as unknown: training had none.", file=sys.stderr)


def note_files(data: Data) -> Data:
    """Say what was found in the files and the config does not say, and which rows were left out."""
    if len(data):  # reads the files
        for remark in data.objective.source.remarks:
            print(f"note: {remark}", file=sys.stderr)
    return data
