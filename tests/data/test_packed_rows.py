"""Rows that are spilled to a file are those that were given, and the file has no name that a killed process leaves."""

import pytest
import torch

from composer.data.packed import packed_rows
from composer.data.packed.packed_rows import Packer


def filled(dtype, width):
    packer = Packer(dtype, width)
    for start in range(0, 40, 4):
        rows = [torch.full((row % 5, *width), row) for row in range(start, start + 4)]
        packer.add(rows if width else [row.tolist() for row in rows])
    return packer


@pytest.mark.parametrize(("dtype", "width"), [(torch.int16, ()), (torch.float32, (3,))])
def test_spilled_rows_are_those_in_memory_and_leave_no_file(monkeypatch, tmp_path, dtype, width):
    wanted = filled(dtype, width).finish()
    monkeypatch.setattr(packed_rows, "MEMORY", 64)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    packer = filled(dtype, width)
    assert packer.file is not None
    assert not list(tmp_path.iterdir()), "a kill here would leave a file"
    found = packer.finish()
    assert not list(tmp_path.iterdir())
    assert torch.equal(found.flat, wanted.flat)
    assert torch.equal(found.pad(torch.arange(40))[0], wanted.pad(torch.arange(40))[0])
