"""Values of environment variables are in no file of a run; they are read again where they are needed."""

import shutil

import pytest
import yaml

import composer
from composer.config.composition import compose
from composer.config.environment import as_written, with_environment
from composer.core.problems import UserError
from composer.training.run.train import train

SECRET = "hunter2-hunter2"
SMALL = [
    "data=copy", "data.length=4", "data.train_size=20", "data.valid_size=8", "training.steps=2", "training.batch=4",
    "model.dim=8", "mixer.heads=1", "cross.heads=1", "training.figures=false", "model.nodes.encoder.depth=1",
    "model.nodes.decoder.depth=1",
]  # fmt: skip


@pytest.mark.slow
def test_no_file_of_a_run_has_the_value_of_a_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET", SECRET)
    monkeypatch.setenv("A_WIDTH", "16")
    overrides = [*SMALL, f"runs={tmp_path}", "name=run", "group=team-${oc.env:A_SECRET}", "arm=${group}",
                 "model.dim='${oc.decode:${oc.env:A_WIDTH}}'"]  # fmt: skip
    composed = compose(overrides)
    assert composed.values["arm"] == f"team-{SECRET}"
    train(composed, quiet=True)
    run = tmp_path / "run"
    files = [path for path in run.rglob("*") if path.is_file()]
    assert [path.name for path in files if SECRET.encode() in path.read_bytes()] == []
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert (config["group"], config["arm"]) == ("team-${oc.env:A_SECRET}", "team-${oc.env:A_SECRET}")
    assert config["model"]["dim"] == 16  # a model cannot be rebuilt without its numbers

    resumed = shutil.copytree(run, tmp_path / "copy")
    train(compose([f"resume={resumed}", "training.steps=3"]), quiet=True)
    assert not any(SECRET.encode() in path.read_bytes() for path in resumed.rglob("*") if path.is_file())
    monkeypatch.delenv("A_SECRET")
    assert composer.load(run).predict(["1 2"])  # needs no value of the variable
    with pytest.raises(UserError, match=r"group is .*no variable 'A_SECRET'"):
        train(compose([f"resume={resumed}", "training.steps=4"]), quiet=True)


def test_texts_are_written_and_read_again(monkeypatch):
    monkeypatch.setenv("A_SECRET", SECRET)
    written = {"a": [{"b": "x/${oc.env:A_SECRET}/y"}], "c": "${oc.env:NOT_SET,else}", "d": 1}
    values, kept = with_environment(written)
    assert values == {"a": [{"b": f"x/{SECRET}/y"}], "c": "else", "d": 1}
    assert as_written(values, kept) == written
    values["c"] = "changed since"
    assert as_written(values, kept)["c"] == "changed since"
    assert with_environment({"a": "${oc.env:NOT_SET}"}, needed=False)[0] == {"a": "${oc.env:NOT_SET}"}


#: What W&B has to know: its client keeps these in its own files, under wandb/ in the run's folder.
OF_WANDB = ("project", "entity", "group", "job_type", "tags")


@pytest.mark.slow
def test_every_text_of_the_environment_is_in_no_file_but_those_of_wandb(tmp_path, monkeypatch):
    """A secret of its own for every key that a text can have: which of them are where?"""
    monkeypatch.chdir(tmp_path)
    keys = ["group", "arm", "data.path", *(f"logger.wandb.{key}" for key in OF_WANDB)]
    secrets = {key: f"hunter-{number}-hunter" for number, key in enumerate(keys)}
    for key, secret in secrets.items():
        monkeypatch.setenv(key.replace(".", "_"), secret)
    (tmp_path / f"{secrets['data.path']}.tsv").write_text("red green\tred\nblue pink\tblue\n" * 20)
    written = {key: f"${{oc.env:{key.replace('.', '_')}}}" for key in keys}
    written |= {"data.path": f"{written['data.path']}.tsv", "logger.wandb.tags": f"[{written['logger.wandb.tags']}]"}
    overrides = ["data=labelled", "model=seq2vec", "mixer=mingru", "logger=[csv,tensorboard,wandb]",
                 "logger.wandb.mode=offline", "training.figures=false", "model.dim=8", "training.steps=2",
                 "training.batch=4", "runs=runs", "name=run"]  # fmt: skip
    overrides += [f"{key}={text}" for key, text in written.items()]
    train(compose(overrides), quiet=True)
    run = tmp_path / "runs" / "run"
    found: dict[str, set[str]] = {key: set() for key in keys}
    for path in (path for path in run.rglob("*") if path.is_file() and not path.is_symlink()):
        for key, secret in secrets.items():
            if secret.encode() in path.read_bytes():
                found[key].add(path.relative_to(run).parts[0])
    somewhere = {key for key, places in found.items() if places}
    assert "logger.wandb.project" in somewhere
    assert somewhere <= {f"logger.wandb.{key}" for key in OF_WANDB}  # W&B's client may cut a text in two
    assert all(found[key] == {"wandb"} for key in somewhere)
    assert all(text.strip("[]") in (run / "config.yaml").read_text() for text in written.values())
