"""Arrays in .npy files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from composer.data.files.bad_rows import BadRow


def load_array(path: Path) -> Any:
    """A memory-mapped array, whose rows are read from the file when they are used."""
    import numpy

    try:
        return numpy.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise BadRow(f"{path}: cannot be read as a NumPy array: {error}. Save it with numpy.save.") from error
    except OSError as error:
        raise BadRow(f"{path}: cannot be read: {error.strerror or error}.") from error
