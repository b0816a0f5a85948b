"""Completion with Tab: what is proposed, and that bash, zsh and fish take it."""

import contextlib
import io
import os
import pty
import shutil
import subprocess
import sys
import time

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from composer.cli.completion.candidates import RECORDS
from composer.cli.main import COMMANDS, main
from composer.config.completion import Completion
from composer.config.resolution import paths
from composer.config.search_path import SearchPath
from composer.core.program import CONF
from composer.runs.folder import RunFolder
from composer.runs.sweep_folder import SweepFolder


def complete(capsys, line):
    main(["complete", line])
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("composer des", ["describe"]),
        ("composer train mixer=mi", ["mixer=mingru", "mixer=minlstm"]),
        ("./train.py mixer=mi", ["mixer=mingru", "mixer=minlstm"]),
        ("python train.py -m mixer=lstm,ming", ["mixer=lstm,mingru"]),
        ("python -m composer draw mixer@model.nodes.enc", ["mixer@model.nodes.encoder.mixer="]),
        ("composer train mixer@model.nodes.encoder.mixer=ls", ["mixer@model.nodes.encoder.mixer=lstm"]),
        ("composer describe experiment=gpt model.nodes.",
         ["model.nodes.decoder.", "model.nodes.embedding.", "model.nodes.output."]),
        ("composer describe mixer=lstm model.nodes.encoder.mixer.b", ["model.nodes.encoder.mixer.bias="]),
        ("composer describe --len", ["--length"]),
        ("composer blocks mix", []),
        ("ls mixer=mi", []),
    ],
)  # fmt: skip
def test_the_last_word_is_completed(capsys, line, expected):
    assert complete(capsys, line) == expected


def test_run_folders_are_completed_and_folders_on_the_way(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder, record in (("runs/one", "run.json"), ("runs/sweep", "sweep.json"), ("runs/else", "notes.txt")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / record).write_text("{}")
    everything = ["runs/else/", "runs/one", "runs/sweep"]
    assert complete(capsys, "composer evaluate ") == complete(capsys, "composer compare runs/one runs/") == everything
    assert complete(capsys, "composer inspect ru") == ["runs/"]
    assert complete(capsys, "composer train init.from=runs/o") == ["init.from=runs/one"]
    assert {folder(tmp_path).record_file.name for folder in (RunFolder, SweepFolder)} == set(RECORDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["mixer=bilstm"],
        ["model=tagger", "data=tagged"],
        ["logger=[csv,wandb]"],
        ["callbacks=[timer,early_stopping]"],
    ]
    + [[f"experiment={file.stem}"] for file in sorted((CONF / "experiment").glob("*.yaml"))[::3]],
    ids=str,
)
def test_the_keys_are_those_that_hydra_composes(words):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        composed = SearchPath().merge("train", words).layers.values
    GlobalHydra.instance().clear()
    expected = {path for path in paths(composed) if path.partition(".")[0] != "hydra"}
    assert set(paths(Completion(words).values)) == expected


def test_every_command_is_completed(capsys):
    assert complete(capsys, "composer ") == [command for command in COMMANDS if command != "complete"]


#: A line with Tabs, and what becomes of it.
KEYS = ["composer train mixer=mingr\t", "model.nodes.encoder.dep\t", "3 mixer@model.nodes.enc\t", "lst\t"]
LINE = "<train mixer=mingru model.nodes.encoder.depth=3 mixer@model.nodes.encoder.mixer=lstm>"

#: What a shell is told, so that a completed line is printed instead of run.
SINK = 'composer() { printf "<%s>" "$*"; }\n'


def script(shell):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(["completion", shell])
    return printed.getvalue()


def typed(shell, keys, folder):
    """What a shell prints in which these keys are typed, up to the line that they complete."""
    leader, follower = pty.openpty()
    rc = folder / "rc"
    rc.write_text(f"{script(shell)}\n{SINK}echo '<rea''dy>'\n")
    start = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    environment = os.environ | {"TERM": "dumb", "ZDOTDIR": str(folder), "HOME": str(folder)}
    running = subprocess.Popen(
        start, stdin=follower, stdout=follower, stderr=follower, env=environment, start_new_session=True, cwd=folder
    )
    os.close(follower)
    os.write(leader, f". {rc}\n".encode())
    seen = read_until(leader, "<ready>")
    for key in keys:  # the next one when what was typed is completed
        os.write(leader, key.encode())
        seen = read_until(leader, key.rstrip("\t"))
    os.write(leader, b"\n")
    seen = read_until(leader, ">")
    os.write(leader, b"exit\n")
    read_until(leader, "nothing")
    os.close(leader)
    running.wait(20)
    return seen


def read_until(leader, word):
    seen, end = "", time.monotonic() + 60
    while word not in seen and time.monotonic() < end:
        try:
            seen += os.read(leader, 10_000).decode(errors="replace")
        except OSError:  # the shell has ended
            break
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_with_tab(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    seen = typed(shell, KEYS, tmp_path)
    assert LINE in seen


@pytest.mark.slow
def test_bash_binds_no_python_and_changes_no_setting(tmp_path):
    words = f"before=$COMP_WORDBREAKS\n{script('bash')}\n[[ $before == $COMP_WORDBREAKS ]] && complete -p"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=True)
    assert {line.split()[-1] for line in done.stdout.splitlines()} == {"composer", "train.py"}


@pytest.mark.slow
def test_fish_completes(tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"{script('fish')}\ncomplete -C 'composer train mixer=mi'"],
        capture_output=True, text=True, check=True, env=os.environ | {"HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.split() == ["mixer=mingru", "mixer=minlstm"]


@pytest.mark.slow
def test_a_completion_imports_neither_torch_nor_hydra():
    code = "import sys; from composer.cli.main import main; main(sys.argv[1:])"
    code += "; print({'torch', 'hydra'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, "complete", "composer train model.nodes.encoder.dep"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["model.nodes.encoder.depth=", "set()"]
