"""Files of others name paths below their own folder and the working folder; the command line names any path."""

import json
import shutil
from contextlib import suppress

import pytest
import yaml

from composer.config.chosen_by_files import PATHS, block_files, leads_elsewhere
from composer.config.composition import compose
from composer.core import registry
from composer.core.binding import keyword_knobs
from composer.core.problems import Report, UserError
from composer.data import load_source
from composer.data.files.named_files import FILES
from composer.studies.planning.study_checks import check_arms
from composer.studies.tuning.search_space import parse_space
from tests.support import processes
from tests.support.opened import opened_files
from tests.support.paths import ROOT

GLOBAL = "# @package _global_\n"


def nested(key, value):
    """A mapping with the value at a dotted key."""
    for name in reversed(key.split(".")):
        value = {name: value}
    return value


def sources():
    """Every key of every source that names files."""
    for name, build in registry.entries("data").items():
        for knob in keyword_knobs(build):
            if knob in FILES:
                yield {"defaults": [{"override /data": name}], "data": {knob: "FILE"}}


EVERY_KEY = [
    *(nested(key, "FILE") for key in PATHS),
    *sources(),
    {"data": {"type": "mixture", "sources": {"a": "FILE"}}},
    {"data": {"type": "mixture", "sources": {"a": {"type": "text", "path": "FILE"}}}},
    {"data": {"type": "mixture", "each": {"path": "FILE"}}},
    {"data": {"type": "table", "hub": {"name": "FILE"}}},
    {"data": {"type": "made_by_a_plugin", "corpus": {"files": ["FILE"]}}},
    *({"model": {"nodes": {"target_embedding": {knob: "FILE"}}}} for knob in sorted(block_files())),
    {"embedding": {"path": "FILE"}, "defaults": [{"override /embedding": "pretrained"}]},
    {"logger": {"mine": {"folder": "FILE"}}},
    {"study": {"arms": {"one": ["data.path='FILE'"]}}},
    {"study": {"arms": {"one": ["+data.each={path: FILE}"]}}},
    {"search": {"space": {"data.path": "choice(FILE,a.tsv)"}}},
]


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A working folder, and beside it a folder of configs: what it holds of an experiment is written by the test."""
    (tmp_path / "work").mkdir()
    (tmp_path / "theirs" / "experiment").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")

    def write(content):
        text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
        (tmp_path / "theirs" / "experiment" / "spy.yaml").write_text(GLOBAL + text)
        return tmp_path / "theirs"

    return write


@pytest.mark.parametrize("number", range(len(EVERY_KEY)), ids=[json.dumps(content) for content in EVERY_KEY])
def test_a_file_names_no_path_elsewhere(number, theirs, tmp_path, monkeypatch):
    secret = tmp_path / "secret.tsv"
    secret.write_text("hunter2\tred\n" * 20)
    monkeypatch.setenv("A_HOME", str(tmp_path))
    way = [str(secret), "../secret.tsv", "${oc.env:A_HOME}/secret.tsv"][number % 3]
    folder = theirs(json.loads(json.dumps(EVERY_KEY[number]).replace("FILE", way)))
    with opened_files() as opened, pytest.raises(UserError, match=r"outside|choose a run") as refused:
        compose(["experiment=spy"], folder)
    said = " ".join(str(refused.value).split())
    assert "theirs/experiment/spy.yaml:" in said
    assert "--allow-paths" in said or "resume=" in said
    assert not [name for name in opened if name.endswith("secret.tsv")]
    assert {path.name for path in tmp_path.iterdir()} == {"work", "theirs", "secret.tsv"}
    assert not list((tmp_path / "work").iterdir())


def test_a_file_names_paths_below_its_folder_and_the_working_folder(theirs, tmp_path):
    folder = tmp_path / "theirs"
    for path in ("mine.tsv", "folder/*.tsv", f"{folder}/data.tsv", f"{tmp_path}/work/a.tsv", "example:intents.tsv"):
        theirs({"data": {"path": path}, "defaults": [{"override /data": "labelled"}], "runs": "results"})
        assert compose(["experiment=spy"], folder).values["data"]["path"] == path


@pytest.mark.parametrize(
    "words",
    [["data.path=/elsewhere/a.tsv"], ["--allow-paths"], ["allow_paths=true"], ["data.valid=/elsewhere/spied.tsv"]],
)
def test_the_command_line_names_any_path(theirs, words):
    folder = theirs({"data": {"path": "/elsewhere/spied.tsv"}, "defaults": [{"override /data": "labelled"}]})
    composed = compose(["experiment=spy", *words], folder)
    assert "allow_paths" not in composed.values  # concerns the command, and not the run
    theirs({"embedding": {"path": "/elsewhere/a.vec"}, "defaults": [{"override /embedding": "pretrained"}]})
    compose(["experiment=spy", "embedding.path=${oc.env:HOME}/b.vec"], folder)


def test_a_file_does_not_allow_itself_any_path(theirs):
    folder = theirs({"allow_paths": True, "runs": "/elsewhere"})
    with pytest.raises(UserError, match="cannot allow itself any path"):
        compose(["experiment=spy"], folder)
    report = Report()
    parse_space({"allow_paths": "choice(true,false)", "resume": "choice(a,b)"}, "search.space", report)
    check_arms({"one": ["allow_paths=true"], "two": ["resume=a"]}, report)
    assert len(report.problems) == 4


@pytest.mark.parametrize("address", ["https://example.org/a.tsv", "s3://bucket/a.tsv", "file:///etc/passwd"])
def test_a_file_names_no_address(theirs, address):
    for data in ({"path": address}, {"valid": address}):
        folder = theirs({"data": data, "defaults": [{"override /data": "labelled"}]})
        with pytest.raises(UserError, match=r"outside of the working folder"):
            compose(["experiment=spy"], folder)
    compose(["experiment=spy", f"data.valid={address}"], folder)


@pytest.mark.parametrize("path", ["link.tsv", "folder", "folder/*.tsv", "f*/link.tsv", "linked/secret.tsv"])
def test_a_link_leads_no_further_than_a_path(theirs, tmp_path, path):
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "secret.tsv").write_text("hunter2\tred\n")
    (tmp_path / "work" / "folder").mkdir()
    for link in ("link.tsv", "folder/link.tsv"):
        (tmp_path / "work" / link).symlink_to(tmp_path / "away" / "secret.tsv")
    (tmp_path / "work" / "linked").symlink_to(tmp_path / "away")
    folder = theirs({"data": {"path": path}, "defaults": [{"override /data": "labelled"}]})
    with pytest.raises(UserError, match=r"data\.path .*spy\.yaml:\d"):
        compose(["experiment=spy"], folder)


def test_a_folder_of_runs_that_the_user_has_linked_is_used(theirs, tmp_path):
    """Its name is that of this package's config, not that of the file."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "work" / "runs").symlink_to(tmp_path / "disk")
    compose(["experiment=spy"], theirs({"seed": 3}))


@pytest.mark.parametrize("entry", ["/../../secret", "/../../../../../../SECRET"])
def test_a_list_of_defaults_does_not_lead_out_of_the_folder(theirs, tmp_path, entry):
    (tmp_path / "secret.yaml").write_text("seed: 7\n")
    entry = entry.replace("/SECRET", str(tmp_path / "secret"))
    with opened_files() as opened, pytest.raises(UserError):
        compose(["experiment=spy"], theirs({"defaults": [entry]}))
    assert not [name for name in opened if name.endswith("secret.yaml")]


def test_an_option_that_is_a_link_does_not_lead_out_of_the_folder(theirs, tmp_path):
    (tmp_path / "secret.yaml").write_text("seed: 7\n")
    folder = theirs({"seed": 1})
    (folder / "experiment" / "spy.yaml").unlink()
    (folder / "experiment" / "spy.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(UserError, match="leads out of the folder of configs"):
        compose(["experiment=spy"], folder)


def test_texts_that_are_no_paths_are_left_alone(theirs):
    below = [ROOT]
    for text in ("loss", "head/bleu", "a\0b", "x" * 5000, "https://a/b"):
        assert leads_elsewhere(text, [*below, theirs({}).parent]) is None


def test_the_keys_of_sources_that_name_files_are_known(tmp_path):
    """Every source, with a file for each of its texts: what is opened is in the list."""
    rows = "".join(f"{i} a b c\tred\n" for i in range(40))
    (tmp_path / "rows.tsv").write_text(rows)
    (tmp_path / "probe.tsv").write_text(rows)
    found = set()
    for name, build in registry.entries("data").items():
        knobs = keyword_knobs(build)
        for knob in (knob for knob, about in knobs.items() if "str" in str(about.type)):
            section = {"type": name, **({"path": str(tmp_path / "rows.tsv")} if "path" in knobs else {})}
            with opened_files() as opened, suppress(UserError):
                source = load_source(section | {knob: str(tmp_path / "probe.tsv")})
                for split in ("train", "valid", "test"):
                    source.size(split)
            if any(path.endswith("probe.tsv") for path in opened):
                found.add(knob)
    assert found >= {"path", "valid", "test"}
    assert found <= set(FILES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words"),
    [([ROOT / "train.py"], []), ([ROOT / "train.py"], ["-m", "seed=1,2"]),
     ([ROOT / "train.py"], ["-m", "seed=1,2", "hydra/sweeper=basic"]), (["-m", "composer", "describe"], []),
     (["-m", "composer", "check"], []), (["-m", "composer", "wandb-sweep"], ["seed=1,2"])],
)  # fmt: skip
def test_every_command_refuses_paths_elsewhere(theirs, tmp_path, command, words):
    theirs({"runs": str(tmp_path / "elsewhere"), "data": {"path": "/etc/passwd"}})
    given = ["--config-dir", "../theirs", *words, "experiment=spy", "data=text"]
    done = processes.program([*command, *given], tmp_path / "work")
    assert (done.returncode, done.stdout) == (2, "")
    assert "spy.yaml:2" in done.stderr
    assert "'/etc/passwd'" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"work", "theirs"}
    assert not list((tmp_path / "work").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("sweeper", ["durable", "basic"])
def test_a_trial_is_not_trained_elsewhere(theirs, tmp_path, sweeper):
    """Hydra makes the folder of a trial before its config is checked, so not where the trial's own files say."""
    folder = theirs({"runs": str(tmp_path / "elsewhere")})
    shutil.copyfile(folder / "experiment" / "spy.yaml", folder / "experiment" / "spied.yaml")
    words = ["--config-dir", "../theirs", "-m", "experiment=spy,spied", f"hydra/sweeper={sweeper}"]
    done = processes.program([ROOT / "train.py", *words], tmp_path / "work")
    assert done.returncode == (2 if sweeper == "durable" else 1)
    assert "outside of the working folder" in " ".join(done.stderr.split())
    assert {path.name for path in tmp_path.iterdir()} == {"work", "theirs"}
