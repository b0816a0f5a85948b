"""What programs read: the keys of docs/json.md are those of real answers, and an agent gets to a verdict by them."""

import json
import re
from contextlib import chdir

import pytest

from composer.cli.main import COMMANDS, main
from composer.core.registry import forget
from composer.core.storage.json_output import ENDINGS, VERSION
from tests.support.paths import ROOT
from tests.support.processes import program

#: A run of a second.
TINY = [
    "data=copy", "data.train_size=40", "data.valid_size=8", "data.length=4", "model.dim=8",
    "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1", "training.steps=4", "training.batch=8",
    "training.validate_every=2", "training.log_every=2", "training.decode_rows=4", "training.figures=false",
    "trainer.threads=1",
]  # fmt: skip

#: Commands that answer nothing: what they print is for a shell.
SILENT = {"completion", "complete", "schema"}

#: Keys that these answers do not have: they need an account of W&B, and a model that knows unknown tokens.
ELSEWHERE = {("wandb-sweep", "report"), ("generate", "unknown")}


def documented():
    """The tables of the page: whether an answer may lack a key, by the name of the table and by the key."""
    tables, here = {}, None
    for line in (ROOT / "docs" / "json.md").read_text().splitlines():
        if (head := re.match(r"\| key of (?:the event )?(?:an )?`?([\w -]+?)`? \| meaning \|", line)) is not None:
            here = tables.setdefault(head[1], {})
        elif here is not None and (row := re.match(r"\| (\*?)`([^`]+)`", line)) is not None:
            here[row[2]] = bool(row[1])
        elif not line.startswith("|"):
            here = None
    return tables


TABLES = documented()


def paths(value, here=""):
    """The path of every value, with [] for the items of a list; of values that hold none, the last part as it is."""
    yield here
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, f"{here}.{key}" if here else key)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{here}[]")


def pattern(key):
    return re.compile(re.escape(key).replace(r"\*", ".+") + r"(\[\])*")


def assert_documented(name, answers):
    """The answers have the keys of a table and no others, and those that may be lacking are in one of them."""
    keys = TABLES[name]
    seen = set()
    for answer in answers:
        assert answer["version"] == VERSION
        found = {path for path in paths(answer) if path not in ("", "version")}
        known = {path for key in keys for path in found if pattern(key).fullmatch(path)}
        below = {path for path in found if any(re.match(re.escape(path) + r"(\.|\[)", other) for other in known)}
        bare = {path for path in found if any(re.match(re.escape(path) + r"(\.|\[)", key) for key in keys)}
        assert found - known - below - bare == set(), f"of {name}, not documented"
        here = {key for key in keys if any(pattern(key).fullmatch(path) for path in found)}
        empty = {key for key in keys for path in bare - below if re.match(re.escape(path) + r"(\.|\[)", key)}
        needed = {key for key, may_lack in keys.items() if not may_lack}
        assert needed - here - empty == set(), f"of {name}, documented and not there"
        seen |= here | empty
    assert {key for key in keys if (name, key) not in ELSEWHERE} - seen == set(), f"of {name}, never there"


def ask(folder, *words):
    """The exit code of a program, and its answers: all of its standard output."""
    done = program(words, folder)
    try:
        return done.returncode, [json.loads(done.stdout)]
    except ValueError:
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def drive(folder):
    """An agent's loop: compose with mistakes, be refused, mend them, train, sweep, read the verdict."""
    overrides, said = [*TINY, "mixer=gur", "training.stebs=5"], {"refused": []}
    for _ in range(4):
        code, (answer,) = ask(folder, "-m", "composer", "describe", *overrides, "--json")
        if code == 0:
            break
        said["refused"].append((code, answer))
        for problem in answer["error"]["problems"]:
            mended = problem["override"].replace(problem["instead_of"], problem["suggestion"])
            overrides[overrides.index(problem["override"])] = mended
    said["overrides"], said["described"] = overrides, (code, answer)
    train = ROOT / "train.py"
    said["refused train"] = ask(folder, train, "--json", *TINY, "mixer=gur")
    said["train"] = ask(folder, train, "--json", *overrides, "name=one")
    said["sweep"] = ask(folder, train, "--json", "-m", *TINY, "mixer=gru,mingru", "seed=1,2", "name=two")
    said["compare"] = ask(folder, "-m", "composer", "compare", "runs/two", "--json")
    (folder / "said.json").write_text(json.dumps(said))


@pytest.fixture(scope="module")
def folder(shared, tmp_path_factory):
    """A copy of the folder in which an agent has trained."""
    return shared.copy(shared.folder("json", drive), tmp_path_factory.mktemp("agent"))


@pytest.fixture(scope="module")
def said(folder):
    return json.loads((folder / "said.json").read_text())


def events(answers, name):
    return [answer for answer in answers if answer["event"] == name]


def test_an_agent_mends_what_is_refused_by_its_suggestions_and_reads_the_verdict(said):
    assert [code for code, _ in said["refused"]] == [2, 2]
    assert said["overrides"] == [*TINY, "mixer=gru", "training.steps=5"]
    assert said["described"][0] == 0

    code, answers = said["train"]
    (end,) = events(answers, "finished")
    assert (code, end["exit_code"], end["step"], answers[-1]) == (0, 0, 5, end)
    assert answers[0]["event"] == "started"
    best = [event for event in events(answers, "validated") if event["best"]][-1]
    assert (end["result"], end["result_step"]) == (best["metrics"], best["step"])
    assert answers[0]["parameters"] == said["described"][1]["totals"]["parameters"]

    code, answers = said["sweep"]
    (plan,), (verdict,) = events(answers, "planned"), events(answers, "compared")
    begun, ended = events(answers, "trial_started"), events(answers, "trial_ended")
    assert (code, answers[-1]["event"], plan["trials"]) == (0, "finished", 4)
    assert {event["trial"] for event in begun} == {event["trial"] for event in ended}
    assert len(begun) == len(ended) == 4
    (compared,) = said["compare"][1]
    assert verdict["comparison"] | {"version": VERSION} == compared
    assert {arm["name"] for arm in compared["arms"]} == {"mixer=gru", "mixer=mingru"}


def test_a_stream_of_events_ends_with_the_exit_code_of_the_program(said):
    for name in ("train", "sweep", "refused train"):
        code, answers = said[name]
        assert [answer["event"] in ENDINGS for answer in answers] == [False] * (len(answers) - 1) + [True]
        assert answers[-1]["exit_code"] == code


def test_a_problem_in_a_file_has_its_file_and_line(tmp_path):
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    text = "# @package _global_\ndefaults:\n  - override /data: copy\nmodel:\n  nodes:\n    encoder:\n      detph: 3\n"
    (tmp_path / "conf" / "experiment" / "mine.yaml").write_text(text)
    code, (answer,) = ask(tmp_path, "-m", "composer", "describe", "experiment=mine", "--json")
    (problem,) = answer["error"]["problems"]
    assert code == 2
    assert (problem["path"], problem["instead_of"], problem["suggestion"]) == (
        "model.nodes.encoder.detph", "detph", "depth",
    )  # fmt: skip
    assert (tmp_path / problem["file"]).read_text().splitlines()[problem["line"] - 1].strip() == "detph: 3"


#: What answers the keys of a table: command lines, in the agent's folder.
ASKED = {
    "an error": ["describe mixer=gur", "describe --lenth 3", "blocks mixr", "generate runs/one 9z", "nothing"],
    "runs": ["runs"],
    "compare": ["compare runs/two"],
    "describe": [f"describe mixer=gru {' '.join(TINY)}"],
    "describe --signals": [f"describe --signals mixer=gru {' '.join(TINY)}"],
    "check": [f"check --block {ROOT}/composer/cli/project/plugins/moving_average.py:MovingAverage"],
    "blocks": ["blocks mixer"],
    "gallery": ["gallery", "gallery gpt"],
    "draw": [f"draw mixer=gru {' '.join(TINY)}", f"draw mixer=gru -o drawn.svg {' '.join(TINY)}"],
    "data": [f"data {ROOT}/composer/data/examples/shops.csv", f"data {ROOT}/composer/data/examples/dates.conll"],
    "data --cache": ["data --cache"],
    "generate": ["generate runs/one 1", "generate runs/one 1 --beams 3 --n-best 2"],
    "predict": ["predict runs/one --rows 2", "predict runs/one --rows 2 -o out.jsonl"],
    "evaluate": ["evaluate runs/one", "evaluate runs/one --split valid --over data.length=3,4"],
    "inspect": ["inspect runs/one --tokens 1,2"],
    "export": ["export runs/one --format safetensors"],
    "init": ["init project"],
    "wandb-sweep": ["wandb-sweep mixer=gru,lstm logger=wandb", "wandb-sweep mixer=gru,lstm logger=wandb -o sweep.yaml"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_the_keys_of_an_answer_are_those_of_the_page(name, folder, capsys):
    answers = []
    with chdir(folder):
        for line in ASKED[name]:
            try:
                code = main([*line.split(), "--json"])
                forget("mixer", "moving_average")  # the block of the check
            except SystemExit as stop:
                code = stop.code
            assert code == (2 if name == "an error" else 0), line
            out = capsys.readouterr().out
            try:
                answers.append(json.loads(out))
            except ValueError:
                answers += map(json.loads, out.splitlines())
    assert_documented(name.removeprefix("an "), answers)


def test_the_keys_of_an_event_are_those_of_the_page(said):
    found = [answer for name in ("train", "sweep", "refused train") for answer in said[name][1]]
    for name in {event["event"] for event in found}:
        assert_documented(name, events(found, name))


def test_every_command_answers_programs_and_every_table_is_compared_with_an_answer():
    assert {name.split()[0] for name in ASKED} == set(COMMANDS) - SILENT - {"train"} | {"an"}
    written = {"started", "note", "logged", "validated", "samples", "checkpoint", *ENDINGS}
    written |= {"planned", "trial_started", "trial_ended", "compared"}
    known = {name.removeprefix("an ") for name in ASKED}
    assert set(TABLES) == known | written - {"stopped", "pruned"}  # which are as finished
