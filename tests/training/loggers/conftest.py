"""What the tests of loggers share."""

import os
import subprocess

import pytest

from tests.support.wandb_server import CLOSED


@pytest.fixture
def picture(tmp_path):
    from PIL import Image

    path = tmp_path / "attention.png"
    Image.new("RGB", (5, 3), "white").save(path)
    return path


@pytest.fixture
def started(monkeypatch):
    """The processes that were started, which the client does not wait for: its own stays to the end."""
    each = []

    class Kept(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            each.append(self)

    monkeypatch.setattr(subprocess, "Popen", Kept)
    yield each
    for process in each:
        process.wait(20)


@pytest.fixture
def client(tmp_path, monkeypatch, started):
    """The client as on a new machine, nobody logged in; ``client(url, key)`` for another server."""
    import wandb

    home = tmp_path / "home"
    home.mkdir()

    def arrive(url=CLOSED, key=None, mode=None):
        wandb.teardown()
        for name in [name for name in os.environ if name.startswith("WANDB_")]:
            monkeypatch.delenv(name)
        for name in ("CONFIG", "CACHE", "DATA"):
            monkeypatch.setenv(f"WANDB_{name}_DIR", str(home))
        monkeypatch.setenv("NETRC", str(home / "netrc"))
        monkeypatch.setenv("WANDB_BASE_URL", url)
        monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")  # to have it taken back; a test of its own sees to it
        if key is not None:
            monkeypatch.setenv("WANDB_API_KEY", key)
        if mode is not None:
            monkeypatch.setenv("WANDB_MODE", mode)
        return home

    arrive()
    yield arrive
    wandb.teardown()
