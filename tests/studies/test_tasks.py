"""Arms are ranked and judged among those that were tested on the same data."""

import json

import pytest

from composer.studies.comparison import compare
from composer.studies.terminal import as_data, show
from tests.support.runs import write_run
from tests.support.tested_runs import write_tested

LOSSES = {
    ("parity", "rnn"): (0.1, 0.11, 0.12),
    ("parity", "attention"): (0.5, 0.53, 0.5),
    ("reverse", "rnn"): (0.9, 0.95, 0.91),
    ("reverse", "attention"): (0.6, 0.61, 0.63),
}


def write_tasks(folder, losses=LOSSES):
    for (task, mixer), values in losses.items():
        for seed, loss in enumerate(values, 1):
            config = {"data": {"type": task, "length": 6}}
            write_run(folder / f"{mixer}_{task}_{seed}", [], loss, seed, config=config, arm=f"{mixer}_{task}")
    return folder


def test_each_task_has_its_own_best_arm_and_verdicts(tmp_path):
    found = compare([write_tasks(tmp_path)])
    assert {task.name: [arm.name for arm in task.arms] for task in found.tasks} == {
        "parity": ["rnn_parity", "attention_parity"],
        "reverse": ["attention_reverse", "rnn_reverse"],
    }
    assert [(verdict.arm, verdict.best) for verdict in found.verdicts] == [
        ("attention_parity", "rnn_parity"),
        ("rnn_reverse", "attention_reverse"),
    ]
    assert not found.warnings, "several tasks are no mistake"
    assert found.sentence == "2 tasks: in 2 of them, one arm is better than all others beyond chance."
    assert [answer.partition(" (")[0] for answer in found.answers] == [
        "parity: rnn_parity has the lowest validation loss",
        "reverse: attention_reverse has the lowest validation loss",
    ]
    assert "for 2 tasks" in found.methods


def test_p_values_are_corrected_for_the_number_of_tasks(tmp_path):
    both = compare([write_tasks(tmp_path / "both")])
    one = compare([write_tasks(tmp_path / "one", dict(list(LOSSES.items())[:2]))])
    assert both.verdicts[0].p == pytest.approx(2 * one.verdicts[0].p)
    assert "tasks" not in one.methods


def test_the_table_and_the_data_for_programs_name_the_tasks(tmp_path):
    found = compare([write_tasks(tmp_path)])
    rows = show(found, 160).splitlines()[2:6]
    assert [row.split()[:2] for row in rows[::2]] == [["rnn_parity", "parity"], ["attention_reverse", "reverse"]]
    assert [" best " in row for row in rows] == [True, False, True, False]
    told = as_data(found)
    assert json.loads(json.dumps(told)) == told
    assert told["tasks"][1] == {"name": "reverse", "arms": ["attention_reverse", "rnn_reverse"]}


def test_tasks_are_named_by_the_fewest_settings_that_tell_them_apart(tmp_path):
    for place, (keys, pairs) in enumerate(((32, 8), (8, 4), (8, 8))):
        for arm in "ab":
            data = {"type": "recall", "keys": keys, "values": keys, "pairs": pairs, "queries": pairs}
            write_run(tmp_path / f"{arm}{place}", [], 1.0 + place, config={"data": data}, arm=f"{arm}{place}")
    assert [task.name for task in compare([tmp_path]).tasks] == [
        "keys=32",
        "keys=8, pairs=4",
        "keys=8, pairs=8",
    ]


def test_arms_of_other_data_are_of_one_task_if_they_were_tested_on_the_same_examples(tmp_path):
    """As where one arm was trained on fewer examples."""
    for arm, size in (("few", 100), ("many", 1000)):
        for seed in (1, 2, 3):
            config = {"data": {"type": "copy", "length": 6, "train_size": size}}
            write_tested(tmp_path / f"{arm}{seed}", arm, seed, [size + seed, 2.0, 3.0, 4.0], config=config)
    (task,) = compare([tmp_path]).tasks
    assert [arm.name for arm in task.arms] == ["few", "many"]


def test_many_tasks_have_no_answer_each(tmp_path):
    losses = {(f"task{place}", mixer): (place, place + 0.1) for place in range(9) for mixer in ("rnn", "attention")}
    found = compare([write_tasks(tmp_path, losses)])
    assert found.sentence.startswith("9 tasks: in none of them is an arm better")
    assert not found.answers


def test_the_sizes_of_a_ladder_are_no_rivals(tmp_path):
    for size, loss in (("6.4k", 2.0), ("48k", 1.0)):
        for family in ("gru", "attention"):
            for seed in (1, 2, 3):
                worse = 0.1 * seed + 0.5 * (family == "gru")
                name = f"{family}@{size}@80"
                write_run(tmp_path / f"{name}{seed}", [], loss + worse, seed, arm=name)
    found = compare([tmp_path])
    assert {task.name: task.best.name for task in found.tasks} == {
        "48k, 80 steps": "attention@48k@80",
        "6.4k, 80 steps": "attention@6.4k@80",
    }
    assert found.sentence.endswith("the best is attention at 2; beyond chance in none of them.")


def test_an_arm_whose_runs_all_diverged_is_behind_in_its_own_task(tmp_path):
    write_tasks(tmp_path)
    for seed in (1, 2, 3):
        write_run(
            tmp_path / f"lstm_parity_{seed}", [], seed=seed, arm="lstm_parity", status="failed", result=None,
            reason="the loss is not finite at step 10", config={"data": {"type": "parity", "length": 6}},
        )  # fmt: skip
    parity, reverse = compare([tmp_path]).tasks
    assert [arm.name for arm in parity.arms] == ["rnn_parity", "attention_parity", "lstm_parity"]
    assert len(reverse.arms) == 2
