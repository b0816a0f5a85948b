"""``predict``: files without what is to be predicted, rows of a split, in the units and words of the data."""

import csv
import itertools
import json
import math

import pytest
import torch

import composer
from composer.config.composition import compose
from composer.core.problems import UserError
from composer.data import load_source
from composer.decoding import Settings, forecast, generate, greedy
from composer.training.run.train import train
from tests.support.trained import ROWS, SMALL, TYPED, UNLABELLED, lines


@pytest.mark.parametrize("family", UNLABELLED)
def test_predict_reads_files_without_what_it_predicts(runs, ask, home, family):
    name, content = UNLABELLED[family]
    (home / name).write_text(content)
    change = ["data.length=4", "data.stride=4"] if family in ("language_model", "masked") else []
    arguments = ["predict", runs(family), f"data.path={name}", *change, "--rows", "2"]
    code, _, err = ask(*arguments, "-o", "out.jsonl")
    assert (code, err) == (0, "")
    records = lines((home / "out.jsonl").read_text())
    assert [record["row"] for record in records] == list(range(len(records)))
    assert len(records) == min(2, ROWS[family])
    assert ask(*arguments)[1] == (home / "out.jsonl").read_text(), "the same on the screen, and every time"
    assert not [path for path in home.iterdir() if path.name.startswith(".out")]


@pytest.mark.parametrize("family", ["seq2vec", "tagger", "seq2seq", "vec2seq", "two_heads"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_table_of_predictions_holds_what_the_objects_hold(runs, ask, home, family, suffix):
    arguments = ["predict", runs(family), "--split", "valid", "--rows", "3", "-o"]
    assert ask(*arguments, "out.jsonl")[0] == 0
    code, out, _ = ask(*arguments, f"out{suffix}")
    assert (code, out) == (0, f"wrote 3 predictions to out{suffix}\n")
    heads = ("output", "second") if family == "two_heads" else ()
    with (home / f"out{suffix}").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t" if suffix == ".tsv" else ","))
    for row, record in zip(rows, lines((home / "out.jsonl").read_text()), strict=True):
        flat = {name: value for name, value in record.items() if name not in heads}
        flat |= {f"{head}.{name}": value for head in heads for name, value in record[head].items()}
        assert list(row) == list(flat), "the names of the objects, in their order"
        assert {n: v if isinstance(flat[n], str) else json.loads(v) for n, v in row.items()} == flat


def test_a_table_of_forecasts_has_a_row_for_every_step_and_channel(runs, ask, home):
    arguments = ["predict", runs("forecaster"), "--split", "valid", "--rows", "2", "-o"]
    assert ask(*arguments, "out.jsonl")[0] == 0
    assert ask(*arguments, "out.csv")[1] == "wrote 2 predictions to out.csv\n"
    with (home / "out.csv").open(newline="") as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    wanted = []
    for record in lines((home / "out.jsonl").read_text()):
        texts = [step.split() for step in record["wanted"].split(";")]
        for step, place in itertools.product(range(len(record["times"])), range(len(record["channels"]))):
            numbers = [record[name][step][place] for name in ("predicted", "low", "high")]
            row = [record["row"], record["times"][step], record["channels"][place], *numbers, texts[step][place]]
            wanted.append([str(cell) for cell in row])
    assert rows == wanted


def test_tags_are_written_as_conll_that_trains_a_tagger(runs, ask, home):
    (home / "new.conll").write_text("red\ngreen\n\npink\n")
    assert ask("predict", runs("tagger"), "data.path=new.conll", "-o", "out.conll")[0] == 0
    found = composer.load(runs("tagger")).predict(["red green", "pink"])
    tags = [tag for record in found for tag in record["predicted"]]
    wanted = f"red\t{tags[0]}\ngreen\t{tags[1]}\n\npink\t{tags[2]}\n\n"
    assert (home / "out.conll").read_text() == wanted
    assert ask("predict", runs("tagger"), "--given", "red green", "--given", "pink", "-o", "typed.conll")[0] == 0
    assert (home / "typed.conll").read_text() == wanted
    assert ask("predict", runs("tagger"), "--split", "valid", "-o", "out.conll")[0] == 0
    word, _, true = (home / "out.conll").read_text().split("\n")[0].split("\t")
    assert true == word[0].upper(), "the tag that was wanted"
    source = load_source({"type": "tagged", "path": str(home / "out.conll"), "tags": 2, "valid": 0})
    assert source.size("train") == 6


def test_a_form_that_does_not_fit_is_refused_before_anything_is_predicted(runs, refused, home):
    for family in ("seq2vec", "seq2seq", "masked", "forecaster", "language_model"):
        said = refused("predict", runs(family), "data.path=nowhere", "-o", "refused.conll")
        assert "--output: 'refused.conll' would hold a tag for every word, but this model does not tag words" in said
    for name in ("refused.json", "refused", "refused.xlsx"):
        said = refused("predict", "no_such_run", "-o", name)
        assert "names no form of predictions. Give one of .jsonl, .csv, .tsv, .conll" in said
    assert "cannot write 'nowhere/out.csv'" in refused("predict", runs("seq2vec"), "-o", "nowhere/out.csv")
    assert not list(home.glob("*refused*"))


def test_lines_with_one_question_each_keep_their_first_word(home, ask, refused, shared, monkeypatch):
    monkeypatch.chdir(home)
    classes, words = ["LOC:city", "NUM:date", "HUM:ind"], ["town", "year", "king", "lake"]
    questions = [f"{classes[i % 3]} What is the {words[i % 4]} of Peru ?" for i in range(40)]
    (home / "questions.txt").write_text("\n".join(questions) + "\n")
    overrides = ["model=seq2vec", "mixer=gru", "data=labelled", "data.path=questions.txt"]
    overrides += ["data.delimiter=first_space", "data.label=1", "data.columns=[2]"]
    run = shared.run(lambda overrides: train(compose(overrides)), [*SMALL, *overrides], "questions")
    (home / "new_questions.txt").write_text("What is the capital of Peru ?\nWhere is Peru ?\n")
    code, out, err = ask("predict", run, "data.path=new_questions.txt")
    assert code == 0
    assert [record["source"] for record in lines(out)] == ["What is the capital of Peru ?", "Where is Peru ?"]
    assert "the first word of every line is no label" in err
    (home / "new_questions.txt").write_text("LOC:city Where is Peru ?\nWhere is Peru ?\n")
    assert "1 of 2 lines begin with a class of the training" in refused("predict", run, "data.path=new_questions.txt")
    _, out, _ = ask("predict", run, "data.path=new_questions.txt", "--no-targets")
    assert lines(out)[0]["source"] == "LOC:city Where is Peru ?"
    assert "name them" in refused("predict", run, "--targets")


@pytest.mark.parametrize("family", TYPED)
def test_every_row_of_a_split_is_predicted_like_the_same_row_typed(runs, family):
    model = composer.load(runs(family))
    typed = model.predict(TYPED[family], samples=20)
    assert [record["row"] for record in typed] == [0, 1]
    again = composer.load(runs(family)).predict(TYPED[family], samples=20)
    assert typed == again


def test_predictions_of_a_split_come_with_what_was_wanted(runs, ask):
    _, out, _ = ask("predict", runs("seq2vec"), "--split", "valid")
    for record in lines(out):
        assert record["wanted"] == record["source"].split()[0]
        assert record["probability"] == max(record["probabilities"].values())
        assert sum(record["probabilities"].values()) <= 1 + 1e-5


def test_labels_have_the_probabilities_of_the_softmax(runs):
    model = composer.load(runs("seq2vec"))
    (record,) = model.predict("red green", top=100)
    outputs, _ = model.graph({"source": model.objective.encode("source", ["red green"])})
    wanted = outputs["output"].values.softmax(-1)[0].tolist()
    names = model.fields["target"].contents.tokens
    assert record["probabilities"] == pytest.approx(dict(zip(names, wanted, strict=True)), rel=1e-4)
    assert list(record["probabilities"].values()) == sorted(record["probabilities"].values(), reverse=True)


def test_several_heads_each_say_something(runs):
    (record,) = composer.load(runs("two_heads")).predict("red green")
    assert set(record) == {"row", "source", "output", "second"}
    assert record["output"]["probabilities"] != record["second"]["probabilities"]


def test_every_word_has_a_tag(runs):
    record = composer.load(runs("tagger")).predict(["red green pink", "blue"])[0]
    assert len(record["predicted"]) == len(record["probabilities"]) == 3


def test_generated_sequences_are_those_of_decoding(runs):
    model = composer.load(runs("seq2seq"))
    rows = TYPED["seq2seq"]
    source = {"source": model.objective.encode("source", rows)}
    found = model.objective.show("target", greedy(model.graph, source, "output", 100))
    assert [record["predicted"] for record in model.predict(rows)] == found
    best = generate(model.graph, source, Settings(search="beam", beams=3, best=2))
    for record, hypotheses in zip(model.predict(rows, beams=3, best=2), best.rows, strict=True):
        assert record["score"] == pytest.approx(hypotheses[0].score, rel=1e-4)
        assert record["others"][0]["score"] == pytest.approx(hypotheses[1].score, rel=1e-4)


def test_forecasts_are_in_the_units_of_the_file_and_lie_in_their_intervals(runs, home, monkeypatch):
    monkeypatch.chdir(home)
    model = composer.load(runs("forecaster"))
    data = model.data("data.path=series.csv")
    records = model.predict(data, limit=3, samples=300)
    signals = data.objective.source.batch("test", [0, 1, 2])
    assert set(signals) == {"source"}
    means = data.objective.source.unscaled("target", forecast(model.graph, signals, steps=4).values)
    first = (home / "series.csv").read_text().splitlines()[1]
    assert records[0]["source"].startswith(" ".join(f"{float(cell):.4g}" for cell in first.split(",")[1:]))
    assert [record["channels"] for record in records] == [["a", "b"]] * 3
    hours = [[f"2018-01-01 {first + step}:00:00" for step in range(12, 16)] for first in range(3)]
    assert [record["times"] for record in records] == hours
    (longer,) = model.predict(data, limit=1, length=6)
    assert longer["times"][4:] == ["2018-01-01 16:00:00", "2018-01-01 17:00:00"]
    typed = model.predict(TYPED["forecaster"])[0]
    assert typed["channels"] == ["a", "b"]
    assert "times" not in typed
    for record, mean in zip(records, means, strict=True):
        assert torch.tensor(record["predicted"]) == pytest.approx(mean, rel=1e-4, abs=1e-4)
        low, found, high = (torch.tensor(record[name]) for name in ("low", "predicted", "high"))
        assert bool((low < high).all())
        assert float(((low <= found) & (found <= high)).float().mean()) > 0.9
    assert len(data) == 200 - 12 + 1, "the last window, after which nothing is known, is there, too"


def test_masks_are_filled_and_nothing_else_changes(runs):
    model = composer.load(runs("masked"))
    for typed, record in zip(TYPED["masked"], model.predict(TYPED["masked"]), strict=True):
        (token,) = record["tokens"]
        assert record["predicted"] == typed.replace("[MASK]", token["predicted"])
    with pytest.raises(UserError, match=r"'red' has no \[MASK\]"):
        model.predict("red")


def test_a_language_model_scores_texts_as_its_loss_does(runs):
    model = composer.load(runs("language_model"))
    (record,) = model.predict("red green")
    target = model.objective.encode("target", ["red green"])
    outputs, _ = model.graph(model.graph.shifted({"target": target}))
    loss = model.graph.losses(outputs, {"target": target})["output"].sum().detach()
    assert record["log_probability"] == pytest.approx(-float(loss), rel=1e-4)
    assert record["steps"] == len("red green")
    assert record["perplexity"] == pytest.approx(math.exp(float(loss) / record["steps"]), rel=1e-3)


@pytest.mark.parametrize(
    ("family", "arguments", "words"),
    [
        ("seq2vec", ["data.path=gone.tsv"], "there is no file 'gone.tsv'"),
        ("seq2seq", ["data.source=3", "data.path=pairs.tsv"], "there is no column 3"),
        ("vec2seq", ["data.attributes=[stars,size]", "data.path=meals.csv"], "there is no column 'size'"),
        ("forecaster", ["data.path=short.csv"], "data.length 12 need 12 steps, but the longest file has 2"),
        (
            "forecaster",
            ["data.path=timeless.csv"],
            "there is no column 'time' in 'timeless.csv'. (has: the columns a, b) Name the time: data.time",
        ),
        ("seq2vec", ["model.dim=8"], "only the data can be changed"),
        ("seq2vec", ["data.pth=x"], "Did you mean 'path'?"),
        ("seq2vec", ["data.seed=1,2"], "several values"),
        ("seq2vec", ["data.tokeniser.type=bytes"], "would have no effect"),
        ("seq2vec", ["data=pairs", "data.path=pairs.tsv"], "what is to be restored for 'target' is not"),
        ("seq2vec", ["data=copy"], "the vocabularies to restore are those of other data"),
        ("copy", ["data.symbols=9"], "does not fit the model: 'source' has vocabulary 11, not 7"),
        ("copy", ["--split", "test", "--given", "1"], "leave the data's overrides and --split out"),
        ("seq2vec", ["--split", "test"], "the split 'test' of this data is empty"),
        ("seq2vec", ["--given", " "], "an empty row"),
        ("seq2vec", ["--given", "red", "-o", "no/out.jsonl"], "cannot write 'no/out.jsonl'"),
    ],
)
def test_data_that_does_not_fit_is_one_clear_sentence(runs, refused, home, family, arguments, words):
    (home / "short.csv").write_text("time,a,b\n2018-01-01 00:00,1,2\n2018-01-01 01:00,3,4\n")
    (home / "timeless.csv").write_text("a,b\n1,2\n3,4\n")
    assert words in refused("predict", runs(family), *arguments)


def test_nothing_is_written_when_a_row_is_bad(runs, refused, home):
    (home / "bad.csv").write_text("stars,colour\n3,red\nmany,red\n")
    assert "bad.csv:3" in refused("predict", runs("vec2seq"), "data.path=bad.csv", "-o", "never.jsonl")
    assert not (home / "never.jsonl").exists()
