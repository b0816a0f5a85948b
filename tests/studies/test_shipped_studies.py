"""Every shipped study says how long it takes and has its report in docs/reports: tuned arms, judged on a test split."""

import json
import re

import pytest
import yaml

from composer.studies.planning.ladder import Ladder, rungs
from tests.support.paths import ROOT

STUDIES = sorted(path.stem for path in (ROOT / "conf" / "study").glob("*.yaml"))


def head(name):
    return (ROOT / "conf" / "study" / f"{name}.yaml").read_text().partition("defaults:")[0]


def report(name):
    page = (ROOT / "docs" / "reports" / f"{name}.html").read_text(encoding="utf-8")
    return json.loads(page.partition('<script type="application/json" id="content">')[2].partition("</script>")[0])


@pytest.mark.parametrize("name", STUDIES)
def test_the_head_says_how_many_runs_and_minutes_the_study_took(name):
    stated = re.search(r"^# (?:About )?(\d+) runs: (\d+) minutes on two busy cores", head(name), re.MULTILINE)
    assert stated, "'# About 50 runs: 11 minutes on two busy cores with hydra/launcher=parallel, tuning included.'"
    assert int(stated[1]) == pytest.approx(len(report(name)["making"]["runs"]), rel=0.05)


@pytest.mark.parametrize("name", STUDIES)
def test_the_report_has_the_arms_of_the_study_and_judges_tuned_ones_alone(name):
    study = yaml.safe_load((ROOT / "conf" / "study" / f"{name}.yaml").read_text())["study"]
    ladder = Ladder(**study["ladder"]) if study.get("ladder") else None
    found = report(name)
    planned = {rung.name for arm in study["arms"] for rung in rungs(arm, ladder, None)}
    assert {arm["name"] for arm in found["arms"]} == planned
    assert {tuple(arm["seeds"]) for arm in found["arms"]} == {tuple(study["seeds"])}
    assert found["judged"].startswith("test/")
    tuned = {curve["arm"] for curve in found["tuning"]["curves"] if not curve["untuned"]}
    judged = {arm["name"] for arm in found["arms"] if arm["verdict"] and arm["verdict"]["distinguishable"] is not None}
    assert judged, "an answer"
    assert judged <= tuned


def test_no_report_says_where_it_was_made():
    for path in (ROOT / "docs" / "reports").glob("*.html"):
        assert not re.search(r'"(?:/home|/root|/tmp|/work)/', path.read_text(encoding="utf-8")), path.name
