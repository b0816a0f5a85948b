"""Figures of what happens inside of the models, drawn from the arms' checkpoints."""

import base64
import shutil

import pytest

from composer.studies.comparison import compare
from composer.studies.report.pictures_section import pictures_of
from tests.support import processes

COPY = [
    "data=copy", "data.train_size=40", "data.valid_size=16", "data.length=5", "model.dim=8", "mixer=attention",
    "mixer.heads=2", "cross.heads=2", "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1", "training.steps=4",
    "training.batch=8", "logger=none",
]  # fmt: skip


@pytest.fixture
def trained(shared, tmp_path):
    return shutil.copytree(shared.run(processes.train_well, COPY), tmp_path / "run")


def figures(run):
    found = pictures_of(compare([run]).arms)
    return {} if found is None else {each["name"]: each["pictures"][0]["source"] for each in found["figures"]}


def test_attention_embeddings_states_and_gradients_are_drawn_from_the_checkpoint(trained):
    shutil.rmtree(trained / "figures")
    found = figures(trained)
    for name in ("attention_1_decoder", "embeddings_source_embedding", "states_encoder", "gradient_by_step"):
        source = next(source for known, source in found.items() if known.startswith(name))
        assert base64.b64decode(source.removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")


def test_a_run_that_wants_no_figures_has_none(trained):
    shutil.rmtree(trained / "figures")
    config = (trained / "config.yaml").read_text()
    (trained / "config.yaml").write_text(config.replace("figures: true", "figures: false"))
    assert figures(trained) == {}


def test_a_model_that_cannot_be_loaded_has_the_figures_of_its_folder(trained):
    for checkpoint in (trained / "checkpoints").glob("*.safetensors"):
        checkpoint.write_bytes(b"broken")
    found = figures(trained)
    assert set(found) == {path.stem for path in (trained / "figures").glob("*.png")} - {"learning_curves", "throughput"}
