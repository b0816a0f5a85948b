"""What the tests of loggers share."""

import pytest


@pytest.fixture
def picture(tmp_path):
    from PIL import Image

    path = tmp_path / "attention.png"
    Image.new("RGB", (5, 3), "white").save(path)
    return path
