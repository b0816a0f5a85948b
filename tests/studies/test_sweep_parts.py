"""The parts of a sweep: its list of trials, its locks, its folder, and the loop that starts what is left."""

import io
import json
import math

import pytest
from hydra import initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from rich.console import Console

from composer.core.problems import UserError
from composer.runs.folder import RunFolder
from composer.runs.lock import folder_lock
from composer.runs.record import RunRecord
from composer.runs.sweep_folder import SweepFolder
from composer.studies.planning.trial import Trial
from composer.studies.sweep.sweep_loop import ATTEMPTS, SweepLoop
from composer.studies.sweep.sweep_progress import SweepProgress
from composer.studies.sweep.sweep_results import table
from composer.studies.sweep.trials import Grid
from tests.support.paths import ROOT


@pytest.fixture
def loader():
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        yield GlobalHydra.instance().config_loader()


@pytest.fixture
def folder(tmp_path):
    facts = {"kind": "grid", "arguments": ["seed=1,2"], "judged": "valid/loss", "direction": "min"}
    return SweepFolder.create(tmp_path / "sweep", facts)


ARGUMENTS = [
    ["mixer=gru,lstm", "seed=1,2,3", "training.figures=false"],
    ["seed=range(1,4)", "mixer=choice(gru,lstm)", "mixer@model.nodes.decoder.mixer=gru"],
    ["mixer=lstm,gru", "mixer=gru", "model.dim=8"],
    ["data.path='a, b.txt','c.txt'", "+training.x=1"],
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_a_grid_has_the_trials_of_hydras_own_sweeper(loader, arguments):
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(arguments)
    (wanted,) = BasicSweeper.split_arguments(parsed, None)
    trials = Grid(arguments, loader).trials
    assert [list(trial.overrides) for trial in trials] == wanted
    assert [trial.number for trial in trials] == list(range(len(wanted)))


def test_a_trials_folder_is_named_by_what_varies(loader):
    trials = Grid(["mixer=gru,lstm", "training.steps=4", "mixer@model.nodes.decoder.mixer=gru,rnn"], loader).trials
    assert trials[1].name == "1_mixer=gru,mixer_model.nodes.decoder.mixer=rnn"
    assert trials[1].parameters == {"mixer": "gru", "mixer@model.nodes.decoder.mixer": "rnn"}


def test_a_range_needs_a_search(loader):
    with pytest.raises(UserError, match="add search=tpe"):
        Grid(["optimiser.learning_rate=interval(1e-4,1e-2)"], loader)


def test_a_folder_is_held_by_one_process_at_a_time(tmp_path):
    with folder_lock(tmp_path) as first, folder_lock(tmp_path) as second:
        assert first is not None
        assert second is None
    with folder_lock(tmp_path) as third:
        assert third is not None


def trials(count):
    return [Trial(i, f"{i}_seed={i}", (f"seed={i}",), {"seed": i}) for i in range(count)]


class Listed:
    """Trials of a list, all ready from the start."""

    def __init__(self, trials):
        self.trials, self.total = trials, len(trials)

    def ready(self, read):
        return (trial for trial in self.trials if read(trial).status not in ("finished", "failed"))


class Finishing:
    """A launcher whose jobs finish at once, except for those of some trials, whose process dies."""

    def __init__(self, folder, dying=()):
        self.folder, self.dying, self.launched = folder, dying, []

    def launch(self, job_overrides, initial_job_idx):
        for overrides in job_overrides:
            name = overrides[-1].partition("=")[2].strip("'")
            self.launched.append(name)
            if name not in self.dying:
                RunFolder(self.folder.path / name).update_record(status="finished", result={"valid/loss": 1.0})


def statuses(folder):
    return [run.read_record().status for run in folder.runs()]


@pytest.mark.parametrize("at_once", [1, None])
def test_every_trial_is_launched_once(folder, at_once):
    launcher = Finishing(folder)
    SweepLoop(folder, Listed(trials(3)), launcher, at_once).run()
    assert launcher.launched == ["0_seed=0", "1_seed=1", "2_seed=2"]
    SweepLoop(folder, Listed(trials(3)), launcher, at_once).run()  # the same command again
    assert len(launcher.launched) == 3
    assert statuses(folder) == ["finished"] * 3


def test_a_trial_whose_process_dies_again_and_again_has_failed(folder):
    launcher = Finishing(folder, dying=["1_seed=1"])
    SweepLoop(folder, Listed(trials(3)), launcher, None).run()
    assert launcher.launched.count("1_seed=1") == ATTEMPTS
    assert statuses(folder) == ["finished", "failed", "finished"]
    assert "was it killed?" in RunFolder(folder.path / "1_seed=1").read_record().reason


def test_a_trial_whose_facts_are_torn_is_trained_again(folder, capsys):
    SweepLoop(folder, Listed(trials(2)), Finishing(folder), None).run()
    torn = RunFolder(folder.path / "1_seed=1")
    torn.record_file.write_text('{"status": "fini')
    again = Finishing(folder)
    SweepLoop(folder, Listed(trials(2)), again, None).run()
    assert again.launched == ["1_seed=1"]
    assert statuses(folder) == ["finished"] * 2
    assert "run.json' cannot be read: it is set aside as 'run.json.damaged'" in capsys.readouterr().err


def test_a_launcher_that_cannot_start_is_an_error(folder):
    class Broken:
        def launch(self, job_overrides, initial_job_idx):
            raise FileNotFoundError("sbatch")

    with pytest.raises(UserError, match="cannot start a trial: sbatch"):
        SweepLoop(folder, Listed(trials(2)), Broken(), None).run()
    assert statuses(folder) == ["waiting"] * 2


def test_a_trial_that_another_process_holds_is_left_to_it(folder):
    launcher, loop = Finishing(folder), None
    with folder_lock(folder.path / "0_seed=0"):
        loop = SweepLoop(folder, Listed(trials(2)), launcher, 1)
        loop.start_all()
    assert launcher.launched == ["1_seed=1"]
    loop.run()
    assert launcher.launched == ["1_seed=1", "0_seed=0"]


def test_the_unfinished_sweep_of_the_same_arguments_is_found(folder, tmp_path):
    assert SweepFolder.unfinished(tmp_path, ["seed=1,2"]).path == folder.path
    assert SweepFolder.unfinished(tmp_path, ["seed=1,3"]) is None
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sweep.json").write_text("{")
    folder.update_record(status="finished")
    assert SweepFolder.unfinished(tmp_path, ["seed=1,2"]) is None


def test_what_is_not_a_sweep_is_refused(tmp_path):
    with pytest.raises(UserError, match="there is no sweep"):
        SweepFolder.find(tmp_path / "nothing")
    run = RunFolder(tmp_path / "run")
    run.make()
    run.config.write_text("{}")
    with pytest.raises(UserError, match="It is a run: python train"):
        SweepFolder.find(run.path)


def written(folder, name, **facts):
    run = RunFolder(folder.path / name)
    run.path.mkdir(exist_ok=True)
    run.update_record(**facts)
    return run


def test_without_a_terminal_every_trial_is_a_line_when_it_ends(folder):
    console = Console(record=True, width=100, force_terminal=False)
    written(folder, "0_a", status="finished", result={"valid/loss": 9.0}, seconds=1.0)  # before this process began
    with SweepProgress(folder, 4, console):
        written(folder, "1_b", status="finished", result={"valid/loss": 0.25}, seconds=3.2)
        written(folder, "2_[red]c", status="failed", reason="no memory")
        written(folder, "3_d", status="running")
    assert console.export_text().splitlines() == [
        "2 of 4  finished  1_b  loss 0.25  3 s",
        "3 of 4  failed  2_[red]c  0 s  no memory",
    ]


def test_on_a_terminal_a_table_shows_the_best_trial_and_the_time_left(folder):
    terminal = Console(file=io.StringIO(), width=100, height=30, force_terminal=True)
    folder.update_record(judged="valid/accuracy", direction="max")
    board = SweepProgress(folder, 6, terminal)
    written(folder, "0_a", status="finished", result={"valid/accuracy": 0.5}, seconds=60.0, last_step=100)
    written(folder, "1_b", status="finished", result={"valid/accuracy": 0.75}, seconds=60.0, last_step=100)
    written(folder, "2_c", status="pruned", result={"valid/accuracy": 0.25}, seconds=60.0, last_step=20)
    running = written(folder, "3_d", status="running")
    lines = [{"step": 10, "seconds": 5.0}, {"step": 10, "valid/accuracy": 0.4}, {"step": 20, "valid/accuracy": 0.3}]
    running.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 3')
    with board:
        assert board.live is not None
    page = Console(record=True, width=100)
    page.print(board.render())
    text = page.export_text().splitlines()
    cells = [line.split() for line in text if line and line[0].isdecimal()]
    assert cells[0] == ["3_d", "running", "20", "0.4", "5"]
    assert [cell[0] for cell in cells[1:4]] == ["1_b", "0_a", "2_c"]
    assert "3 of 6 done, 1 running, 1 pruned, best 0.75, about 3 min 00 s left" in text


def test_the_table_is_ordered_by_the_judged_metric():
    records = {
        run: RunRecord(status=status, seconds=1.0, result={"valid/loss": loss, "valid/f1": f1}, result_step=3)
        for run, status, loss, f1 in [
            ("a", "finished", 1.0, 0.5), ("b", "pruned", 0.1, 0.9), ("c", "finished", 2.0, 0.7), ("d", "failed", 0, 1),
        ]
    }  # fmt: skip
    head, _, *names = [line.split()[0] for line in table(records, "valid/f1", "max").splitlines()]
    assert [head, *names] == ["run", "c", "a", "b", "d"]


def test_the_judged_value_of_a_failed_trial_is_nan():
    assert RunRecord(status="finished", result={"valid/loss": 2.0}).judged("valid/loss") == 2.0
    assert RunRecord(status="finished", result={"loss": 3.0}).judged("valid/loss") == 3.0  # nothing was validated
    assert math.isnan(RunRecord(status="failed", result={"valid/loss": 2.0}).judged("valid/loss"))
