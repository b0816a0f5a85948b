"""Every option of Hydra works as in a plain program of Hydra, which reads the same files by Hydra's own readers."""

import pytest
import yaml

from tests.support import processes
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

#: A program of Hydra without anything of ours but the resolver that train.yaml names.
PLAIN = f"""
import hydra
import composer.config.composition
from composer.config import yaml_files

yaml_files.ConfigFolder.of = lambda entry: None

def job(config): ...

hydra.main(version_base="1.3", config_path="{ROOT / "conf"}", config_name="train")(job)()
"""


@pytest.fixture
def both(tmp_path):
    """Runs train.py and the plain program with the same words; returns both outputs, and checks that both succeed."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "train.py").write_text(PLAIN)
    mine = tmp_path / "mine"
    (mine / "mixer").mkdir(parents=True)
    (mine / "mixer" / "wide.yaml").write_text("# Wide.\ntype: attention\nheads: 16\n")
    (mine / "other.yaml").write_text("defaults:\n  - train\n  - _self_\n\nseed: 77\n")

    def outputs(*words):
        done = [processes.program([script, *words], tmp_path) for script in (ROOT / "train.py", "plain/train.py")]
        assert [one.returncode for one in done] == [0, 0]
        return [one.stdout.replace(str(ROOT / "train.py"), "plain/train.py") for one in done]

    return outputs


@pytest.mark.parametrize(
    "words",
    [
        ["--cfg", "job"],
        ["--cfg", "job", "mixer=gru", "+model.more=1", "~training.clip"],
        ["mixer=gru", "--cfg=job", "--package", "model.nodes.decoder"],
        ["--cfg", "job", "--resolve", "--package", "training"],
        ["-c", "job", "-p", "optimiser"],
        ["--cfg", "job", "--config-dir", "mine", "mixer=wide", "-p", "mixer"],
        ["--cfg", "job", "-cd=mine", "mixer=wide", "-p", "model.nodes"],
        ["--cfg", "job", "--config-dir", "mine", "--config-name", "other", "-p", "seed"],
        ["--help"],
        ["--help", "mixer=gru"],
        ["--hydra-help"],
        ["--info", "defaults", "mixer=gru"],
        ["--info", "defaults-tree", "experiment=bahdanau"],
        ["--info", "config", "-p", "schedule"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_an_option_prints_what_hydra_prints(both, words):
    ours, plain = (text for text in both(*words))
    if "--info" in words:  # has a table of the search path, which is tested below
        ours, plain = ("".join(line for line in text.splitlines() if line[:1] not in "|-") for text in (ours, plain))
    assert ours == plain
    assert ours


def test_the_config_of_hydra_itself_differs_only_in_the_readers_of_files(both):
    for package in ("hydra", "all"):
        ours, plain = (yaml.safe_load(text)["hydra"] for text in both("--cfg", package, "mixer=gru"))
        schemes = [(found["provider"], found["path"]) for found in ours["runtime"].pop("config_sources")]
        assert schemes == [(found["provider"], found["path"]) for found in plain["runtime"].pop("config_sources")]
        assert ours == plain


def test_the_search_path_has_the_same_folders(both):
    def folders(text):
        return [line.split()[1].rpartition("://")[2] for line in text.splitlines() if "://" in line]

    ours, plain = both("--info", "searchpath", "--config-dir", "mine")
    assert dict.fromkeys(folders(ours)) == dict.fromkeys(folders(plain))


def test_another_config_path_is_another_folder_of_configs(both, tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "small.yaml").write_text("a: 1\nb: ${a}\n")
    words = ["--config-path", str(tmp_path / "whole"), "--config-name", "small", "--cfg", "job"]
    ours, plain = both(*words)
    assert ours == plain == "a: 1\nb: ${a}\n"


@pytest.mark.parametrize("word", ["--config-di", "--config-d"])
def test_an_abbreviated_config_dir_is_refused(word, tmp_path):
    done = processes.program([ROOT / "train.py", "seed=2", word, "mine"], tmp_path)
    assert done.returncode == 2
    assert "Did you mean --config-dir?" in done.stderr


@pytest.mark.parametrize(
    "words", [["--cfg", "job", "--info", "all"], ["-m", "seed=1,2", "--cfg", "job"], ["--resolve"]]
)
def test_options_that_hydra_does_not_combine_are_refused_in_a_sentence(words, tmp_path):
    done = processes.program([ROOT / "train.py", *words], tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("command line: ")
    assert "--cfg" in done.stderr
    assert "Traceback" not in done.stderr
