"""run.json and sweep.json: read from every version, changed key by key, never without keys of other versions."""

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.runs import record
from composer.runs.folder import RunFolder
from composer.runs.record import RunRecord, SweepRecord
from composer.runs.sweep_folder import SweepFolder
from composer.studies.comparison import compare
from tests.support.paths import ROOT

FIXTURES = ROOT / "tests" / "fixtures"
RUNS = sorted(FIXTURES.glob("**/run.json"))
SWEEP = FIXTURES / "sweep_of_format_1"

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.parent.name)
def test_the_record_of_an_earlier_run_says_all_that_its_file_does(path):
    content, found = json.loads(path.read_text()), record.read(path, RunRecord)
    for key, value in content.items():
        key = record.EARLIER.get(key, key)
        assert getattr(found, key) == value or value is None, key


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.parent.name)
def test_a_change_leaves_all_other_keys_as_they_were(path, tmp_path):
    content = json.loads(path.read_text()) | {"of_a_later_version": {"a": [1, None]}}
    folder = RunFolder(tmp_path)
    folder.record_file.write_text(json.dumps(content))
    folder.update_record(status="failed", reason="no power", group=None)
    changed = content | {"status": "failed", "reason": "no power", "group": None}
    assert json.loads(folder.record_file.read_text()) == changed
    assert list(json.loads(folder.record_file.read_text()))[: len(content)] == list(content)


@given(content=st.dictionaries(st.sampled_from(list(RunRecord.__dataclass_fields__)) | st.text(max_size=3), PLAIN))
def test_a_record_has_the_types_that_it_declares_or_is_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("record") / "run.json"
    path.write_text(json.dumps(content))
    try:
        found = record.read(path, RunRecord)
    except ValueError:
        return
    assert all(isinstance(value, dict) for value in (found.trial, found.size, found.versions, found.result, found.test))
    assert isinstance(found.status, str | None)
    assert isinstance(found.seed, int | None)
    assert isinstance(found.overrides, list)


def test_a_key_that_no_record_has_is_not_written_by_us(tmp_path):
    with pytest.raises(AssertionError, match="unknown 'statsu'"):
        RunFolder(tmp_path).update_record(statsu="finished")
    with pytest.raises(AssertionError, match="'seconds' should be a number"):
        RunFolder(tmp_path).update_record(seconds="12")


def test_a_sweep_of_an_earlier_version_is_read_compared_and_changed(tmp_path):
    folder = SweepFolder(shutil.copytree(SWEEP, tmp_path / "study"))
    found = folder.read_record()
    assert (found.kind, found.judged, found.direction) == ("study", "valid/loss", "min")
    assert SweepFolder.unfinished(tmp_path, found.arguments) is None
    assert [run.read_record().phase for run in folder.runs()] == ["tuning"] * 10 + ["final"] * 2
    compared = compare([folder.path])
    assert sorted(arm.name for arm in compared.arms) == ["narrow", "wide"]
    assert compared.judged == "test/loss"
    folder.update_record(status="running")
    assert SweepFolder.unfinished(tmp_path, found.arguments).path == folder.path
    assert record.read(folder.record_file, SweepRecord).study == found.study
