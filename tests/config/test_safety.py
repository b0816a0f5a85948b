"""A config cannot call functions: neither files of others nor overrides reach Hydra's own config, or choose plugins."""

import pytest

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.config.overrides import check_overrides, config_dir, split_options
from composer.config.yaml_files import parse
from composer.core import registry
from composer.core.problems import Report, UserError
from composer.runs.sweep_folder import SweepFolder
from composer.studies.planning.study_checks import check_arms
from composer.studies.planning.trial import Trial
from composer.studies.sweep.sweep_loop import SweepLoop
from composer.studies.tuning.search_space import parse_space
from tests.support import processes
from tests.support.paths import ROOT

GLOBAL = "# @package _global_\n"


@pytest.mark.parametrize(
    "text",
    [
        GLOBAL + "hydra: {callbacks: {e: {_target_: os.getcwd}}}\n",
        GLOBAL + "hydra: {job_logging: {handlers: {x: {class: os.system}}}}\n",
        GLOBAL + "hydra: {verbose: true}\n",
        "# @package hydra.callbacks.e\nx: 1\n",
        "# @package hydra\nverbose: true\n",
        GLOBAL + "defaults:\n  - override /hydra/launcher: parallel\n",
        GLOBAL + "defaults:\n  - /mixer@hydra.callbacks.e: lstm\n",
        GLOBAL + "defaults:\n  - /mixer@_global_.hydra.callbacks.e: lstm\n",
        "data: {_target_: os.getcwd}\n",
        "model: {nodes: [{x: {_partial_: true}}]}\n",
    ],
)
def test_a_file_of_others_does_not_reach_hydras_config(text):
    with pytest.raises(UserError, match=r"call a function|call functions|command line only"):
        parse(text, "mine.yaml")


@pytest.mark.parametrize(
    "word",
    [
        "+hydra.callbacks.e._target_=os.system",
        "++hydra.callbacks.e={_target_: os.system}",
        "hydra.launcher._target_=os.system",
        "hydra={callbacks: {}}",
        "~hydra.callbacks",
        "hydra.job_logging.root.level=DEBUG",
        "hydra/job_logging=default",
        "hydra.searchpath=[file:///tmp]",
        "+mixer@hydra.callbacks.e=lstm",
        "+data._target_=os.getcwd",
        "data={'_target_': os.getcwd}",
    ],
)
def test_an_override_does_not_reach_hydras_config(word):
    with pytest.raises(UserError, match="command line: "):
        check_overrides(["seed=1", word])
    with pytest.raises(UserError):
        compose([word])


@pytest.mark.parametrize("word", ["--experimental-rerun=config.pickle", "--experimental-rerun", "--exp"])
def test_an_option_that_reads_a_pickled_file_is_refused(word):
    with pytest.raises(UserError, match="could run code"):
        config_dir(split_options(["seed=1", word, "config.pickle"])[0])


@pytest.mark.parametrize(
    "word",
    [
        "hydra/launcher=parallel",
        "hydra.launcher.jobs=2",
        "hydra.launcher.init.address=auto",
        "hydra/sweeper=basic",
        "hydra.sweep.dir=runs/mixers",
        'hydra.run.dir="."',  # this and the next two are Lightning's, for the other processes of a run
        "hydra.job.name=train_ddp_process_1",
        "hydra.output_subdir=null",
        "data.path=the_target_of_hydra.tsv",
        "data.path=/data/hydra/x.tsv",
        "name=hydra",
    ],
)
def test_ordinary_words_are_allowed(word):
    check_overrides([word])


def test_the_overrides_of_a_trial_are_checked_wherever_they_come_from(tmp_path):
    """Those of a search or a study, and those of somebody else's sweep.json."""
    loop = SweepLoop(SweepFolder(tmp_path), None, None, 1)
    with pytest.raises(UserError, match="call a function"):
        loop.job(Trial(0, "0_x", ("hydra.launcher._target_=os.system",), {}))
    with pytest.raises(UserError, match="inside the folder of runs"):
        SweepFolder(tmp_path).run("../x")


@pytest.mark.parametrize("key", ["plugins", "+plugins", "hydra.launcher.jobs", "hydra/launcher"])
def test_neither_an_arm_nor_a_search_chooses_code(key):
    report = Report()
    parse_space({key: "choice(a,b)"}, "search.space", report)
    check_arms({"one": [f"{key}=[evil.py]"]}, report)
    assert [problem.path for problem in report.problems] == [f"search.space.{key}", "study.arms.one"]


@pytest.mark.slow
def test_a_folder_of_configs_runs_no_code(tmp_path):
    """In the real program, which composes before any check of ours could see the config."""
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    touch = "callbacks: {e: {_target_: pathlib.Path.touch, self: called}}"
    (tmp_path / "mine" / "experiment" / "calls.yaml").write_text(f"{GLOBAL}hydra: {{{touch}}}\n")
    for words in (["experiment=calls"], ["-m", "experiment=calls", "seed=1,2"]):
        done = processes.program([ROOT / "train.py", "--config-dir", "mine", *words], tmp_path)
        assert done.returncode == 2
        assert "mine/experiment/" in done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "called").exists()
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_plugin_of_a_file_runs_where_the_command_line_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiment").mkdir()
    polite = "from composer import register\n\n@register('metric', 'polite')\nclass Polite: ...\n"
    (tmp_path / "polite.py").write_text(f"{polite}open('called', 'w').close()\n")
    (tmp_path / "experiment" / "plugged.yaml").write_text(f"{GLOBAL}plugins: [polite.py]\n")
    with pytest.raises(UserError, match=r"plugged\.yaml:2\n.*cannot choose code.*\n?.*'plugins=\[polite\.py\]'"):
        compose(["experiment=plugged"], tmp_path)
    compile_config(compose(["experiment=plugged", "plugins=[polite.py]", "data=copy"], tmp_path))
    assert (tmp_path / "called").exists()
    registry.forget("metric", "polite")
