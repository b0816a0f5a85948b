"""The file of a search's study, damaged in every way: one sentence that says what to do, and doing so loses nothing."""

import json
import random
import shutil
import sqlite3

import pytest

from composer.core.problems import UserError
from composer.runs.sweep_folder import SweepFolder
from composer.studies.sweep.search.optuna_trials import Search
from composer.studies.sweep.search.search_settings import SearchPlan, SearchSettings
from tests.support.sweeps import SEARCH, only, run, studied

FILES = {"sqlite": "study.db", "journal": "study.log"}


def plan(storage):
    space = {"mixer": "choice(gru,lstm)", "optimiser.learning_rate": "interval(0.1,0.2)"}
    settings = SearchSettings(sampler="random", trials=4, metric="valid/loss", storage=storage, space=space)
    return SearchPlan(settings, ("model.dim=8",), "min", (1, 2))


def facts(folder):
    return lambda trial: folder.run(trial.name).read_record()


def searched(path, storage):
    """A search of which three trials are done, and the fourth has begun."""
    folder = SweepFolder(path)
    path.mkdir()
    search = Search(folder, plan(storage))
    for status in ("finished", "pruned", "failed", "running"):
        trial = list(search.ready(facts(folder)))[-1]
        place = folder.run(trial.name)
        place.path.mkdir()
        place.update_record(**trial.record() | {"status": status, "result": {"valid/loss": 1.0}})
        place.metrics.write_text('{"step": 1, "valid/loss": 2.0}\n{"step": 2, "valid/loss": null}\n')
    search.report_results(facts(folder))
    return folder


@pytest.fixture(scope="module", params=FILES)
def search(request, tmp_path_factory):
    return searched(tmp_path_factory.mktemp(request.param) / "search", request.param), request.param


def names(folder, storage):
    return [trial.name for trial in Search(folder, plan(storage)).ready(facts(folder))]


def flipped(content, draw, places, times):
    damaged = bytearray(content)
    for _ in range(times):
        damaged[draw.randrange(min(places, len(content)))] ^= 1 << draw.randrange(8)
    return bytes(damaged)


def damages(content):
    """Contents of a damaged file; None for a folder in its place."""
    draw = random.Random(1)
    yield from (b"", b"a text\n", b"\0" * 5000, draw.randbytes(5000), None)
    yield from (content[: draw.randrange(1, len(content))] for _ in range(4))
    yield from (flipped(content, draw, 100, 1) for _ in range(6))
    yield from (flipped(content, draw, len(content), draw.choice([1, 5, 50, 500])) for _ in range(20))


@pytest.mark.slow
def test_a_damaged_study_is_one_sentence_or_harmless(search, tmp_path):
    folder, storage = search
    wanted, refused = names(folder, storage), 0
    for number, content in enumerate(damages((folder.path / FILES[storage]).read_bytes())):
        copy = SweepFolder(shutil.copytree(folder.path, tmp_path / str(number)))
        file = copy.path / FILES[storage]
        file.unlink()
        file.mkdir() if content is None else file.write_bytes(content)
        try:
            found, said = names(copy, storage), ""
        except UserError as error:
            found, said = wanted, str(error)
            refused += 1
        assert found == wanted, "a trial that is there would be trained again under another name"
        assert not said or f"{file}', the study of this search, cannot be used: " in said
        assert len(said.splitlines()) <= 1
    assert refused > 10


@pytest.mark.slow
def test_the_database_of_something_else_is_refused(tmp_path):
    folder = searched(tmp_path / "search", "sqlite")
    folder.study.unlink()
    with sqlite3.connect(folder.study) as connection:
        connection.execute("CREATE TABLE trials (name TEXT)")
    connection.close()
    with pytest.raises(UserError, match=r"study\.db', the study of this search, cannot be used: "):
        Search(folder, plan("sqlite"))


@pytest.mark.slow
def test_a_study_of_other_values_than_the_trials_is_refused(tmp_path):
    folder = searched(tmp_path / "search", "sqlite")
    (run,) = folder.path.glob("1_*")
    known = json.loads((run / "run.json").read_text())
    known["trial"]["parameters"]["optimiser.learning_rate"] = 0.15
    (run / "run.json").write_text(json.dumps(known))
    with pytest.raises(UserError, match="other values for trial 1 than the folder of the trial"):
        Search(folder, plan("sqlite"))


@pytest.mark.slow
def test_a_study_that_was_moved_away_is_made_anew_from_the_trials(shared, tmp_path):
    alone = only(shared.folder("a search left alone", lambda folder: run(folder, *SEARCH)))
    sweep = shutil.copytree(alone, tmp_path / "runs" / "mine")
    trained = {path: path.read_bytes() for path in sweep.glob("*/*") if path.is_file() and path.name != ".lock"}
    study = sweep / "study.db"
    study.write_bytes(study.read_bytes()[:5000])
    refused = run(tmp_path, "-m", "resume=runs/mine")
    assert refused.code == 2
    assert refused.err.startswith("'runs/mine/study.db', the study of this search, cannot be used: ")
    assert len(refused.err.splitlines()) == 1
    study.unlink()
    done = run(tmp_path, "-m", "resume=runs/mine")
    assert done.code == 0, done.err
    assert studied(sweep, "sqlite") == studied(alone, "sqlite")
    assert {path: path.read_bytes() for path in trained} == trained
