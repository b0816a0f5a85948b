"""Bad values get a sentence: on the command line, in the YAML of others, in interpolations."""

import re

import pytest

from composer.cli.main import parsed
from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.config.general import bind_general
from composer.config.overrides import check_overrides
from composer.config.resolution import paths, suggestions
from composer.config.yaml_files import parse
from composer.core.binding import bind_block, bind_entry
from composer.core.hints.aliases import ALIASES
from composer.core.problems import ConfigError, Report, UserError
from composer.core.storage.folder_names import name_problem
from composer.graph.compiler.bind import bind_nodes
from composer.training.hardware import check_hardware
from composer.training.run.plan import prepare
from composer.training.settings import Hardware

WHOLE = {key: {} for key in ("data", "model", "objective", "optimiser", "schedule", "training", "trainer")}
GENERAL = WHOLE | {"seed": 1, "plugins": [], "runs": "runs", "name": None}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("name", ["a"], "expected a name, found ['a']"),
        ("name", {"a": "b"}, "expected a name"),
        ("name", True, "expected a name"),
        ("name", "", "is empty"),
        ("name", "x" * 300, "at most 200 bytes, found one of 300"),
        ("name", "../x", "inside the folder of runs"),
        ("name", "a/../../x", "inside the folder of runs"),
        ("name", "/tmp/x", "inside the folder of runs"),
        ("name", "~/x", "inside the folder of runs"),
        ("name", "..", "inside the folder of runs"),
        ("name", "a\nb", "no line breaks"),
        ("name", "a\0b", "no line breaks"),
        ("group", "../x", "inside the folder of runs"),
        ("arm", "a\x1bb", "no line breaks"),
        ("runs", None, "expected a name, found nothing"),
        ("runs", ["a"], "expected a name"),
        ("runs", "a\0", "visible characters"),
        ("resume", ["a"], "expected a path"),
        ("plugins", 5, "expected a list"),
        ("plugins", "a.py", "expected a list"),
        ("plugins", [5], "expected a list"),
        ("budget", 5, "expected a mapping or null"),
        ("seed", int("1" * 23), "found one of 23 digits"),
        ("seed", True, "expected a whole number"),
        ("seed", 2**63, "64 bits"),
    ],
)
def test_a_key_outside_of_sections_has_a_type(key, value, words):
    _, problems = bind_general(GENERAL | {key: value})
    assert [problem.path for problem in problems] == [key]
    assert words in problems[0].message


@pytest.mark.parametrize("missing", [*WHOLE, "seed", "runs"])
def test_a_config_without_one_of_its_sections_is_refused(missing):
    _, problems = bind_general({key: value for key, value in GENERAL.items() if key != missing})
    assert [(problem.path, "is missing" in problem.message) for problem in problems] == [(missing, True)]


def test_numbers_are_names():
    bound, problems = bind_general(GENERAL | {"name": 5, "runs": 7, "resume": 1.5})
    assert (bound["name"], bound["runs"], bound["resume"], problems) == ("5", "7", "1.5", [])


@pytest.mark.parametrize("name", ["a", "5", "a/b", "größe", "x" * 200, "2026-01-31_12-00-00", "0_mixer=lstm,seed=1"])
def test_ordinary_names_are_names(name):
    assert name_problem(name) is None


@pytest.mark.parametrize("kind", [["a"], {"a": "b"}, 5, None])
def test_a_type_that_is_no_name_is_a_problem(kind):
    report = Report()
    assert bind_block("mixer", {"type": kind}, "model.nodes.x", report) is None
    assert report.problems[0].path == "model.nodes.x.type"
    for section in ("data", "objective", "optimiser", "schedule"):
        with pytest.raises(ConfigError, match=rf"{section}\.type"):
            bind_entry(section, {"type": kind}, lambda path: "")


@pytest.mark.parametrize("section", [None, 5, [1], "text"])
def test_a_section_that_is_no_mapping_is_a_problem(section):
    with pytest.raises(ConfigError, match="expected a mapping"):
        bind_entry("schedule", section, lambda path: "")


@pytest.mark.parametrize("name", ["training", "_modules", "_parameters", "_buffers", "forward", "keys", "a b", "1"])
def test_a_node_cannot_have_a_name_that_torch_needs(name):
    report = Report()
    bind_nodes(
        {name: {"kind": "head", "type": "categorical", "from": "x", "predicts": "target"}}, "model.nodes", report
    )
    assert "cannot be a node's name" in report.problems[0].message


def test_threads_that_would_kill_the_process_are_refused():
    with pytest.raises(UserError, match="threads=100000: this machine has"):
        check_hardware(Hardware(threads=100_000))
    check_hardware(Hardware(threads=64))


GLOBAL = "# @package _global_\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "expected keys and values"),
        ("- a\n- b\n", "expected keys and values"),
        ("a: &x\n  b: *x\n", "mine.yaml:2\n  contains itself"),
        ("a: " + "{a: " * 300 + "1" + "}" * 300, "mine.yaml:1\n  is nested more than 50 levels"),
        ("a: " + "[" * 300 + "]" * 300, "nested more than 50 levels"),
        ("b: 1\na: x\0y\n", r"mine.yaml:2\n  is not YAML: it has the character '\x00'".replace(r"\n", "\n")),
        ("seed: " + "1" * 5000, "a number of 5,000 characters"),
        ("seed: 0x" + "f" * 5000, "a number of 5,002 characters"),
        ("a: &a [1, 1]\n" + "".join(f"x{i}: &x{i} [{', '.join(['*' + (f'x{i - 1}' if i else 'a')] * 9)}]\n"
                                      for i in range(8)), "more than 100,000 values"),
        ("defaults: 5\n", "expected a list of defaults"),
        ("defaults:\n  - [a]\n", "expected an option in the list of defaults"),
        ("defaults:\n  - a: b\n    c:\n", "expected an option in the list of defaults"),
        ("defaults:\n  - {}\n", "expected an option in the list of defaults"),
        ("defaults:\n  - 1: b\n", "expected an option in the list of defaults"),
        ("# @package\nseed: 1\n", "'# @package' and a package"),
        ("null: a\n", "has the key None"),
        ("a: !!python/object/apply:os.system [x]\n", "is not YAML"),
        ("seed: 1\nseed: 2\n", "duplicate key"),
    ],
)  # fmt: skip
def test_yaml_that_is_no_config_is_refused_before_hydra_reads_it(text, words):
    with pytest.raises(UserError) as caught:
        parse(text, "mine.yaml")
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "a: &x {b: 1}\nc: *x\n", "x: '" + "1" * 5000 + "'\n"])
def test_yaml_that_is_a_config_is_read(text):
    parse(text, "mine.yaml")


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("seed=" + "1" * 5000, "more than 400 digits"),
        ("model=" + "{a:" * 300 + "1" + "}" * 300, "nested more than 50 levels"),
        ("hydra.run.dir=/proc/x", "runs=... is the folder of all runs"),
    ],
)
def test_an_override_that_no_parser_takes_is_refused(word, words):
    with pytest.raises(UserError, match=words):
        check_overrides([word])


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("data.channels=[CO(GT),T]", """around each of its names. Write 'data.channels=["CO(GT)",T]'."""),
        ("data.path=a(1).csv", """Write 'data.path="a(1).csv"'."""),
        ("data.channels=[a", "has a value that cannot be read. Check its brackets, commas and quotes."),
        ("mixer", "is not an override. Write key=value, e.g. mixer=lstm."),
    ],
)  # fmt: skip
def test_a_value_that_needs_quotes_is_shown_with_them(word, words):
    with pytest.raises(UserError) as caught:
        compose([word])
    assert str(caught.value).startswith(f"command line: {word}\n  ")
    assert words in str(caught.value)


def test_the_key_that_was_meant_is_found_where_it_lives():
    known = ["optimiser.learning_rate", "training.steps", "ffn.dropout", "model.nodes.encoder.dropout", "data.type"]
    assert suggestions("lr", known) == suggestions("training.learning_rate", known) == ["optimiser.learning_rate"]
    assert suggestions("dropout", known) == ["ffn.dropout", "model.nodes.encoder.dropout"]
    assert suggestions("logger.type", known) == []


@pytest.mark.slow
def test_every_name_of_other_programs_is_answered_with_a_key_that_there_is():
    configs = [["optimiser=sgd"], ["model=language_model", "data=python_docs", "objective=next_token"], ["data=text"]]
    known = {path for overrides in configs for path in paths(compose(overrides, to_compile=True).values)} | {"mixer"}
    for alias, key in ALIASES.items():
        assert suggestions(alias, known), alias
        assert all(path == key or path.endswith(f".{key}") for path in suggestions(alias, known))
        assert alias not in known, "a key of ours"


def test_an_override_may_be_written_as_an_option():
    assert parsed(["describe", "mixer=lstm", "--optimiser.learning_rate=0.1"]).overrides == [
        "mixer=lstm", "optimiser.learning_rate=0.1",
    ]  # fmt: skip
    with pytest.raises(SystemExit):
        parsed(["generate", "runs/x", "--lr=0.1"])


SMALL = ["data=copy", "data.length=4"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["lr=0.1"], ["has no key 'lr'. Did you mean optimiser.learning_rate=0.1?"]),
        (["--lr=0.1"], ["command line: lr=0.1", "Did you mean optimiser.learning_rate=0.1?"]),
        (["training.learning_rate=1"], ["Did you mean optimiser.learning_rate=1?"]),
        (["heads=8"], ["Did you mean mixer.heads=8 or cross.heads=8 or"]),
        (["model.nodes.encoder.n_layers=3"], ["Did you mean model.nodes.encoder.depth=3 or"]),
        (["dropout=0.1"], ["mixer.dropout"]),
        (["~training"], ["training   command line: ~training", "is missing"]),
        (["~trainer"], ["trainer   command line: ~trainer", "is missing"]),
        (["~name"], ["command line: ~name", "nothing to remove"]),
        (["~data"], ["command line: ~data", "cannot be removed"]),
        (["plugins={a: b}"], ["command line: plugins={a: b}", "cannot have this value"]),
        (["schedule=[1,2]"], ["command line: schedule=[1,2]", "a group takes the names of options"]),
        (["model.nodes.output.type={a: 1}"], ["model.nodes.output.type", "name of a registered head"]),
        (["plugins=${nowhere}"], ["plugins   command line", "refers to ${nowhere}"]),
        (["trainer.threads=100000"], ["trainer.threads   command line: trainer.threads=100000", "4096"]),
        (["name=../x"], ["name   command line: name=../x", "inside the folder of runs"]),
        (["model.dim=0"], ["model.nodes.source_embedding.dim   command line: model.dim=0", "at least 1, found 0"]),
        (["model.dim=${model.dim}"], ["refers to itself"]),
        (["model.dim=${model}"], ["refers to itself"]),
        (["model.dim=${model.dim.x}"], ["refers to itself"]),
        (["seed=${training.steps.x}"], ["refers to ${training.steps.x}, but 'training.steps' is a value"]),
        (["seed=${foo:bar}"], ["calls 'foo', which does not exist. Write ${key} for another value"]),
        (["seed=${oc.decode:1,2}"], ["'${oc.decode:1,2}' does not lead to a value."]),
        (["seed=${oc.decode:'['}"], ["does not lead to a value."]),
        (["seed=${hydra:x}"], ["'${hydra:x}' does not lead to a value."]),
        (["seed=${.}"], ["'seed' cannot have this value: a value with ${...} in it needs a key there"]),
        (["plugins.0=x"], ["cannot have this value: it is no place of that list."]),
        (["+model.nodes.target={kind: head, type: categorical, from: decoder, predicts: target}"],
         ["'target' is already the name of a field"]),
    ],
)  # fmt: skip
def test_a_config_that_is_refused_says_where_and_why(overrides, words):
    with pytest.raises(UserError) as caught:
        prepare(compose([*SMALL, *overrides]))
    text = " ".join(str(caught.value).split())
    for word in words:
        assert " ".join(word.split()) in text, text
    assert not re.search(r"Error\b|Interpolation|raised while", text), "an error of Python or OmegaConf"


@pytest.mark.slow
def test_a_missing_reference_does_not_hide_other_problems():
    composed = compose([*SMALL, "~model.dim", "model.nodes.decoder.depth=x"], to_compile=True)
    with pytest.raises(ConfigError) as caught:
        compile_config(composed)
    assert {problem.path: "${model.dim}" in problem.message for problem in caught.value.problems} == {
        "model.nodes.source_embedding.dim": True,
        "model.nodes.target_embedding.dim": True,
        "model.nodes.decoder.depth": False,
    }
    with pytest.raises(ConfigError, match=r"\$\{model\.dim\}"):
        compose([*SMALL, "~model.dim"])


@pytest.mark.slow
def test_lists_of_defaults_that_include_each_other_are_named(tmp_path):
    (tmp_path / "experiment").mkdir()
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / "experiment" / f"{name}.yaml").write_text(f"defaults:\n  - {other}\n")
    (tmp_path / "experiment" / "apart.yaml").write_text("defaults:\n  - /mixer: gru\n")
    compose(["experiment=apart"], tmp_path)  # read before, and no part of the circle
    with pytest.raises(UserError, match=r"^\S*one\.yaml, \S*two\.yaml\n  include each other"):
        compose(["experiment=one"], tmp_path)


def test_a_config_that_a_file_asks_for_and_nobody_has_is_named_with_the_file(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "broken.yaml").write_text("# @package _global_\ndefaults: [/nothing]\n")
    with pytest.raises(UserError, match=r"^experiment/broken\.yaml\n  there is no config 'nothing'\.$"):
        compose(["experiment=broken"], tmp_path)


def test_a_study_takes_keys_that_its_file_does_not_list():
    budget = compose(["study=ablation", "study.budget.target=20000", "study.budget.of=null"]).values["study"]["budget"]
    assert budget == {"kind": "parameters", "of": None, "target": 20000}
