"""Models over declared fields, from files that a person would have: trained, predicted, evaluated and exported."""

import json

import pytest

import composer
from composer.config.composition import compose
from composer.training.run.train import train
from tests.support.tables import BESIDES, EXPERIMENTS, SMALL, TYPED, write_captions, write_tables
from tests.support.trained import lines


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """In place of the home of other tests: a folder with the tables of every experiment."""
    folder = tmp_path_factory.mktemp("declared")
    write_tables(folder)
    write_captions(folder, pytest.importorskip("PIL.Image", reason="picture files need pillow, of the extra 'data'"))
    return folder


@pytest.fixture(scope="session")
def runs(home, shared):
    """A run of every experiment, trained when it is first asked for."""

    def run(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(home)
            overrides = [*SMALL, f"experiment={name}", f"data.path={EXPERIMENTS[name][0]}", *BESIDES.get(name, [])]
            return shared.run(lambda chosen: train(compose(chosen)), overrides, name)

    return run


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_graph_reads_and_predicts_the_declared_fields(runs, name):
    model = composer.load(runs(name))
    _, given, predicted = EXPERIMENTS[name]
    assert model.given == given
    assert [head.predicts for head in model.graph.heads] == predicted


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_predictions_of_a_file_carry_the_values_of_the_file(runs, ask, name):
    file, given, predicted = EXPERIMENTS[name]
    given = [field for field in given if field != "letters"]  # those of the words, which are written once
    code, out, err = ask("predict", runs(name), f"data.path={file}")
    assert (code, err) == (0, "")
    records = lines(out)
    assert [(record["file"], record["line"]) for record in records[:2]] == [(file, 2), (file, 3)]
    for record in records:
        assert list(record)[: 3 + len(given)] == ["row", "file", "line", *given]
        assert "letters" not in record
        said = [record] if len(predicted) == 1 else [record["tagger"], record["classifier"]]
        assert all("predicted" in one for one in said)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_row_is_typed_field_by_field(runs, ask, name):
    given = [word for text in TYPED[name] for word in ("--given", text)]
    code, out, err = ask("predict", runs(name), *given)
    assert code == 0, err
    (record,) = lines(out)
    assert [field for field in EXPERIMENTS[name][1] if field not in record] == ["letters"] * (name == "tagger")
    code, out, err = ask("predict", runs(name), *given, *given)
    assert len(lines(out)) == 2


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_split_is_evaluated_and_a_typed_row_inspected(runs, ask, home, name):
    code, out, err = ask("evaluate", runs(name), "--json")
    assert code == 0, err
    assert json.loads(out)["metrics"]
    given = [word for text in TYPED[name] for word in ("--given", text)]
    code, out, err = ask("inspect", runs(name), *given, "-o", home / "inspected" / name)
    assert code == 0, err
    assert (home / "inspected" / name / "inspect.html").is_file()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_exported_program_takes_every_field_by_name(runs, ask, home, name):
    code, _, err = ask("export", runs(name), "--format", "torch", "-o", home / "exported" / name)
    assert code == 0, err
    manifest = json.loads((home / "exported" / name / "manifest.json").read_text())
    text = json.dumps(manifest)
    assert all(f'"{field}' in text for field in EXPERIMENTS[name][1])


def test_a_captioner_generates_from_the_path_of_a_picture(runs, ask):
    code, out, err = ask("generate", runs("captions"), "shots/1.png", "--length", "3")
    assert code == 0, err
    assert len(out.splitlines()) == 1


def test_tags_are_lists_and_words_are_the_users_own(runs, ask, home):
    (home / "new.tsv").write_text("words\nfly to Zanzibar\n")
    _, out, err = ask("predict", runs("intents"), "data.path=new.tsv")
    (record,) = lines(out)
    assert record["words"] == ["fly", "to", "Zanzibar"], err
    assert len(record["tagger"]["predicted"]) == 3


def test_attributes_that_were_not_given_are_not_shown(runs, ask, home):
    (home / "new.csv").write_text("history,size,region\n1 2 3,,north\n4 5,2,\n")
    _, out, err = ask("predict", runs("static_features"), "data.path=new.csv")
    assert [record["features"] for record in lines(out)] == [{"region": "north"}, {"size": "2"}], err
    assert [record["history"] for record in lines(out)] == [[1.0, 2.0, 3.0], [4.0, 5.0]]


def test_what_was_wanted_is_as_in_the_file(runs, ask):
    _, out, err = ask("predict", runs("static_features"), "--split", "valid")
    assert all(record["wanted"] % 2.5 == 0 for record in lines(out)), err
    _, out, err = ask("predict", runs("captions"), "--split", "valid")
    assert all(record["wanted"].startswith("A ") for record in lines(out)), err
    assert all(record["picture"].startswith("shots/") for record in lines(out)), err


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["premise=a man"], "a row has premise, but no hypothesis"),
        (["premise=a", "premise=b"], "a row has premise, but no hypothesis"),
        (["a man sleeps"], "'a man sleeps': this model reads premise, hypothesis. Give each by its name"),
        (["premise=", "hypothesis=a"], "an empty row: this model needs its 'premise'"),
    ],
)
def test_a_row_that_lacks_a_field_is_one_clear_sentence(runs, refused, rows, words):
    given = [word for text in rows for word in ("--given", text)]
    assert words in refused("predict", runs("entailment"), *given)


def test_a_file_that_lacks_a_given_column_is_refused(runs, refused, home):
    (home / "half.tsv").write_text("premise\na man sleeps\n")
    said = refused("predict", runs("entailment"), "data.path=half.tsv")
    assert "data.fields.hypothesis.column" in said
    assert "no column 'hypothesis'" in said
