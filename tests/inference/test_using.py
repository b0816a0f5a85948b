"""Using what was trained: every family, from its checkpoint alone, by command and by program."""

import io
import json
import math
import pickle
import shutil
import subprocess
import sys

import pytest
import torch

import composer
from composer.cli.main import main
from composer.config.composition import compose
from composer.core.problems import Invalid, UserError
from composer.decoding import Settings, generate, greedy, roll
from composer.inference.find import find_checkpoint
from composer.metrics import MEANINGS
from composer.training import checkpoint
from composer.training.run.folder import read_lines
from composer.training.run.train import train
from tests.support.paths import ROOT

SMALL = ["model.dim=16", "training.steps=6", "training.batch=16", "training.figures=false", "logger=none"]
WORDS = ["red", "green", "blue", "black", "white", "pink"]


def sentences(count, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [" ".join(WORDS[i] for i in torch.randint(6, (4,), generator=draw).tolist()) for _ in range(count)]


def write_files(folder):
    """A small file for every kind of data that is the user's own."""
    texts = sentences(60)
    (folder / "text.txt").write_text("\n".join(texts * 4))
    (folder / "pairs.tsv").write_text("".join(f"{t}\t{' '.join(t.split()[::-1])}\n" for t in texts))
    (folder / "labelled.tsv").write_text("".join(f"{t}\t{t.split()[0]}\n" for t in texts))
    tagged = ("".join(f"{word} {word[0].upper()}\n" for word in t.split()) for t in texts)
    (folder / "tagged.conll").write_text("\n".join(tagged))
    waves = (f"{math.sin(i / 3):.4f},{5 + 2 * math.cos(i / 3):.4f}\n" for i in range(200))
    (folder / "series.csv").write_text("a,b\n" + "".join(waves))
    meals = (f"{i % 7},{WORDS[i % 3]},{t}\n" for i, t in enumerate(texts))
    (folder / "meals.csv").write_text("stars,colour,text\n" + "".join(meals))


ENCODER, DECODER = "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1"
FAMILIES = {
    "language_model": ["model=language_model", "objective=next_token", "data=text", "data.path=text.txt",
                       "data.length=24", "mixer.heads=2", DECODER],
    "seq2seq": ["data=pairs", "data.path=pairs.tsv", "data.tokeniser.type=characters", "mixer.heads=2",
                "cross.heads=2", ENCODER, DECODER],
    "vec2seq": ["model=vec2seq", "data=vectors", "data.path=meals.csv", "data.attributes=[stars,colour]", "mixer=gru"],
    "seq2vec": ["model=seq2vec", "data=labelled", "data.path=labelled.tsv", "mixer=mingru"],
    "tagger": ["model=tagger", "data=tagged", "data.path=tagged.conll", "mixer=lstm"],
    "forecaster": ["data=series", "data.path=series.csv", "data.length=12", "data.horizon=4", "embedding=continuous",
                   "head=gaussian", "model.nodes.output.variance=learned", "mixer=gru", "cross.heads=2", DECODER],
    "masked": ["model=tagger", "objective=masked_token", "data=text", "data.path=text.txt", "data.length=24",
               "mixer.heads=2", ENCODER],
    "copy": ["data=copy", "data.length=6", "data.symbols=5", "data.valid_size=40", "mixer=gru", DECODER],
    "two_heads": ["model=seq2vec", "data=labelled", "data.path=labelled.tsv", "mixer=gru",
                  "+model.nodes.second={kind: head, type: categorical, from: pool, predicts: target}"],
}  # fmt: skip
GENERATING = ("language_model", "seq2seq", "vec2seq", "copy")

#: What a person types for each, and files without what is to be predicted.
TYPED = {
    "language_model": ["red gre", "blue"],
    "seq2seq": ["red green", "pink blue black"],
    "vec2seq": ["stars=3, colour=red", "colour[green], stars[1]"],
    "seq2vec": ["red green", "blue"],
    "tagger": ["red green", "pink"],
    "forecaster": ["; ".join(f"0.{i} 5.{i}" for i in range(10)), "0 5; 1 5; 0 6"],
    "masked": ["red g[MASK]een", "[MASK]lue"],
    "copy": ["1 2 3", "4"],
    "two_heads": ["red green", "blue"],
}
UNLABELLED = {
    "language_model": ("new.txt", "red green blue red pink black red"),
    "seq2seq": ("new.tsv", "red green\nblue\nred white\n"),
    "vec2seq": ("new.csv", "stars,colour\n3,red\n1,violet\n"),
    "seq2vec": ("new.tsv", "red green\nblue\n"),
    "tagger": ("new.conll", "red\ngreen\n\npink\n"),
    "forecaster": ("new.csv", "a,b\n" + "".join(f"0.{i},5\n" for i in range(14))),
    "masked": ("new.txt", "red green blue red pink black"),
}
ROWS = {"language_model": 2, "seq2seq": 3, "vec2seq": 2, "seq2vec": 2, "tagger": 2, "forecaster": 3, "masked": 2}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("using")
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def runs(home):
    """A run of every family, trained when it is first asked for."""
    made = {}

    def run(name):
        if name not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(home)
                made[name] = train(compose([*SMALL, *FAMILIES[name], f"name={name}"])).folder.path.resolve()
        return made[name]

    return run


@pytest.fixture
def ask(capsys, home, monkeypatch):
    """A command's exit code and what it says, in the folder of the files."""
    monkeypatch.chdir(home)

    def run(*arguments):
        capsys.readouterr()  # what a fixture has said
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def refused(ask):
    """The one sentence in which a command refuses."""

    def run(*arguments):
        code, out, err = ask(*arguments)
        assert code == 2, err
        assert out == ""
        assert "Traceback" not in err
        return " ".join(err.split())

    return run


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


# ---------------------------------------------------------------- generate


@pytest.mark.parametrize("family", GENERATING)
def test_generate_says_what_decoding_says(runs, ask, family):
    folder, prompts = runs(family), TYPED[family]
    code, out, _ = ask("generate", folder, *prompts, "--length", 8, "--search", "greedy", "--json")
    assert code == 0
    graph, objective = checkpoint.rebuild(checkpoint.load(find_checkpoint(folder)))
    for prompt, record in zip(prompts, lines(out), strict=True):
        if family == "language_model":
            signal = objective.encode("target", [prompt])
            found = generate(graph, {}, Settings(length=8), prompt=signal)
        else:
            found = generate(graph, {"source": objective.encode("source", [prompt])}, Settings(length=8))
        assert record["prompt"] == prompt
        assert record["text"] == objective.show("target", found.tokens)[0]
        assert record["log_probability"] == pytest.approx(found.rows[0][0].log_probability, abs=1e-4)


@pytest.mark.parametrize("family", GENERATING)
def test_a_batch_of_prompts_is_each_of_them_alone(runs, family):
    model = composer.load(runs(family))
    together = model.generate(TYPED[family], length=8, search="greedy")
    alone = [model.generate([prompt], length=8, search="greedy")[0] for prompt in TYPED[family]]
    assert [generation.text for generation in together] == [generation.text for generation in alone]


def test_prompts_come_from_standard_input_too(runs, ask, monkeypatch):
    folder = runs("seq2seq")
    monkeypatch.setattr(sys, "stdin", io.StringIO("red green\nblue\n"))
    _, out, _ = ask("generate", folder, "-", "--length", 6)
    assert out == ask("generate", folder, "red green", "blue", "--length", 6)[1]
    assert len(out.splitlines()) == 2


def test_a_language_model_goes_on_with_its_prompt_and_can_begin_from_nothing(runs, ask):
    folder = runs("language_model")
    _, out, _ = ask("generate", folder, "red", "", "--length", 10, "--seed", 3)
    first, second = out.splitlines()[0], out.splitlines()[-1]
    assert first.startswith("red")
    assert second
    model = composer.load(folder)
    assert model.generate("red", length=10, seed=3)[0].text == "".join(model.stream("red", length=10, seed=3))
    texts = {model.generate("red", length=10, seed=seed)[0].text for seed in range(5)}
    assert len(texts) > 1, "what begins from nothing given is drawn"


def test_beams_forced_tokens_allowed_tokens_and_stops(runs, ask):
    folder = runs("seq2seq")
    _, out, _ = ask("generate", folder, "red green", "--beams", 4, "--n-best", 3, "--length", 6, "--json")
    (record,) = lines(out)
    scores = [record["score"], *(other["score"] for other in record["others"])]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    model = composer.load(folder)
    assert model.generate("red green", forced="bl", length=6)[0].text.startswith("bl")
    assert set(model.generate("red", allowed="ab", length=6, search="sample")[0].text) <= {"a", "b"}
    whole = model.generate("red", search="sample", length=30, seed=1)[0].text
    stop = whole[2:4]
    assert model.generate("red", search="sample", length=30, seed=1, stops=[stop])[0].text == whole[: whole.find(stop)]


def test_prompts_and_overrides_may_come_after_options(runs, ask, refused):
    first = ask("generate", runs("copy"), "1 2", "3", "--length", 4)
    assert ask("generate", runs("copy"), "1 2", "--length", 4, "3") == first
    _, out, _ = ask("evaluate", runs("copy"), "--rows", 8, "data.length=3", "--json")
    assert json.loads(out)["examples"] == 8
    assert "unrecognized arguments: --lenght 4" in refused("generate", runs("copy"), "1", "--lenght", 4)
    assert "0 is not at least 1" in refused("generate", runs("copy"), "1", "--beams", 0)


def test_at_a_terminal_it_answers_prompt_after_prompt_as_tokens_come(runs, ask, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("red green\n\nblue\n"))
    code, out, err = ask("generate", runs("seq2seq"), "--length", 5)
    assert code == 0
    assert "an empty prompt" in err, "a bad prompt is said, and the next one asked for"
    model = composer.load(runs("seq2seq"))
    for prompt in ("red green", "blue"):
        assert model.generate(prompt, length=5)[0].text in out


def test_a_token_that_training_never_had_is_named(runs, ask, refused):
    _, _, err = ask("generate", runs("seq2seq"), "red ☃", "--length", 3)
    assert "'☃'" in err
    assert lines(ask("generate", runs("seq2seq"), "☃", "--length", 3, "--json")[1])[0]["unknown"] == ["☃"]
    assert "'9' is no token of this data." in refused("generate", runs("copy"), "1 9")
    _, out, _ = ask("predict", runs("tagger"), "--given", "red unheard")
    assert lines(out)[0]["unknown"] == ["unheard"]
    _, _, err = ask("generate", runs("vec2seq"), "colour=violet", "--length", 3)
    assert "'violet'" in err
    assert "Did you mean 'colour'?" in refused("generate", runs("vec2seq"), "color=red")


@pytest.mark.parametrize(
    ("family", "arguments", "words"),
    [
        ("seq2seq", [""], "an empty prompt: this model needs its 'source'"),
        ("seq2seq", [], "there is no prompt"),
        ("seq2seq", ["red", "--temperature", "0"], "--temperature"),
        ("seq2seq", ["red", "--top-k", "3", "--search", "greedy"], "--top-k: 3 has no effect"),
        ("seq2seq", ["red", "--beams", "2", "--n-best", "5"], "--n-best: 5 sequences cannot come out of 2 beams"),
        ("seq2seq", ["red", "--device", "nowhere"], "--device"),
        ("language_model", ["red", "--forced", "x"], "write the forced tokens there"),
        ("vec2seq", ["0.1,0.2"], "gives no attributes"),
        ("forecaster", ["1 2"], "this model generates no tokens: it predicts target (seq). Use predict."),
        ("seq2vec", ["red"], "it predicts target (label). Use predict."),
        ("masked", ["red"], "Use predict."),
    ],
)
def test_a_prompt_or_setting_that_cannot_be_is_one_clear_sentence(runs, refused, monkeypatch, family, arguments, words):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert words in refused("generate", runs(family), *arguments)


def test_a_prompt_longer_than_the_positions_is_refused(home, refused, monkeypatch):
    monkeypatch.chdir(home)
    learned = ["position=learned", "position.limit=40", "name=learned"]
    folder = train(compose([*SMALL, *FAMILIES["seq2seq"], *learned])).folder.path
    assert "longer than the 40 positions" in refused("generate", folder, "red " * 20)


# ---------------------------------------------------------------- predict


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
    names = model.fields["target"].tokens
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
    means = data.objective.source.unscaled("target", roll(model.graph, signals, steps=4).values)
    first = (home / "series.csv").read_text().splitlines()[1]
    assert records[0]["source"].startswith(" ".join(f"{float(cell):.4g}" for cell in first.split(",")))
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
    (home / "short.csv").write_text("a,b\n1,2\n3,4\n")
    assert words in refused("predict", runs(family), *arguments)


def test_nothing_is_written_when_a_row_is_bad(runs, refused, home):
    (home / "bad.csv").write_text("stars,colour\n3,red\nmany,red\n")
    assert "bad.csv:3" in refused("predict", runs("vec2seq"), "data.path=bad.csv", "-o", "never.jsonl")
    assert not (home / "never.jsonl").exists()


# ---------------------------------------------------------------- evaluate


@pytest.mark.parametrize("family", FAMILIES)
def test_evaluate_finds_what_the_last_validation_found(runs, ask, family):
    folder = runs(family)
    code, out, _ = ask("evaluate", folder, "--split", "valid", "--checkpoint", "last", "--json")
    assert code == 0
    found = json.loads(out)
    last = [row for row in read_lines(folder / "metrics.jsonl") if "valid/loss" in row][-1]
    wanted = {name.removeprefix("valid/"): value for name, value in last.items() if name.startswith("valid/")}
    for name, metric in found["metrics"].items():
        if metric["value"] is None:
            continue
        assert metric["value"] == pytest.approx(wanted[name], rel=1e-5), name
        assert metric["low"] <= metric["value"] <= metric["high"] or metric["low"] == pytest.approx(metric["high"])
        assert name.rpartition("/")[2] in MEANINGS


def test_evaluate_prints_a_table_and_one_over_other_lengths(runs, ask):
    _, out, _ = ask("evaluate", runs("copy"), "--rows", 20)
    assert "95 % interval" in out
    assert "lower is better" in out
    _, out, _ = ask("evaluate", runs("copy"), "--over", "data.length=3,12", "--rows", 20)
    assert [line.split()[0] for line in out.splitlines()[-2:]] == ["3", "12"]
    _, out, _ = ask("evaluate", runs("copy"), "--over", "data.length=3,12", "--rows", 20, "--json")
    both = json.loads(out)["over"]
    assert [one["data.length"] for one in both] == ["3", "12"]
    _, alone, _ = ask("evaluate", runs("copy"), "data.length=12", "--rows", 20, "--json")
    assert json.loads(alone)["metrics"] == both[1]["metrics"]


def test_evaluate_takes_every_row_of_another_file(runs, ask, home):
    (home / "others.tsv").write_text("red green\tred\nblue\tblue\npink\tblue\n")
    _, out, _ = ask("evaluate", runs("seq2vec"), "data.path=others.tsv", "--json")
    assert json.loads(out)["examples"] == 3


def test_evaluate_refuses_labels_that_are_not_there(runs, refused, home):
    (home / "bare.tsv").write_text("red green\nblue\n")
    assert "there is no column 2" in refused("evaluate", runs("seq2vec"), "data.path=bare.tsv")
    assert "--over: 'model.dim=3' is not data.key=a,b,c." in refused("evaluate", runs("copy"), "--over", "model.dim=3")


# ---------------------------------------------------------------- inspect


@pytest.mark.parametrize("family", FAMILIES)
def test_inspect_writes_one_page_that_holds_its_pictures(runs, ask, tmp_path, family):
    folder = tmp_path / "looked into"
    code, out, err = ask("inspect", runs(family), "-o", folder, "--examples", 1)
    assert (code, err) == (0, "")
    assert str(folder / "inspect.html") in out
    page = (folder / "inspect.html").read_text()
    pictures = list(folder.glob("*.png"))
    assert page.count("data:image/png;base64,") == len(pictures)
    assert {"learning_curves", "gradient_by_step"} <= {picture.stem for picture in pictures}
    assert any(picture.stem.startswith("states_") for picture in pictures)
    assert 'src="http' not in page


def test_inspect_needs_no_data_and_lists_the_neighbours_asked_for(runs, ask, refused, tmp_path, monkeypatch):
    folder = runs("seq2seq")
    shutil.copy(folder / "checkpoints" / "best.pt", tmp_path / "alone.pt")
    monkeypatch.chdir(tmp_path)
    code, _, err = ask("inspect", tmp_path / "alone.pt", "--given", "red green", "--tokens", "a,e")
    assert (code, err) == (0, "")
    assert (tmp_path / "inspect" / "inspect.html").is_file()
    assert "there is no token 'zz'" in refused("inspect", tmp_path / "alone.pt", "--tokens", "zz")


def test_what_is_forecast_is_drawn(runs, ask, tmp_path):
    ask("inspect", runs("forecaster"), "-o", tmp_path, "--given", TYPED["forecaster"][0])
    assert (tmp_path / "forecast_1_output.png").is_file()


def test_a_page_escapes_whatever_a_token_is(tmp_path):
    from composer.views.page import Picture, Section, Table, page

    (tmp_path / "a.png").write_bytes(b"png")
    nasty = "<script>alert(1)</script>\"'&"
    section = Section(nasty, [nasty], [Picture("a.png", nasty)], [Table(nasty, [nasty], [[nasty]])], "", nasty)
    text = page(nasty, [section], tmp_path)
    assert "<script" not in text
    assert 'alt="&lt;script&gt;alert(1)&lt;/script&gt;&quot;' in text


def test_principal_components_are_those_of_torch():
    from composer.views.figures.projection import principal

    points = torch.randn(40, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found, shares = principal(points, 3)
    _, sizes, directions = torch.pca_lowrank(points, q=6, niter=8)
    other = (points - points.mean(0)) @ directions[:, :3]
    torch.testing.assert_close(found.abs(), other.abs())
    torch.testing.assert_close(shares, (sizes.square() / sizes.square().sum())[:3])
    assert float(principal(points[:1], 2)[0].abs().max()) == 0


# ---------------------------------------------------------------- programs


def test_in_another_process_and_folder_the_checkpoint_alone_says_the_same(runs, tmp_path):
    here = {}
    for family in ("language_model", "seq2seq", "seq2vec"):
        shutil.copy(runs(family) / "checkpoints" / "best.pt", tmp_path / f"{family}.pt")
        model = composer.load(runs(family))
        here[family] = {"predicted": model.predict(TYPED[family]), "vectors": model.embed(TYPED[family]).tolist()}
        if family in GENERATING:
            here[family]["generated"] = [g.plain() for g in model.generate(TYPED[family], length=9)]
    code = """
import json, sys, torch, composer
torch.set_num_threads(1)
asked, out = json.load(sys.stdin), {}
for family, typed in asked.items():
    model = composer.load(f"{family}.pt")
    out[family] = {"predicted": model.predict(typed), "vectors": model.embed(typed).tolist()}
    if model.graph.plan.generated:
        out[family]["generated"] = [g.plain() for g in model.generate(typed, length=9)]
print(json.dumps(out))
"""
    asked = json.dumps({family: TYPED[family] for family in here})
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, input=asked, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert json.loads(done.stdout) == json.loads(json.dumps(here))


def test_embed_gives_a_vector_a_row_whatever_the_rows_beside_it(runs):
    for family in ("language_model", "seq2seq", "seq2vec", "tagger", "forecaster", "copy"):
        model = composer.load(runs(family))
        rows = TYPED[family]
        together = model.embed(rows)
        assert together.shape == (2, 16)
        torch.testing.assert_close(together[1:], model.embed(rows[1:]))
        last = model.embed(rows, pool="last")
        assert last.shape == (2, 16)
    model = composer.load(runs("seq2seq"))
    signal = model.objective.encode("source", ["red green"])
    state = model.graph.start({"source": signal}, 1)["once"]["encoder"].values
    torch.testing.assert_close(model.embed("red green")[0], state[0].mean(0))
    with pytest.raises(UserError, match="'decoder' reads target"):
        model.embed("red", node="decoder")
    with pytest.raises(UserError, match="Did you mean 'encoder'"):
        model.embed("red", node="encodr")
    with pytest.raises(UserError, match="depends on what is generated"):
        composer.load(runs("vec2seq")).embed("stars=1")


def test_a_language_model_has_read_its_last_token_when_it_embeds(runs):
    model = composer.load(runs("language_model"))
    one, other = model.embed(["red gree", "red gred"], pool="last")
    assert not torch.allclose(one, other)


def test_neighbours_are_the_nearest_by_cosine(runs):
    model = composer.load(runs("seq2seq"))
    tokens, matrix = model.token_vectors("source")
    assert len(tokens) == len(matrix)
    found = model.neighbours("e", 3, field="source")
    alike = torch.nn.functional.cosine_similarity(matrix, matrix[tokens.index("e")][None])
    order = [tokens[i] for i in alike.argsort(descending=True).tolist() if tokens[i] != "e"]
    assert [token for token, _ in found] == order[:3]
    with pytest.raises(UserError, match="has no token"):
        model.neighbours("zz")
    with pytest.raises(UserError, match="no embedding"):
        composer.load(runs("forecaster")).token_vectors()


def test_the_best_checkpoint_is_used_where_there_is_one(runs, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(runs("copy"), folder)
    assert composer.load(folder).path == folder / "checkpoints" / "best.pt"
    assert composer.load(folder, checkpoint="last").path == folder / "checkpoints" / "last.pt"
    (folder / "checkpoints" / "best.pt").unlink()
    assert composer.load(folder).path == folder / "checkpoints" / "last.pt"
    with pytest.raises(UserError, match="has no best checkpoint"):
        composer.load(folder, checkpoint="best")


def test_settings_and_wishes_that_cannot_be_are_named(runs):
    model = composer.load(runs("seq2seq"))
    with pytest.raises(Invalid, match=r"lenght: there is no such setting\. Did you mean 'length'"):
        model.generate("red", lenght=3)
    with pytest.raises(Invalid, match="beams"):
        model.predict("red", beams=0)


# ---------------------------------------------------------------- checkpoints that are none


@pytest.mark.parametrize("command", ["generate", "predict", "evaluate", "inspect"])
def test_a_checkpoint_that_would_run_code_is_refused_and_runs_none(refused, tmp_path, command):
    class Payload:
        def __reduce__(self):
            import os

            return os.system, (f"touch {tmp_path / 'owned'}",)

    torch.save({"format": 1, "config": Payload(), "source": {}, "step": 1, "model": {}}, tmp_path / "zip.pt")
    (tmp_path / "bare.pt").write_bytes(pickle.dumps(Payload()))
    for name in ("zip.pt", "bare.pt"):
        extra = ["x"] if command == "generate" else []
        said = refused(command, tmp_path / name, *extra)
        assert f"{name}' is refused" in said or f"{name}' is not a whole checkpoint" in said
        assert not (tmp_path / "owned").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bare.pt", "zip.pt"]


def test_a_run_that_is_not_there_or_not_whole_is_one_clear_sentence(runs, refused, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(runs("copy"), folder)
    whole = (folder / "checkpoints" / "best.pt").read_bytes()
    (tmp_path / "torn.pt").write_bytes(whole[: len(whole) // 2])
    assert "torn.pt' is not a whole checkpoint" in refused("generate", tmp_path / "torn.pt", "1")
    assert "Did you mean 'run'?" in refused("generate", tmp_path / "rum", "1")
    assert "is not the folder of a run" in refused("generate", tmp_path, "1")
    (folder / "checkpoints" / "best.pt").unlink()
    (folder / "checkpoints" / "last.pt").unlink()
    assert "there is no checkpoint in" in refused("generate", folder, "1")
    assert "has no effect" in refused("generate", tmp_path / "torn.pt", "1", "--checkpoint", "best")


def test_a_checkpoint_cannot_choose_code_to_import(runs, refused, tmp_path):
    content = checkpoint.load(find_checkpoint(runs("copy")))
    content["config"] = {**content["config"], "plugins": [str(tmp_path / "evil.py")]}
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')")
    checkpoint.save(tmp_path / "plugged.pt", content)
    assert "--plugin" in refused("generate", tmp_path / "plugged.pt", "1")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("command", ["generate", "predict", "evaluate", "inspect"])
def test_help_shows_examples(ask, command):
    code, out, _ = ask(command, "--help")
    assert code == 0
    assert f"composer {command} runs/" in out
    assert all(len(line) <= 120 for line in out.splitlines())
