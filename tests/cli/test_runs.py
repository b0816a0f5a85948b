"""``composer runs``: every run and sweep below a folder, as its record says and as its lock knows better."""

import fcntl
import json
import subprocess
import sys
from contextlib import ExitStack
from threading import Timer

import pytest

from composer.cli.main import main
from composer.runs.lock import LOCK, WORKERS, attending, folder_lock, is_attended, is_held
from composer.studies.records.run_records import read_runs
from tests.support.paths import ROOT
from tests.support.runs import write_grid, write_run


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder of everything: runs in all states, a sweep that stands still, another with long names."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs"
    for number, status in enumerate(("finished", "stopped", "failed", "pruned", "running")):
        began = f"2026-01-3{number % 2}T0{number}:00:00+00:00"
        write_run(folder / status, [f"name={status}", "mixer=gru"], status=status, began=began, steps=100_000)
    write_grid(folder / "sweep", {"gru": [0.5, 0.4], "lstm": [0.3]}, began="2026-02-01T00:00:00+00:00")
    write_grid(folder / ("long-" * 20), {"x" * 150: [1e-9]}, began="2026-02-02T00:00:00+00:00")
    for sweep in ("sweep", "long-" * 20):
        plan = {"format": 1, "kind": "grid", "arguments": ["mixer=gru,lstm", "seed=1,2"], "status": "running"}
        plan |= {"judged": "valid/loss", "direction": "min", "trials": 4, "began": "2026-02-01T00:00:00+00:00"}
        (folder / sweep / "sweep.json").write_text(json.dumps(plan))
    return folder


def asked(capsys, *words):
    assert main(["runs", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_all_runs_that_a_comparison_finds_are_listed_once_and_the_newest_first(runs, capsys):
    found = asked(capsys, runs, runs / "sweep")
    known, _ = read_runs([runs])
    assert sorted(run["folder"] for run in found["runs"]) == sorted(str(run.folder) for run in known)
    for entries in (found["runs"], found["sweeps"]):
        times = [entry["began"] for entry in entries]
        assert times == sorted(times, reverse=True)
    assert {run["name"]: run["overrides"] for run in found["runs"]}["stopped"] == ["mixer=gru", "seed=1"]


def test_a_run_that_says_running_was_killed_unless_somebody_holds_it(runs, capsys):
    def states():
        return {run["name"]: run["state"] for run in asked(capsys, runs)["runs"] if run["sweep"] is None}

    before = sorted(path for path in runs.rglob("*"))
    as_written = {name: name for name in ("finished", "stopped", "failed", "pruned")}
    assert states() == as_written | {"running": "killed"}
    assert sorted(path for path in runs.rglob("*")) == before, "a look writes nothing"
    with folder_lock(runs / "running"):
        assert states() == as_written | {"running": "running"}


@pytest.mark.parametrize("hold", [attending, lambda sweep: folder_lock(sweep / "0_mixer=gru,seed=1")])
def test_a_sweep_was_killed_unless_a_process_works_on_it(runs, capsys, hold):
    facts = json.loads((runs / "sweep" / "0_mixer=gru,seed=1" / "run.json").read_text())
    (runs / "sweep" / "0_mixer=gru,seed=1" / "run.json").write_text(json.dumps(facts | {"status": "running"}))

    def sweep():
        return {sweep["name"]: sweep for sweep in asked(capsys, runs)["sweeps"]}["sweep"]

    found = sweep()
    assert (found["state"], found["done"], found["trials"]) == ("killed", 2, 4)
    assert (found["value"], found["best"]) == (0.3, str(runs / "sweep" / "2_mixer=lstm,seed=1"))
    with ExitStack() as stack:
        stack.enter_context(hold(runs / "sweep"))
        assert sweep()["state"] == "running"


@pytest.mark.parametrize("named", [(), ("runs/sweep",), ("runs/" + "long-" * 20, "runs")])
def test_the_list_fits_80_columns(runs, capsys, monkeypatch, named):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["runs", *named]) == 0
    out = capsys.readouterr().out
    table = out.split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 80
    if not named:
        assert [line.split()[2] for line in table[2:] if not line.startswith(" ")].count("finished") == 1
        assert "Killed runs can go on from their last checkpoints: python train.py" in out


def test_a_folder_without_runs_and_one_that_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    assert main(["runs"]) == 0
    assert "There is no run in runs." in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["runs", "rums"])
    assert "there is no folder 'rums'. Did you mean 'runs'?" in capsys.readouterr().err


def test_a_list_needs_no_torch(runs):
    code = (
        f"import sys; from composer.cli.main import main; main(['runs', {str(runs)!r}]); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("name", [LOCK, WORKERS])
def test_a_look_keeps_nobody_from_working(tmp_path, name):
    """To look at a lock, ``runs`` has it for an instant, in which a run may be resumed or a sweep go on."""
    with open(tmp_path / name, "a+") as look:
        fcntl.flock(look, fcntl.LOCK_EX)
        Timer(0.01, fcntl.flock, (look, fcntl.LOCK_UN)).start()
        with folder_lock(tmp_path) if name == LOCK else attending(tmp_path) as held:
            assert held is not None or name == WORKERS
            assert is_held(tmp_path) if name == LOCK else is_attended(tmp_path)
