"""The gallery: every experiment says what it is and what to change next, and that change compiles."""

import json
import re

import pytest

from composer.cli.gallery import described, systems
from composer.cli.main import main
from composer.config.assembly import compile_config
from composer.config.composition import compose
from tests.support.experiments import changes, own_data
from tests.support.own_files import write_own_files
from tests.support.paths import ROOT

EXPERIMENTS = systems()


def run(capsys, *arguments):
    try:
        code = main(["gallery", *arguments])
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_every_experiment_is_listed_in_a_line(capsys):
    code, out, _ = run(capsys)
    listed = [line.split()[0] for line in out.split("\n\n")[0].splitlines()[2:]]
    assert code == 0
    assert listed == sorted(path.stem for path in (ROOT / "conf" / "experiment").glob("*.yaml"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_says_what_it_is_whose_data_it_takes_and_what_to_change_next(name):
    system = EXPERIMENTS[name]
    assert len(system.title) > 20
    assert re.match(r"Your own [a-z ]+: .*=", system.data)
    assert changes(system)


#: elmo reads another run: tests/benchmarks/test_gallery.py
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "elmo"])
def test_what_an_experiment_suggests_next_compiles(name):
    for words in changes(EXPERIMENTS[name]):
        if not any(word.startswith("experiment=") for word in words):
            compile_config(compose([f"experiment={name}", *words]))
        else:
            assert words[0].removeprefix("experiment=") in EXPERIMENTS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    write_own_files(folder, pytest.importorskip("PIL.Image"))
    return folder


#: elmo reads another run: tests/benchmarks/test_gallery.py
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "elmo"])
def test_files_of_ones_own_are_as_many_overrides_away_as_the_experiment_says(name, files, monkeypatch):
    monkeypatch.chdir(files)
    compile_config(compose([f"experiment={name}", *own_data(EXPERIMENTS[name])]))


def test_one_in_detail(capsys):
    code, out, _ = run(capsys, "gpt")
    assert code == 0
    assert "python train.py experiment=gpt" in out
    assert "data=text data.path=book.txt" in out


def test_the_order_of_two_runs_is_said(capsys):
    _, out, _ = run(capsys)
    said = dict(line.split(maxsplit=1) for line in out.split("\n\n")[0].splitlines()[2:])
    assert said["elmo_lm"].startswith("The first of two runs")
    assert said["elmo"].startswith("The second of two runs")
    assert "experiment=elmo," in " ".join(run(capsys, "elmo_lm")[1].split())
    assert "python train.py experiment=elmo_lm" in " ".join(run(capsys, "elmo")[1].split())


def test_an_unknown_one_is_suggested(capsys):
    code, _, err = run(capsys, "gtp")
    assert code == 2
    assert "There is no experiment 'gtp'. Did you mean 'gpt'?" in err


def test_those_of_the_user_are_listed_too(capsys, tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\n# My own.\n# Next: mixer=gru\nseed: 2\n")
    code, out, _ = run(capsys, "--config-dir", str(tmp_path), "--json")
    found = {system["name"]: system for system in json.loads(out)["systems"]}
    assert code == 0
    assert found["mine"]["what"] == "My own."
    assert found["mine"]["next"] == "mixer=gru"
    assert "gpt" in found


def test_a_comment_is_read_in_paragraphs():
    system = described(
        "x",
        "# @package _global_\n# One (A et al., 2020): of\n# two lines.\n# Your own texts: data=text\n# more\nseed: 1",
    )
    assert system.what == "One (A et al., 2020): of two lines."
    assert system.title == "One (A et al., 2020): of two lines"
    assert system.data == "Your own texts: data=text more"
