"""A checkpoint of somebody else opens no file of this machine and brings no code; own runs read their data."""

import math
import shutil

import pytest

import composer
from composer.core.plugin_identity import digest, identities
from composer.core.problems import UserError
from composer.inference.find_checkpoint import find_checkpoint
from composer.inference.run_data import check_named
from composer.runs import checkpoint, ownership
from composer.training.run.init.pretrained import Pretrained
from tests.support.opened import opened_files
from tests.support.trained import lines


@pytest.fixture
def secret(tmp_path):
    """A file that nobody may open, and nobody has."""
    file = tmp_path / "secret.tsv"
    file.write_text("hunter2 is the password\tred\n" * 20)
    with opened_files() as opened:
        yield file
    assert str(file) not in opened


@pytest.fixture
def foreign(runs, tmp_path, secret):
    """A classifier whose config names the secret file."""
    content = checkpoint.load(find_checkpoint(runs("seq2vec")))
    content["config"]["data"]["path"] = str(secret)
    checkpoint.save(tmp_path / "foreign.pt", content)
    return tmp_path / "foreign.pt"


@pytest.mark.parametrize(
    "words",
    [["predict"], ["evaluate"], ["predict", "--split", "train"], ["evaluate", "--split", "valid"],
     ["evaluate", "--over", "data.seed=1,2"], ["predict", "data.target=1"]],
)  # fmt: skip
def test_a_foreign_checkpoint_does_not_choose_files(foreign, refused, secret, words):
    said = refused(words[0], foreign, *words[1:])
    assert "was not trained here" in said
    assert f"data.path={secret}" in said
    assert "hunter2" not in said


def test_a_foreign_checkpoint_is_used_without_its_files(foreign, ask, tmp_path):
    (tmp_path / "mine.tsv").write_text("red green\nblue\n")
    code, out, err = ask("predict", foreign, f"data.path={tmp_path / 'mine.tsv'}")
    assert (code, len(lines(out))) == (0, 2), err
    code, _, err = ask("predict", foreign, "--given", "red green")
    assert code == 0, err
    code, _, err = ask("inspect", foreign, "-o", tmp_path / "page")
    assert code == 0
    assert "was not trained here" in " ".join(err.split())
    code, _, err = ask("export", foreign, "--format", "safetensors", "-o", tmp_path / "export")
    assert code == 0, err
    assert composer.load(foreign).predict(["red"])


def test_the_user_can_name_the_files_of_a_foreign_config(runs, ask, tmp_path):
    content = checkpoint.load(find_checkpoint(runs("seq2vec")))
    checkpoint.save(tmp_path / "unsigned.pt", {**content, "signature": None})
    assert ask("evaluate", tmp_path / "unsigned.pt")[0] == 2
    code, _, err = ask("evaluate", tmp_path / "unsigned.pt", "data.path=labelled.tsv", "--split", "valid")
    assert code == 0, err


def test_a_run_that_was_trained_here_reads_its_own_data(runs, ask, tmp_path, monkeypatch):
    assert ask("evaluate", runs("seq2vec"))[0] == 0
    checkpoint.save(tmp_path / "moved.pt", checkpoint.load(find_checkpoint(runs("seq2vec"))))
    assert ask("evaluate", tmp_path / "moved.pt")[0] == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
    assert ask("evaluate", runs("seq2vec"))[0] == 2
    assert ask("evaluate", runs("copy"))[0] == 0  # reads no file


@pytest.mark.parametrize(
    ("section", "named", "whole", "refuses"),
    [
        ({"type": "pairs", "path": "a.tsv"}, [], False, True),
        ({"type": "pairs", "path": "a.tsv"}, ["data.path"], False, False),
        ({"type": "pairs", "path": "a.tsv", "valid": "b.tsv"}, ["data.path"], False, True),
        ({"type": "pairs", "path": "a.tsv", "valid": "b.tsv"}, ["data.path"], True, False),
        ({"type": "pairs", "path": "a.tsv", "valid": 0.1}, ["data.path"], False, False),
        ({"type": "hub", "name": "imdb"}, [], False, True),
        ({"type": "mine", "corpus": {"file": "/etc/passwd"}}, ["data.path"], True, True),
        ({"type": "images", "path": "a", "labels": "b.npy"}, ["data.path"], False, True),
        ({"type": "mixture", "sources": {"a": "a.tsv"}}, [], True, True),
        ({"type": "mixture", "sources": {"a": {"path": "a.tsv"}}}, [], True, True),
        ({"type": "mixture", "sources": {"a": {"path": "a.tsv"}}}, ["data.sources.a.path"], True, False),
        ({"type": "mixture", "each": {"path": "a.tsv"}}, [], True, True),
        ({"type": "copy", "length": 4}, [], False, False),
        ({"type": "pairs", "path": "a.tsv"}, ["data"], False, False),
    ],
)
def test_every_file_of_a_foreign_config_has_to_be_named(section, named, whole, refuses):
    if refuses:
        with pytest.raises(UserError, match="was not trained here"):
            check_named(section, named, whole=whole)
    else:
        check_named(section, named, whole=whole)


def test_a_signature_holds_for_one_section_and_one_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "one"))
    content = {"config": {"data": {"path": "a", "n": 1}}, "signature": ownership.sign({"n": 1, "path": "a"})}
    assert ownership.signed(content)
    assert not ownership.signed({**content, "config": {"data": {"path": "b", "n": 1}}})
    assert not ownership.signed({**content, "signature": None})
    assert ownership.key_file().stat().st_mode & 0o077 == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "two"))
    assert not ownership.signed(content)
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert ownership.sign({}) is None


def test_a_block_is_not_built_from_a_file_that_a_checkpoint_names(runs, refused, tmp_path, secret):
    content = checkpoint.load(find_checkpoint(runs("seq2vec")))
    name, node = next((n, v) for n, v in content["config"]["model"]["nodes"].items() if v["kind"] == "embedding")
    node |= {"type": "pretrained", "path": str(secret), "frozen": True}
    checkpoint.save(tmp_path / "vectors.pt", content)
    said = refused("predict", tmp_path / "vectors.pt", "--given", "red")
    assert f"model.nodes.{name}.path" in said
    assert "hunter2" not in said
    with pytest.raises(UserError, match=rf"model\.nodes\.{name}\.path"):  # for init.from, and a graph inside a node
        Pretrained.read(str(tmp_path / "vectors.pt"))


PLUGIN = "from composer import register\n\n\n@register('optimiser', 'NAME')\ndef made(groups, *, rate: float = 0.1):\n"


def test_a_plugin_is_matched_by_what_it_is(runs, ask, refused, tmp_path, monkeypatch):
    home = tmp_path / "elsewhere"
    home.mkdir()
    plugin = home / "made.py"
    plugin.write_text(PLUGIN.replace("NAME", f"made_{tmp_path.name}") + "    return None\n")
    content = checkpoint.load(find_checkpoint(runs("copy")))
    content["config"]["plugins"] = ["made.py"]
    content["plugins"] = identities([str(plugin)])
    checkpoint.save(tmp_path / "plugged.pt", content)
    assert "--plugin" in refused("generate", tmp_path / "plugged.pt", "1")
    assert "--plugin" in refused("generate", tmp_path / "plugged.pt", "1", "--plugin", "json")
    code, _, err = ask("generate", tmp_path / "plugged.pt", "1", "--plugin", plugin)
    assert (code, err) == (0, "")
    plugin.write_text(plugin.read_text() + "# mended\n")
    code, _, err = ask("generate", tmp_path / "plugged.pt", "1", "--plugin", plugin)
    assert code == 0
    assert "has changed since this model was trained with it" in err
    checkpoint.save(tmp_path / "old.pt", {key: value for key, value in content.items() if key != "plugins"})
    assert ask("generate", tmp_path / "old.pt", "1", "--plugin", plugin)[0] == 0  # made before there were digests


def test_a_digest_is_of_the_content(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "leaky.py").write_text("x = 1\n")
    assert digest(str(tmp_path / "one" / "leaky.py")) == digest(str(tmp_path / "two" / "leaky.py")) is not None
    (tmp_path / "two" / "leaky.py").write_text("x = 2\n")
    assert digest(str(tmp_path / "one" / "leaky.py")) != digest(str(tmp_path / "two" / "leaky.py"))
    assert digest("json") is not None
    assert digest("no_such_package") is None


@pytest.mark.parametrize(
    "words",
    [["generate", "RUN", "1 2"], ["predict", "RUN", "--given", "1 2"], ["evaluate", "RUN"], ["inspect", "RUN"],
     ["export", "RUN", "--format", "safetensors"]],
)  # fmt: skip
def test_every_command_refuses_weights_that_are_not_finite(runs, refused, tmp_path, words):
    folder = tmp_path / "run"
    shutil.copytree(runs("copy"), folder)
    for path in (folder / "checkpoints").glob("*.safetensors"):
        content = checkpoint.load(path)
        name = next(iter(content["model"]))
        content["model"][name].flatten()[0] = math.nan
        checkpoint.save(path, content)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    said = refused(*(folder if word == "RUN" else word for word in words))
    assert f"'{name.removeprefix('nodes.')}' hold NaN" in said
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(("command", "name"), [("inspect", "inspect"), ("export", "export")])
def test_no_command_writes_through_a_link_of_a_foreign_run(runs, refused, tmp_path, command, name):
    shutil.copytree(runs("copy"), tmp_path / "run")
    (tmp_path / "outside").mkdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "outside")
    said = refused(command, tmp_path / "run")
    assert f"'{tmp_path / 'run' / name}' is a link that leads out" in said
    assert not list((tmp_path / "outside").iterdir())
