"""What arms cost: one table, which the terminal, JSON, the report and W&B read."""

import json

from composer.studies.comparison import compare
from composer.studies.records import arms
from composer.studies.records.arms import Cost
from composer.studies.report.content import content_of
from composer.studies.sweep.wandb_report import arms_in_markdown
from composer.studies.terminal import as_data, show
from tests.support.runs import write_run

STEPS = Cost("steps", "training steps", "", "min", lambda run: run.record.last_step, rank=9)


def test_a_cost_that_is_added_to_the_table_is_in_the_terminal_in_json_in_the_report_and_on_wandb(tmp_path, monkeypatch):
    for seed, steps in ((1, 1200), (2, 1300)):
        write_run(tmp_path / f"run{seed}", ["mixer=gru"], 1.0 + seed / 100, seed, last_step=steps)
    write_run(tmp_path / "other", ["mixer=lstm"], 2.0, 1, last_step=None)
    monkeypatch.setattr(arms, "COSTS", (*arms.COSTS, STEPS))
    comparison = compare([tmp_path])
    head, _, first, second = show(comparison, 200).split("\n\n")[0].splitlines()
    assert (head.split()[-2:], first.split()[-1], second.split()[-1]) == (["training", "steps"], "1.25k", "-")
    assert [arm["steps"] and arm["steps"]["mean"] for arm in as_data(comparison)["arms"]] == [1250, None]
    page = json.loads(json.dumps(content_of(comparison, "", figures=False)))
    assert {"key": "steps", "label": "training steps", "unit": "", "direction": "min"} in page["costs"]
    assert page["arms"][0]["costs"]["steps"]["values"] == [1200, 1300]
    titles, _, row, _ = arms_in_markdown(comparison).splitlines()
    assert titles.endswith("| peak memory | training steps |")
    assert row.endswith("| 400MB | 1.25k |")


def test_training_flops_are_those_of_every_example_of_every_epoch(tmp_path):
    size = {"parameters": 1, "flops_per_token": 2.0, "train_flops_per_example": 60.0}
    write_run(tmp_path / "run", size=size, last={"examples": 800, "tokens": 8000, "seconds": 1.0})
    (cost,) = (each for each in arms.COSTS if each.key == "training_flops")
    assert compare([tmp_path]).arms[0].cost(cost).mean == 60.0 * 800
