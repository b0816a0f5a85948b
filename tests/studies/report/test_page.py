import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from composer.core.problems import UserError
from composer.studies.comparison import compare
from composer.studies.json_data import rounded
from composer.studies.report import write_report
from composer.studies.report.report_page import embedded
from tests.support.study_runs import STUDY, write_run


def content_in(path):
    """The data of a page, read as a browser reads it."""
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', path.read_text(), re.DOTALL)
    return json.loads(found[1])


def test_data_in_the_page_is_the_data_that_was_put_in():
    hostile = {"</script><b>": ["<!--", "&lt;", "\u2028\u2029", "\ud800", "日本", '"']}
    text = embedded(hostile)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == hostile


def test_numbers_that_json_lacks_are_missing():
    assert [rounded(each) for each in (float("nan"), float("inf"), None, "1", True)] == [None] * 5
    assert rounded(123456.789) == 123460


def test_the_page_holds_the_comparison(report, comparison):
    found = content_in(report)
    assert found["sentence"] == comparison.sentence
    assert [arm["name"] for arm in found["arms"]] == [arm.name for arm in comparison.arms]
    best = found["arms"][0]
    assert best["quality"]["valid/loss"]["mean"] == pytest.approx(comparison.arms[0].quality("valid/loss").mean)
    assert best["verdict"] is None
    assert [arm["verdict"]["words"] for arm in found["arms"][1:]] == [verdict.words for verdict in comparison.verdicts]
    assert [each["reason"] for each in found["skipped"]] == [reason for _, reason in comparison.skipped]
    assert "Holm" in found["methods"]
    assert found["command"] == "python -m composer compare example -o report.html"


def test_training_flops_are_those_of_all_examples(report):
    arm = next(arm for arm in content_in(report)["arms"] if arm["name"] == "lstm")
    assert arm["costs"]["training_flops"]["mean"] == pytest.approx(3 * STUDY["lstm"].flops * 600 * 64 * 21)


def test_the_page_asks_for_nothing_outside_of_itself(report):
    text = report.read_text()
    markup = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="([^"]*)"', markup) == ["#arms"]
    assert "default-src 'none'" in text
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", markup))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_a_name_with_markup_is_data(tmp_path):
    name = "<script>alert(1)</script>"
    write_run(tmp_path / "0_a", name, 1, STUDY["lstm"])
    path = tmp_path / "report.html"
    write_report(compare([tmp_path]), path, command=name)
    text = path.read_text()
    assert name not in text
    assert "&lt;script&gt;alert(1)" in text  # the page's title
    assert content_in(path)["arms"][0]["name"] == name


def test_runs_without_anything_but_a_result_are_compared(tmp_path):
    """As runs of earlier versions, and of which most files are lost."""
    for number, arm in enumerate(("lstm", "gru")):
        folder = write_run(tmp_path / f"{number}_{arm}", arm, 1, STUDY[arm])
        facts = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps({key: facts[key] for key in ("status", "arm", "result")}))
        for name in ("metrics.jsonl", "samples.jsonl", "config.yaml"):
            (folder / name).unlink()
    path = tmp_path / "report.html"
    write_report(compare([tmp_path]), path, command="")
    found = content_in(path)
    assert found["costs"] == []
    assert [found[name] for name in ("outputs", "pictures", "graphs", "tuning", "lengths")] == [None] * 5


def test_an_arm_without_runs_in_common_metrics_keeps_those_it_has(comparison, tmp_path):
    arm = comparison.arms[0]
    bare = replace(arm, runs=tuple(replace(run, result={"valid/loss": 0.1}) for run in arm.runs))
    path = tmp_path / "report.html"
    (task,) = comparison.tasks
    write_report(replace(comparison, tasks=(replace(task, arms=(bare, *task.arms[1:])),)), path, command="")
    assert [len(each["quality"]) for each in content_in(path)["arms"]] == [1, 4, 4, 4, 4]


def test_a_path_that_cannot_be_written_is_the_users_error(comparison, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        write_report(comparison, Path(tmp_path / "file" / "report.html"), command="")
