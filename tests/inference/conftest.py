"""A run of every family, and commands asked about it in the folder of its files."""

import pytest

from composer.cli.main import main
from composer.config.composition import compose
from composer.training.run.train import train
from tests.support.trained import FAMILIES, SMALL, write_files


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder with the files of every family, where tests may write."""
    folder = tmp_path_factory.mktemp("using")
    write_files(folder)
    return folder


@pytest.fixture(scope="session")
def runs(home, shared):
    """A run of every family, trained when it is first asked for."""

    def run(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(home)
            return shared.run(lambda overrides: train(compose(overrides)), [*SMALL, *FAMILIES[name]], name)

    return run


@pytest.fixture
def ask(capsys, home, monkeypatch):
    """A command's exit code and what it says, in the folder of the files."""
    monkeypatch.chdir(home)

    def run(*arguments):
        capsys.readouterr()  # what a fixture has said
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def refused(ask):
    """The one sentence in which a command refuses."""

    def run(*arguments):
        code, out, err = ask(*arguments)
        assert code == 2, err
        assert out == "" or "--json" in arguments
        assert "Traceback" not in err
        return " ".join(err.split())

    return run
