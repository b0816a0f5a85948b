"""What the README shows is what happens. Run this file to write the README's output anew."""

import contextlib
import io
import re
import shlex
import sys

import pytest
import yaml

from composer.cli.main import main
from tests.support.paths import ROOT

README = ROOT / "README.md"
CONSOLE = re.compile(r"```console\n\$ python -m composer (.*)\n((?:.*\n)*?)```\n")
COMMANDS = [match[1] for match in CONSOLE.finditer(README.read_text())]


def output(command):
    """What a command prints, on either stream."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
        main(shlex.split(command))
    return printed.getvalue()


def written(text):
    return CONSOLE.sub(lambda match: f"```console\n$ python -m composer {match[1]}\n{output(match[1])}```\n", text)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_the_output_shown_is_real(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(
        "composer.data.progress.PATIENCE", float("inf")
    )  # on a slow machine, packing says how far it is
    shown = next(match[2] for match in CONSOLE.finditer(README.read_text()) if match[1] == command)
    assert shown == output(command)


def test_it_is_short_and_its_first_commands_are_make_train_and_make_test():
    text = README.read_text()
    assert len(text.splitlines()) < 290
    first = re.search(r"```sh\n(.*?)```", text, re.S)[1]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make train", "make test"]


def test_the_yaml_shown_is_the_template():
    shown = yaml.safe_load(re.search(r"```yaml\n(.*?)```", README.read_text(), re.S)[1])
    template = yaml.safe_load((ROOT / "conf/model/seq2seq.yaml").read_text())
    del template["defaults"]
    assert shown == template


@pytest.mark.slow
def test_the_picture_is_that_of_the_default_graph(tmp_path):
    assert main(["draw", "-o", str(tmp_path / "seq2seq.svg")]) == 0
    assert (ROOT / "docs/seq2seq.svg").read_text() == (tmp_path / "seq2seq.svg").read_text()


@pytest.mark.slow
def test_the_block_in_three_steps_works(tmp_path, monkeypatch):
    from composer.core import registry

    block, test = re.findall(r"   ```python\n(.*?)   ```", README.read_text(), re.S)
    (tmp_path / "leaky.py").write_text(_dedent(block))
    monkeypatch.syspath_prepend(tmp_path)
    scope = {}
    exec(_dedent(test), scope)
    scope["test_leaky_obeys_the_laws"]()
    monkeypatch.chdir(tmp_path)
    line = "describe 'plugins=[leaky]' model.nodes.decoder.mixer=leaky"
    assert line.removeprefix("describe ").replace("[leaky]", "[leaky.py]") in README.read_text()
    assert re.search(r"decoder +2 x leaky \+.*\n +cross_attention \+ mlp", output(line))
    registry.forget("mixer", "leaky")


def _dedent(code):
    return "".join(line.removeprefix("   ") for line in code.splitlines(keepends=True))


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
    main(["draw", "-o", str(ROOT / "docs/seq2seq.svg")])
    sys.exit()
