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
LONGEST = (
    "test_sweep_clusters", "test_sweep_parallel", "test_export", "test_sweep", "test_sweep_survives",
    "test_sweeps_page", "test_sweep_wandb", "test_using_page", "test_comparing_page", "test_train", "test_study",
    "test_distributed", "test_resume", "test_depth",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    for item in items:
        if "shared" in item.fixturenames:  # needs a trained run
            item.add_marker(pytest.mark.slow)
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture(scope="session")
def shared(tmp_path_factory) -> Shared:
    """Runs trained once, for all processes of xdist."""
    place = tmp_path_factory.getbasetemp()
    return Shared((place.parent if "PYTEST_XDIST_WORKER" in os.environ else Path(place)) / "shared")
