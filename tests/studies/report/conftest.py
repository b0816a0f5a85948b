import pytest

from composer.studies.comparison import compare
from composer.studies.report import write_report
from tests.support.study_runs import write_study


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """Five arms, three seeds, eight tuning trials each, and a broken folder."""
    return write_study(tmp_path_factory.mktemp("study") / "example")


@pytest.fixture(scope="session")
def comparison(study):
    return compare([study])


@pytest.fixture(scope="session")
def report(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(comparison, path, command="python -m composer compare example -o report.html")
    return path
