"""A stranger's path from the wheel: a project of one's own, in a folder whose names are those of our folders."""

import json
import os
import subprocess
import sys
import zipfile

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

#: Quick trainings.
SMALL = ["training.steps=20", "training.validate_every=10", "model.dim=8", "training.figures=false"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The unpacked wheel. What it needs is installed; so is this checkout, behind the wheel in the search path."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as packed:
        packed.extractall(folder / "installed")
    assert (folder / "installed" / "composer" / "py.typed").is_file()
    (folder / "composer").write_text("import sys\nfrom composer.cli.main import main\nsys.exit(main())\n")
    return folder


@pytest.fixture
def composer(wheel, tmp_path):
    """Runs the command ``composer`` of the wheel in the project's folder."""

    def run(*words, code=0, folder=tmp_path / "project"):
        environment = os.environ | {"PYTHONPATH": str(wheel / "installed"), "COMPOSER_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-P", str(wheel / "composer"), *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert "train.py" not in done.stdout + done.stderr
        assert "python -m composer" not in done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


def test_a_stranger_goes_from_the_wheel_to_a_compared_and_exported_model(composer, wheel, tmp_path):
    composer("init", "project", folder=tmp_path)
    project = tmp_path / "project"
    for name in ("blocks", "utils"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text("raise SystemExit('a folder of the user was imported')\n")
    assert "1 x gru" in composer("describe", "experiment=commands")
    assert "composer train mixer=lstm" in composer("train", "--help")

    file = project / "conf" / "experiment" / "commands.yaml"
    right = file.read_text()
    file.write_text(right.replace("steps: 300", "stebs: 300"))
    refused = composer("train", "experiment=commands", code=2)
    assert "conf/experiment/commands.yaml:10" in refused
    assert "Did you mean 'steps'?" in refused
    assert not (project / "runs").exists()
    file.write_text(right)

    plugins = "plugins=[plugins/moving_average.py]"
    words = ["experiment=commands", "mixer=gru,moving_average", plugins, "name=two", *SMALL]
    composer("train", "-m", *words)
    assert {"mixer=gru", "mixer=moving_average"} == {
        arm["name"] for arm in json.loads(composer("compare", "runs/two", "--json"))["arms"]
    }

    composer("train", "experiment=commands", "name=one", *SMALL)
    row = json.loads(composer("predict", "runs/one", "--given", "wake me at nine"))
    assert row["predicted"] in row["probabilities"]
    composer("export", "runs/one", "-o", "exported")
    script = "import composer; print(composer.__file__, type(composer.load('runs/one')).__name__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=project, capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": str(wheel / "installed")},
    )  # fmt: skip
    assert done.stdout.startswith(str(wheel))
