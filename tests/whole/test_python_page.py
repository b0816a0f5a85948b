"""What docs/python.md shows is what happens, and a type checker finds the types of its names."""

import doctest
import io
import re
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "python.md"
PROGRAMS = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S))

#: The script of a user, and the type that mypy finds at every line with a comment.
SCRIPT = """\
import composer

config = composer.compose(["mixer=gru"])
reveal_type(config)  # composer.training.run.composed_config.Config
model = config.compile()
reveal_type(model.draw().svg)  # str
reveal_type(model({"source": [[1]]}, lengths=[1])["output"].values)  # torch._tensor.Tensor
reveal_type(model.check().broken)  # dict[str, str]
module, data = config.lightning()
reveal_type(data)  # composer.training.data_module.DataModule
outcome = config.train()
reveal_type(outcome.values)  # dict[str, float]
trained = composer.load(outcome)
reveal_type(trained.evaluate())  # composer.metrics.evaluation.Evaluation
reveal_type(trained.predict("a"))  # list[dict[str, Any]]
reveal_type(composer.compare([outcome, "runs/other"]).arms[0].name)  # str
reveal_type(composer.study("rnn_vs_transformer").sentence)  # str
reveal_type(composer.sweep(["seed=1,2"]))  # composer.studies.comparison.Comparison
composer.load(3)  # error
config.complie()  # error
"""


def test_the_programs_shown_run_and_say_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = PROGRAMS.replace("\n\nnode ", "\n<BLANKLINE>\nnode ")  # an empty line of a table
    parsed = doctest.DocTestParser().get_doctest(programs, {}, "python.md", str(PAGE), 0)
    assert len(parsed.examples) > 20
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(parsed, out=said.write).failed == 0, said.getvalue()


def test_the_studies_named_are_there():
    studies = re.findall(r'composer\.study\("(\w+)"', PROGRAMS + (ROOT / "docs" / "notebook.py").read_text())
    assert len(studies) > 1
    assert all((ROOT / "conf" / "study" / f"{name}.yaml").is_file() for name in studies)


def test_mypy_finds_the_types_of_the_public_names_in_a_script_of_a_user(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "mypy", script], cwd=ROOT, capture_output=True, text=True, check=False)
    found = dict(re.findall(r"script\.py:(\d+): note: Revealed type is \"(.*)\"", done.stdout))
    lines = {number: line.partition("  # ")[2] for number, line in enumerate(SCRIPT.splitlines(), start=1)}
    wanted = {str(number): name for number, name in lines.items() if name and name != "error"}
    assert found == wanted, done.stdout
    errors = {int(number) for number in re.findall(r"script\.py:(\d+): error", done.stdout)}
    assert errors == {number for number, name in lines.items() if name == "error"}, done.stdout
