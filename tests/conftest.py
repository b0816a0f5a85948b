import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)  # small tensors: threads only cost

# The same examples on every run: a failure here is a failure everywhere.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    max_examples=6,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
settings.load_profile("tests")

#: The files with the longest tests. They begin first, so that no process is left alone with them at the end.
LONGEST = ("test_export", "test_distributed", "test_resume", "test_depth")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.stem not in LONGEST)
