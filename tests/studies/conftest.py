import pytest

from tests.support.sweeps import GRID, only, run


@pytest.fixture
def alone(shared):
    """The sweep GRID that nothing happened to."""
    return only(shared.folder("a sweep left alone", lambda folder: run(folder, *GRID)))
