"""``python -m composer compare`` as a user types it: a table that fits the terminal, or JSON."""

import json
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from composer.cli.main import main
from composer.core.storage.json_output import answer
from composer.studies.comparison import compare
from composer.studies.terminal import as_data, show
from tests.studies.report.test_page import content_in
from tests.support.runs import write_grid, write_run

LOSSES = {"rnn": [2.0, 2.1, 1.9], "lstm": [1.02, 1.11, 0.93], "gru": [1.0, 1.1, 0.95]}
COLUMNS = ["arm", "valid/loss", "verdict", "seeds", "parameters", "FLOPs/token", "seconds", "tokens/s", "peak memory"]


def run(*arguments, capsys):
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def sweep(tmp_path):
    return write_grid(tmp_path / "sweep", LOSSES)


def test_the_table_has_the_best_arm_first(sweep, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    write_run(sweep / "9_failed", ["data=copy", "mixer=gru"], status="failed", reason="no memory", seed=4)
    code, out, err = run("compare", sweep, capsys=capsys)
    assert (code, err) == (0, "")
    head, _, *rows = out.split("\n\n")[0].splitlines()
    assert head.split() == " ".join(COLUMNS).split()
    assert rows[0].split() == ["mixer=gru", "1.017", "±", "0.190", "lowest", "3", "12.3k", "24k", "2.5", "2k", "400MB"]
    assert [row.split()[0] for row in rows] == ["mixer=gru", "mixer=lstm", "mixer=rnn"]
    assert "not distinguishable (" in rows[1]
    assert " worse " in rows[2]
    assert "mixer=gru has the lowest validation loss (1.017 ± 0.190, 3 seeds)" in out
    assert "by Holm's method over all arms, that must agree with Tukey's test" in " ".join(out.split())
    assert "Warning: 1 of the 4 runs of mixer=gru is missing from its mean." in out
    assert f"Skipped 1 folder:\n  {sweep / '9_failed'}: failed: no memory" in out


@pytest.mark.parametrize("width", [30, 50, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(tmp_path, width):
    for mixer, name in (("gru", "b" * 70), ("lstm", "双" * 40)):
        for seed in (1, 2):
            write_run(tmp_path / f"{mixer}{seed}", loss=seed, seed=seed, arm=name)
    text = show(compare([tmp_path]), width)
    table = text.split("\n\n")[0].splitlines()
    assert len(table) == 4
    assert max(map(cell_len, table)) <= width
    assert all("…" in row for row in table[2:]) == (width < 200)
    kept = [name for name in COLUMNS if f" {name} " in f" {table[0]} "]
    assert kept[:2] == COLUMNS[:2]
    words = " ".join(text.split())
    note = "for which the terminal is too narrow: "
    told = words.partition(note)[2].partition(".")[0].split(", ") if note in words else []
    assert told == [name for name in COLUMNS if name not in kept]
    assert bool(told) == (width <= 100)


def test_a_name_cannot_control_the_terminal(tmp_path, capsys):
    write_run(tmp_path / "a", arm="\x1b[2Jbad\nname")
    out = run("compare", tmp_path, capsys=capsys)[1]
    assert "[2Jbad name" in out
    assert "\x1b" not in out


def test_json_has_all_that_the_table_has(sweep, capsys):
    write_run(sweep / "9_failed", ["data=copy", "mixer=gru"], status="failed", seed=4)
    code, out, _ = run("compare", sweep, "--json", capsys=capsys)
    found = json.loads(out)
    assert code == 0
    assert found == answer(as_data(compare([sweep])))
    assert [arm["name"] for arm in found["arms"]] == ["mixer=gru", "mixer=lstm", "mixer=rnn"]
    assert found["arms"][0]["quality"]["values"] == LOSSES["gru"]
    assert found["arms"][0]["seeds"] == [1, 2, 3]
    assert found["arms"][0]["peak_memory"]["mean"] == 400_000_000
    assert [verdict["distinguishable"] for verdict in found["verdicts"]] == [False, True]
    assert (found["correction"], found["level"]) == ("Holm and Tukey", 0.05)
    assert found["verdicts"][0]["seeds_needed"].keys() == {"about", "low", "high"}
    assert found["skipped"] == [{"folder": str(sweep / "9_failed"), "reason": "failed"}]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_report_is_written_with_the_command_that_writes_it_again(sweep, capsys, tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("compare", sweep, "--metric", "loss", "-o", "my report.html", *form, capsys=capsys)
    assert code == 0
    page = Path("my report.html").read_text()
    assert f'"command":"python -m composer compare {sweep} --metric loss -o \'my report.html\'"' in page
    assert "wrote my report.html" in (err if form else out)
    assert not form or json.loads(out)["judged"] == "valid/loss"


def test_a_report_without_figures_is_asked_for_in_the_command_that_writes_it_again(sweep, capsys, tmp_path):
    path = tmp_path / "report.html"
    (sweep / "0_mixer=rnn,seed=1" / "figures").mkdir(exist_ok=True)
    (sweep / "0_mixer=rnn,seed=1" / "figures" / "states.png").write_bytes(b"picture")
    for options, there in (([], True), (["--no-figures"], False)):
        assert run("compare", sweep, *options, "-o", path, capsys=capsys)[0] == 0
        content = content_in(path)
        assert (content["pictures"] is not None) == there
        assert ("--no-figures" in content["command"]) == (not there)


def test_paths_may_follow_options(sweep, tmp_path, capsys):
    other = write_grid(tmp_path / "other", {"conv": [3.0]})
    code, out, _ = run("compare", sweep, "--metric", "accuracy", other, capsys=capsys)
    assert code == 0
    assert "highest validation accuracy" in out
    assert "mixer=conv" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is nothing to compare: name the folders of runs, sweeps or studies."),
        (["nowhere"], "there is nothing to compare. nowhere: there is no such folder."),
        (
            ["nowhere", "elsewhere"],
            "there is nothing to compare. None of 2 folders is a finished run: nowhere: there is no such folder; "
            "elsewhere: there is no such folder.",
        ),
        (["nowhere", "-o", "report.pdf"], "-o: 'report.pdf' should end in .html."),
        (["nowhere", "--no-figures"], "--no-figures has no effect without -o, which writes the report."),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("compare", *arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.strip().startswith(said)
    assert len(err.splitlines()) == 1


def test_a_metric_of_ones_own_needs_its_plugin(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "from composer import Metric, register\n"
        "@register('metric', 'nearness')\n"
        "class Nearness(Metric):\n"
        "    direction, meaning = 'max', 'how near'\n"
        "    def rows(self, seen): ...\n"
    )
    folders = [write_run(tmp_path / name, arm=name, result={"valid/nearness": x}) for name, x in (("a", 1), ("b", 2))]
    code, _, err = run("compare", *folders, "--metric", "nearness", capsys=capsys)
    assert code == 2
    assert "--plugin" in err
    code, out, _ = run("compare", *folders, "--metric", "nearness", "--plugin", tmp_path / "mine.py", capsys=capsys)
    assert code == 0
    assert out.splitlines()[2].split()[0] == "b"


def test_two_hundred_long_runs_take_seconds(tmp_path):
    """Metrics are not read for the table: each of these files is broken at its start and long."""
    for arm in range(20):
        for seed in range(10):
            folder = write_run(tmp_path / f"{arm}_{seed}", [f"model.dim={arm}"], arm + seed / 10, seed)
            (folder / "metrics.jsonl").write_text("{" * 200_000)
    start = time.process_time()
    comparison = compare([tmp_path])
    show(comparison, 100)
    assert time.process_time() - start < 10
    assert len(comparison.arms) == 20


def test_the_test_split_stands_beside_the_judged_metric_and_can_judge_itself(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    for mixer, valid, test in (("gru", 1.0, 1.5), ("lstm", 1.1, 1.4)):
        measured = {"loss": {"value": test, "low": test - 0.1, "high": test + 0.1}}
        write_run(tmp_path / mixer, [f"mixer={mixer}"], valid, test=measured)
    write_run(tmp_path / "rnn", ["mixer=rnn"], 1.2)  # without a test split
    _, out, _ = run("compare", tmp_path, capsys=capsys)
    head, _, *rows = out.split("\n\n")[0].splitlines()
    assert head.split()[:3] == ["arm", "valid/loss", "test/loss"]
    assert [row.split()[:3] for row in rows] == [
        ["mixer=gru", "1", "1.5"],
        ["mixer=lstm", "1.1", "1.4"],
        ["mixer=rnn", "1.2", "-"],
    ]
    _, out, _ = run("compare", tmp_path / "gru", tmp_path / "lstm", "--metric", "test/loss", capsys=capsys)
    assert "mixer=lstm has the lowest test loss" in " ".join(out.split())
