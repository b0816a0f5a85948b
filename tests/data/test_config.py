"""Data through the config: every leaf lists every knob, and what a source says reaches the compiler."""

import dataclasses
import inspect
from pathlib import Path

import pytest
import torch
import yaml

from composer.cli.main import main
from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.signals import Field
from composer.data import load_source
from tests.support.paths import ROOT

CONF = ROOT / "conf" / "data"

#: Data of every family, and the template that goes with it.
FAMILIES = {
    "reverse": "seq2seq",
    "associative_recall": "tagger",
    "induction": "seq2vec",
    "python_docs": "language_model",
    "tones": "seq2vec",
    "date_parts": "tagger",
    "shapes": "captioner",
    "data_to_text": "vec2seq",
}


@pytest.mark.parametrize("name", registry.entries("data"))
def test_every_source_has_a_leaf_that_lists_its_knobs_with_their_defaults(name):
    text = (CONF / f"{name}.yaml").read_text()
    assert text.startswith("# "), "the first line says what it is"
    leaf = yaml.safe_load(text)
    leaf.pop("defaults", None)  # which blocks read data of this kind
    assert leaf.pop("type") == name
    parameters = inspect.signature(registry.entries("data")[name]).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
    assert leaf == {p.name: plain(p.default) for p in parameters}


def plain(value):
    """The keys of the YAML that a default stands for; the own keys of a tokeniser stand beside the others."""
    if not dataclasses.is_dataclass(value):
        return value
    keys = dataclasses.asdict(value)
    return keys | keys.pop("own", {})


def test_every_leaf_is_a_source_and_stands_in_a_file_of_its_name():
    leaves = {path.stem: yaml.safe_load(path.read_text()) for path in CONF.glob("*.yaml")}
    assert {name for name, leaf in leaves.items() if "type" in leaf} == set(registry.entries("data"))
    for leaf in leaves.values():  # a preset is made of another leaf
        assert "type" in leaf or leaf["defaults"][0] in leaves
    for name, cls in registry.entries("data").items():
        assert cls.__module__.rpartition(".")[2] == name


@pytest.mark.slow
@pytest.mark.parametrize(("data", "model"), FAMILIES.items())
def test_data_compiles_with_the_template_of_its_family(data, model):
    graph, _ = compile_config(compose([f"data={data}", f"model={model}"]))
    assert graph.heads


@pytest.mark.slow
def test_sizes_flow_from_the_file_into_the_compiler(tmp_path):
    (tmp_path / "pairs.tsv").write_text("ab\tx\nba\ty\nab\tz\n")
    graph, _ = compile_config(compose(["data=pairs", f"data.path={tmp_path}/pairs.tsv", "data.valid=0"]))
    assert graph.plan.inputs["source"].contents.tokens == ("<sos>", "<eos>", "<unk>", "a", "b")
    assert graph.plan.outputs["output"].dim == 6


def test_a_source_of_the_users_own_is_found_by_name():
    @register("data", "mine_alone")
    class Mine:
        def __init__(self, *, width: int = 3) -> None:
            self.fields = {"target": Field("seq", dim=width)}

        def open(self):
            pass

    try:
        assert load_source({"type": "mine_alone", "width": 5}).fields["target"].dim == 5
    finally:
        registry.forget("data", "mine_alone")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"type": "copy", "length": 0}, ["data.length", "at least 1"]),
        ({"type": "copy", "lenght": 3}, ["'lenght'", "Did you mean 'length'?"]),
        ({"type": "copy", "min_length": 30}, ["data.min_length", "30 is more than length, 25"]),
        ({"type": "text", "tokeniser": {"type": "bep"}}, ["data.tokeniser.type", "Did you mean 'bpe'?"]),
        ({"type": "text", "tokeniser": {"vocabulary": 2}}, ["data.tokeniser.vocabulary", "2 is too small"]),
        ({"type": "text", "tokeniser": {"max_length": 9}}, ["data.tokeniser.max_length", "no effect"]),
        ({"type": "text", "encoding": "utf-99"}, ["data.encoding", "there is no encoding 'utf-99'"]),
        ({"type": "text", "encoding": "utf-16"}, ["data.encoding", "Convert the file to utf-8"]),
        ({"type": "pairs", "path": "x", "valid": 0.6, "test": 0.5}, ["data.valid", "1.1 of the rows"]),
        ({"type": "pairs", "shared_vocabulary": True, "target_tokeniser": {}}, ["data.target_tokeniser", "no effect"]),
        ({"type": "labelled", "columns": []}, ["data.columns", "name one"]),
        ({"type": "vectors", "path": "x"}, ["data.attributes", "data.slots"]),
        ({"type": "images", "path": "x", "size": [3]}, ["data.size", "[height, width]"]),
    ],
)
def test_a_bad_knob_is_one_clear_sentence(config, words):
    with pytest.raises(UserError) as caught:
        load_source(config)
    printed = " ".join(str(caught.value).split())
    assert printed.startswith("1 problem in this config")
    for word in words:
        assert word in printed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["data=pairs"], ["data.path", "conf/data/pairs.yaml:4", "names no file", "data.path=my_file"]),
        (["data=pairs", "data.path=no.tsv"], ["command line: data.path=no.tsv", "there is no file 'no.tsv'"]),
    ],
)
def test_a_missing_file_is_one_clear_message_and_exit_code_2(overrides, words, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["describe", *overrides])
    printed = " ".join(capsys.readouterr().err.split())
    assert stop.value.code == 2
    for word in words:
        assert word in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_bad_file_is_one_clear_sentence_and_exit_code_2(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.tsv").write_bytes(b"a\tb\nc\t\xff\n")
    with pytest.raises(SystemExit) as stop:
        main(["describe", "data=pairs", "data.path=mine.tsv", "data.encoding=utf-8"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("mine.tsv:2: the byte 0xff is not utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.tsv"]


def tagger(tmp_path, *more):
    (tmp_path / "tags.conll").write_text("Ann B-PER\nsleeps O\n\nBo B-PER\n\n" * 8)
    tagged = ["data=tagged", f"data.path={tmp_path}/tags.conll", "model=tagger", "model.dim=8", "mixer=gru"]
    return compile_config(compose([*tagged, *more]))


@pytest.mark.parametrize(
    ("more", "read"),
    [
        ([], {"source", "characters"}),
        (["~model/tagger_for@model"], {"source"}),
        (["objective=masked_token", "data.specials=['[MASK]']"], {"source"}),  # its target is made of the same words
    ],
)
def test_a_tagger_of_words_reads_their_characters_where_these_do_not_tell_the_target(tmp_path, more, read):
    graph, _ = tagger(tmp_path, *more)
    assert set(graph.plan.given) == read


def test_a_name_that_training_has_not_seen_is_told_by_its_characters(tmp_path):
    graph, objective = tagger(tmp_path)
    typed = {name: objective.encode(name, ["Ann sleeps", "Annb sleeps", "Bobb sleeps"]) for name in graph.plan.given}
    source, characters = typed["source"].values, typed["characters"].values
    assert torch.equal(source[1], source[2]), "both names are the same unknown word"
    assert not torch.equal(characters[1], characters[2])
