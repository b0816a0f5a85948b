"""docs/notebook.py runs cell by cell in a real kernel, with drawings, tables and a bar that comes to its end."""

import os
import re

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

SCRIPT = ROOT / "docs" / "notebook.py"
STEPS = 4

#: What makes the runs of the notebook small.
SMALL = {
    "steps = 300": f"steps = {STEPS}",
    "data.train_size=2000": "data.train_size=64",
    "data.valid_size=100": "data.valid_size=16",
    "model.dim=32": "model.dim=8",
    "seed=1,2": "seed=1",
    "model.check()": 'model.check(["causality", "padding"])',
    'f"training.steps={steps}"': 'f"training.steps={steps}", "training.figures=false", "logger=none"',
}


def cells():
    """The code cells of the script, with small runs."""
    text = SCRIPT.read_text()
    for whole, small in SMALL.items():
        assert whole in text
        text = text.replace(whole, small)
    parts = re.split(r"^# %%(.*)\n", text, flags=re.M)
    return [code.strip() for kind, code in zip(parts[1::2], parts[2::2], strict=True) if not kind.strip()]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """By cell, its messages: (type, content)."""
    pytest.importorskip("ipykernel", reason="a kernel needs ipykernel, which the extra dev has")
    from jupyter_client.manager import start_new_kernel

    folder = tmp_path_factory.mktemp("notebook")
    environment = {"PYTHONPATH": str(ROOT), "COMPOSER_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    manager, client = start_new_kernel(startup_timeout=120, cwd=str(folder), env=os.environ | environment)
    found = {}
    try:
        for code in [*cells(), 'composer.compose(["mixer=grru"])']:
            heard = []
            hook = lambda message, heard=heard: heard.append((message["msg_type"], message["content"]))  # noqa: E731
            client.execute_interactive(code, output_hook=hook, timeout=300, store_history=False)
            found[code] = heard
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
    return found


def shown(outputs, end):
    """The messages of the cell that ends so."""
    (heard,) = (heard for code, heard in outputs.items() if code.endswith(end))
    return heard


def result(outputs, end):
    (content,) = (content for kind, content in shown(outputs, end) if kind == "execute_result")
    return content["data"]


def test_every_cell_runs(outputs):
    *right, wrong = outputs.values()
    for heard in right:
        assert [content["evalue"] for kind, content in heard if kind == "error"] == []
    (error,) = (content for kind, content in wrong if kind == "error")
    (told,) = error["traceback"]  # the message alone
    assert "Did you mean 'gru'?" in told


def test_a_model_is_drawn_and_results_are_tables(outputs):
    assert "<svg" in result(outputs, "\nmodel")["text/html"]
    assert "FLOPs" in result(outputs, "model.describe()")["text/html"]
    assert "causality" in result(outputs, '"padding"])')["text/html"]
    assert result(outputs, ".values.shape")["text/plain"] == "torch.Size([2, 3, 52])"
    assert "valid/loss" in result(outputs, "\noutcome")["text/html"]
    assert "95% interval" in result(outputs, "trained.evaluate()")["text/html"]
    compared = result(outputs, "\ncomparison")
    assert "<table>" in compared["text/html"]
    assert {"mixer=gru", "mixer=attention"} < set(compared["text/plain"].split())


def test_the_bar_of_a_training_is_one_output_that_ends_at_the_last_step(outputs):
    heard = shown(outputs, "\noutcome")
    assert [kind for kind, _ in heard].count("display_data") == 1
    values = [
        re.search(r'<progress value="(\d+)" max="(\d+)"', content["data"]["text/html"]).groups()
        for kind, content in heard
        if kind in ("display_data", "update_display_data")
    ]
    assert values[0] == ("0", str(STEPS))
    assert values[-1] == (str(STEPS), str(STEPS))
    screen = "".join(content["text"] for kind, content in heard if kind == "stream")
    assert "Seq2Seq" in screen
