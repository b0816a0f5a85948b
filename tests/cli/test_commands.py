"""The commands as a user types them."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from composer.cli.main import COMMANDS, main, parser
from composer.core import registry
from composer.testing import LAWS


def run(*arguments, capsys):
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_blocks_lists_every_block_with_its_parameters(capsys):
    code, out, _ = run("blocks", "--json", capsys=capsys)
    found = {(entry["kind"], entry["name"]) for entry in json.loads(out)["blocks"]}
    assert code == 0
    assert found == {(kind, name) for kind in registry.kinds() for name in registry.blocks(kind)}
    code, out, _ = run("blocks", "mixer", capsys=capsys)
    assert "heads=4" in out
    assert "ong short-term memory" in out


def test_blocks_of_no_kind(capsys):
    code, _, err = run("blocks", "mixr", capsys=capsys)
    assert code == 2
    assert "Did you mean 'mixer'?" in err


@pytest.mark.slow
def test_describe_gives_the_same_figures_to_people_and_programs(capsys):
    _, table, _ = run("describe", "mixer=lstm", "model.dim=64", capsys=capsys)
    _, text, _ = run("describe", "mixer=lstm", "model.dim=64", "--json", capsys=capsys)
    summary = json.loads(text)
    assert summary["family"] == "Seq2Seq, unaligned"
    assert f"{summary['totals']['parameters']:,}" in table
    assert "Runs once: source_embedding, encoder." in table


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["svg", "mmd"])
def test_draw_writes_a_picture(tmp_path, capsys, suffix):
    path = tmp_path / f"graph.{suffix}"
    code, out, _ = run("draw", "mixer=gru", "-o", str(path), "--against", "mixer=lstm", capsys=capsys)
    assert code == 0
    assert str(path) in out
    text = path.read_text()
    assert "gru" in text
    assert "lstm" in text
    if suffix == "svg":
        ElementTree.fromstring(text)
    assert list(tmp_path.iterdir()) == [path], "nothing half-written stays behind"


@pytest.mark.slow
def test_draw_refuses_what_it_cannot_write(tmp_path, capsys):
    assert run("draw", "-o", "graph.png", capsys=capsys)[0] == 2
    code, _, err = run("draw", "-o", str(tmp_path / "no" / "graph.svg"), capsys=capsys)
    assert code == 2
    assert "cannot write" in err


@pytest.mark.slow
def test_check_runs_the_laws_on_the_graph(capsys):
    code, out, _ = run("check", "model.dim=8", "mixer=mingru", "data.locales=[en]", capsys=capsys)
    assert code == 0
    assert out.count("holds") == len(LAWS)


@pytest.mark.slow
def test_a_problem_is_exit_code_2_and_no_traceback(capsys):
    code, out, err = run("describe", "model.nodes.encoder.mixer.heads=3", capsys=capsys)
    assert (code, out) == (2, "")
    assert "3 heads do not divide the width 128. Use 2, 4, ..." in " ".join(err.replace("1, ", "").split())
    assert "command line: model.nodes.encoder.mixer.heads=3" in err


@pytest.mark.slow
def test_every_command_that_help_lists_is_completed(capsys):
    _, out, _ = run("--help", capsys=capsys)
    listed = {line.split()[0] for line in out.splitlines() if line.startswith("    ") and not line.startswith("     ")}
    _, out, _ = run("complete", "python -m composer ", capsys=capsys)
    assert set(out.split()) == listed


def test_the_parser_of_a_command_has_the_same_options_as_that_of_all():
    def choices(parser):
        return next(action.choices for action in parser._actions if isinstance(action.choices, dict))

    every = choices(parser())
    assert list(every) == list(COMMANDS)
    for name, command in every.items():
        assert choices(parser(name))[name].format_help() == command.format_help()
