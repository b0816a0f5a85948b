import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.support.shared import Shared

torch.set_num_threads(1)  # small tensors: threads only cost

# The same examples on every run: a failure here is a failure everywhere.
COMMON = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
}
settings.register_profile("tests", max_examples=6, **COMMON)
settings.register_profile("quick", max_examples=2, **COMMON)  # the first is the simplest there is
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "tests"))

#: The files with the longest tests. They begin first, so that no process is left alone with them at the end.
LONGEST = ("test_export", "test_distributed", "test_resume", "test_depth")


def pytest_collection_modifyitems(items):
    for item in items:
        if "shared" in item.fixturenames:  # needs a trained run
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.path.stem not in LONGEST)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """No test reads or writes the user's own cache of tokenised data; programs that tests start inherit the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared(tmp_path_factory) -> Shared:
    """Runs trained once, for all processes of xdist."""
    place = tmp_path_factory.getbasetemp()
    return Shared((place.parent if "PYTEST_XDIST_WORKER" in os.environ else Path(place)) / "shared")
