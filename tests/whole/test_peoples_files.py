"""Files as people have them: the command that composer data prints reads what a person would choose."""

import json
import shlex

import pytest

from composer.cli.main import main
from composer.config.composition import compose
from composer.data import load_source
from tests.support import processes
from tests.support.data_files import tone
from tests.support.experiments import QUICK
from tests.support.peoples_files import CASES

pytestmark = pytest.mark.slow

SMALL = ["model.dim=16", "runs=runs", "name=run", "trainer.threads=1"]


def columns_read(section):
    """The keys of a section that name files and columns; for a table, the columns of its fields."""
    if section["type"] == "series":
        source = load_source(section)
        return {"channels": source.names}
    fields = section.get("fields") or {}
    return section | {name: keys.get("column", keys.get("columns")) for name, keys in fields.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_printed_command_trains_and_reads_what_a_person_would_choose(name, tmp_path, monkeypatch, capsys):
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    case.write(tmp_path)
    assert main(["data", case.given]) == 0
    printed = capsys.readouterr().out
    command = printed.rstrip().splitlines()[-1]
    overrides = [*shlex.split(command.removeprefix("python train.py ")), *case.typed]
    assert f"model={case.model}" in overrides
    section = compose(overrides).values["data"]
    read = columns_read(section)
    assert {key: read.get(key) for key in case.reads} == case.reads
    for column in case.unread:
        assert column in printed
    processes.train_well([*overrides, *QUICK, *SMALL])

    new, text = case.new
    if text == "tone":
        tone(tmp_path / new, seconds=0.05)
    else:
        (tmp_path / new).write_bytes(text.encode(case.encoding))
    assert main(["predict", "runs/run", f"data.path={new}", "-o", "out.jsonl"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows
    for row, inputs in zip(rows, case.inputs, strict=False):
        assert {key: row[key] for key in inputs} == inputs
