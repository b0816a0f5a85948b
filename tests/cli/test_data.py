"""The command data: what is found in files, and that the config which it prints reads them."""

import json
import shlex
from pathlib import Path

import pytest
import yaml

from composer.cli.main import main
from composer.config.composition import compose
from composer.data import load_source
from composer.data.cache import source_cache
from tests.support.data_files import tone
from tests.support.processes import train_well

TEXTS = [
    f"{a} {b} is here and there" for a in ("red", "green", "blue") for b in ("cat", "dog", "cow", "hen", "pig", "owl")
]
LABELS = ["good", "bad"]

SOUNDS = ["AA1", "B", "K", "IY0"]
FORMS = [("ed", "PST"), ("s", "PRS;3;SG"), ("ing", "PRS;PTCP")]

FILES = {
    "reviews.csv": "text,label\n" + "".join(f"{t},{LABELS[i % 2]}\n" for i, t in enumerate(TEXTS)),
    "swapped.tsv": "".join(f"{LABELS[i % 2]}\t{t}\n" for i, t in enumerate(TEXTS)),
    "questions": "".join(f"{i % 3} What {t} ?\n" for i, t in enumerate(TEXTS)),
    "pairs.txt": "".join(f"{t}\t{t[::-1]}\n" for t in TEXTS),
    "both.csv": "premise;hypothesis;gold_label\n" + "".join(f"{t};{t}s;{LABELS[i % 2]}\n" for i, t in enumerate(TEXTS)),
    "array.json": json.dumps([{"text": t, "label": LABELS[i % 2]} for i, t in enumerate(TEXTS)], indent=1),
    "slots.csv": "mr,ref\n" + "".join(f'"name[{i}], food[x]",{t}\n' for i, t in enumerate(TEXTS)),
    "numbers.txt": "".join(f"{i},{i * i / 7},{i % 5 / 3}\n" for i in range(150)),
    "classes.csv": "a,b,kind\n" + "".join(f"{i / 3},{i * i / 7},{'xy'[i % 2]}\n" for i in range(30)),
    "train.de": "".join(f"{t}\n" for t in TEXTS),
    "train.en": "".join(f"{t} too\n" for t in TEXTS),
    "words.conll": "# one\nThe DT O\ncat NN B\n\n" * 10,
    "a.pos": "good\nfine\n",
    "a.neg": "bad\npoor\n",
    "quoted.tsv": "text\tlabel\n" + "".join(f'"{t}\tor so"\t{LABELS[i % 2]}\n' for i, t in enumerate(TEXTS)),
    "walk.csv": "".join(f"{i / 7:.3f},{i * i % 13 / 4}\n" for i in range(150)),
    "commented.json": "# by me\n"
    + "".join(f'{{"text": "{t}", "label": "{LABELS[i % 2]}"}}\n' for i, t in enumerate(TEXTS)),
    "lexicon.dict": "".join(
        f"{w}{i} {SOUNDS[i % 4]} T {SOUNDS[i // 2 % 4]} {SOUNDS[i // 5]}\n" for w in LABELS for i in range(9)
    ),
    "forms.tsv": "".join(f"{w}\t{w}{end}\tV;{tag}\n" for w in ("walk", "talk", "kick", "jump") for end, tag in FORMS),
    "genres.csv": "plot,genres\n"
    + "".join(f'{t},"{g}"\n' for t, g in zip(TEXTS, ["Drama, Comedy", "Comedy", "Comedy, Drama"] * 6, strict=True)),
    "dated.csv": "date;load\n" + "".join(f"{i % 28 + 1:02d}/{i // 28 + 1:02d}/2020;{i * i % 7},5\n" for i in range(56)),
    "tokens.jsonl": '{"tokens": ["To", "Rome"], "tags": ["O", "B"]}\n{"tokens": ["Ha"], "tags": ["O"]}\n' * 9,
    "LICENSE": "Do what you like.\n",
    "story.txt": "Once upon a time there was a text.\n" * 9,
}

#: path -> kind, model, type of the section
FOUND = {
    "reviews.csv": ("table", "seq2vec", "table"),
    "swapped.tsv": ("table", "seq2vec", "table"),
    "questions": ("table", "seq2vec", "table"),
    "pairs.txt": ("table", "seq2seq", "pairs"),
    "both.csv": ("table", "seq2vec", "table"),
    "array.json": ("table", "seq2vec", "table"),
    "slots.csv": ("table", "vec2seq", "table"),
    "numbers.txt": ("table", "forecaster", "series"),
    "classes.csv": ("table", "seq2vec", "table"),
    "train.de": ("parallel", "seq2seq", "pairs"),
    "words.conll": ("tagged", "tagger", "tagged"),
    "a.*": ("classes", "seq2vec", "labelled"),
    "quoted.tsv": ("table", "seq2vec", "table"),
    "walk.csv": ("table", "forecaster", "series"),
    "commented.json": ("table", "seq2vec", "table"),
    "lexicon.dict": ("table", "seq2seq", "pairs"),
    "forms.tsv": ("table", "seq2seq", "table"),
    "story.txt": ("text", "language_model", "text"),
    "genres.csv": ("table", "seq2vec", "table"),
    "dated.csv": ("table", "forecaster", "series"),
    "tokens.jsonl": ("table", "tagger", "table"),
    "example:intents.tsv": ("table", "tagger_classifier", "table"),
    "example:shops.csv": ("table", "seq2vec", "table"),
    "sounds": ("recordings", "seq2vec", "audio"),
}


#: Two steps of a small model.
SMALL = ["training.steps=2", "training.batch=4", "training.validate_rows=4", "training.decode_rows=2", "model.dim=8",
         "training.figures=false", "training.samples=1"]  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)
    for number in range(8):
        tone(Path("sounds") / f"{number % 2}_{number}.wav", seconds=0.05)


def surveyed(path, capsys):
    assert main(["data", path, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("path", FOUND)
def test_the_printed_section_and_the_printed_command_read_the_files(files, path, capsys):
    found = surveyed(path, capsys)
    assert (found["kind"], found["model"], found["data"]["type"]) == FOUND[path]
    source = load_source(found["data"])
    assert source.size("train") > 0
    overrides = shlex.split(found["command"])[2:]
    composed = compose(overrides).values["data"]
    assert {key: composed[key] for key in found["data"]} == found["data"]
    assert main(["data", path]) == 0
    printed = capsys.readouterr().out
    section = printed[printed.index("\ndata:\n") :].rpartition("\n\n")[0]
    assert yaml.safe_load(section)["data"] == found["data"]
    train_well([*overrides, *SMALL])


def test_what_is_printed_fits_the_terminal_and_names_types_balance_and_rows(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert main(["data", "reviews.csv"]) == 0
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert all(len(line) <= 70 for line in lines if not line.startswith("python"))
    assert lines[0] == "reviews.csv: 18 rows, a table"
    assert any(line.split()[:3] == ["text", "text", "18"] for line in lines)
    assert any("bad 50 %, good 50 %" in line for line in lines)
    assert "text: red cat is here and there" in lines


def test_copies_and_classes_with_one_row_and_rows_of_both_splits_are_noted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"some text {i % 9}\t{'ab'[i % 2]}\n" for i in range(40)]
    Path("train.tsv").write_text("".join(rows) + "odd one\tc\n")
    Path("dev.tsv").write_text("".join(rows[:3]))
    said = " ".join(surveyed("train.tsv", capsys)["notes"])
    assert "22 rows are copies of others" in said
    assert "3 rows of dev.tsv are in the training file, too" in said
    assert "column 2 has 1 classes with one row, e.g. c" in said


@pytest.mark.parametrize("path", ["no.csv", "empty.csv"])
def test_a_path_without_data_is_one_sentence_and_exit_code_2(tmp_path, monkeypatch, capsys, path):
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").touch()
    with pytest.raises(SystemExit) as stop:
        main(["data", path])
    assert stop.value.code == 2
    assert path in capsys.readouterr().err


def test_parts_of_file_names_are_noted(files, capsys):
    found = surveyed("sounds", capsys)
    (note,) = found["notes"]
    assert "label 2, part2 8" in note
    assert 'data.pattern="{label}_{part2}.wav"' in note
    assert "split_by" not in found["data"], "numbers may count the files of a class"


@pytest.mark.parametrize(
    "form", ["{digit}_{speaker}_{take}.wav", "{digit}-{take}-{speaker}.wav", "{digit}/{speaker}_{take}.wav"]
)
def test_speakers_in_file_names_are_in_the_command(tmp_path, monkeypatch, capsys, form):
    monkeypatch.chdir(tmp_path)
    for digit in range(2):
        for speaker in ("ann", "bob", "cid"):
            for take in range(2):
                tone(Path("digits") / form.format(digit=digit, speaker=speaker, take=take), seconds=0.05)
    found = surveyed("digits", capsys)
    composed = compose([*shlex.split(found["command"])[2:], "data.valid=0.3"]).values["data"]
    source = load_source(composed)
    voices = {
        split: {name for name in ("ann", "bob", "cid") for row in source.written(split) if name in row.place["file"]}
        for split in ("train", "valid")
    }
    assert source.fields["target"].contents.tokens == ("0", "1")
    assert {len(voices["train"]), len(voices["valid"])} == {1, 2}
    assert not voices["train"] & voices["valid"]


def test_a_pattern_of_file_names_can_be_written_on_the_command_line():
    pattern = "{digit}_{speaker}_{take}.wav"
    composed = compose(["data=audio", "data.path=fsdd", f'data.pattern="{pattern}"', "data.split_by=speaker"])
    assert composed.values["data"]["pattern"] == pattern


@pytest.mark.parametrize("path", ["mt", "mt/train.de", "mt/train.en"])
def test_a_folder_of_parallel_files_is_a_translation_and_no_classification(tmp_path, monkeypatch, capsys, path):
    monkeypatch.chdir(tmp_path)
    Path("mt").mkdir()
    for split in ("train", "val", "test_2016_flickr", "test_2017_flickr"):
        for language in ("de", "en"):
            Path(f"mt/{split}.{language}").write_text("".join(f"{language} {t} {split}\n" for t in TEXTS))
    Path("mt/dev.de").write_text("without its partner\n")
    found = surveyed(path, capsys)
    source, target = ("en", "de") if path.endswith("en") else ("de", "en")
    expected = {"type": "pairs", "path": f"mt/train.{source}", "parallel": target, "valid": f"mt/val.{source}",
                "test": f"mt/test_2016_flickr.{source}"}  # fmt: skip
    assert (found["kind"], found["model"], found["data"]) == ("parallel", "seq2seq", expected)
    assert any("test_2017_flickr" in note for note in found["notes"])
    read = load_source(found["data"])
    assert next(read.written("test")).values["source"].startswith(f"{source} red cat")
    assert next(read.written("valid")).values["target"].startswith(f"{target} red cat")


def test_a_test_file_without_targets_is_not_taken_and_folders_may_be_splits(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("train.csv").write_text(FILES["reviews.csv"])
    Path("test.csv").write_text("text\nis it good\n")
    found = surveyed("train.csv", capsys)
    assert "test" not in found["data"]
    assert any("test.csv is not taken as the test file" in note for note in found["notes"])
    Path("test.csv").write_text("text,label\nis it good,\n")
    assert any("nothing in column label" in note for note in surveyed("train.csv", capsys)["notes"])
    for split in ("train", "test"):
        for number in range(4):
            tone(Path(f"tones/{split}/{'ab'[number % 2]}/{number}.wav"), seconds=0.05)
    found = surveyed("tones", capsys)
    assert found["data"] == {"type": "audio", "path": "tones/train", "test": "tones/test"}
    source = load_source({**found["data"], "valid": 0})
    assert (source.size("train"), source.size("test"), source.fields["target"].contents.tokens) == (4, 4, ("a", "b"))


def test_lexicons_and_inflections_are_read_from_the_right_columns(files, capsys):
    source = load_source({**surveyed("lexicon.dict", capsys)["data"], "valid": 0})
    first = next(source.written("train")).values
    assert first == {"source": "good0", "target": "AA1 T AA1 AA1"}
    source = load_source({**surveyed("forms.tsv", capsys)["data"], "valid": 0})
    assert next(source.written("train")).values == {"source": "walk | V;PST", "target": "walked"}


@pytest.mark.slow
def test_the_command_for_an_inflection_trains_and_its_model_reads_a_file_without_forms(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [(w, f"{w}{end}", f"V;{tag}") for w in ("walk", "talk", "Vote", "jump") for end, tag in FORMS]
    for name in ("german-train-medium", "german-dev"):
        Path(name).write_text("".join("\t".join(row) + "\n" for row in rows))
    Path("german-covered-test").write_text("".join(f"{lemma}\t{tags}\n" for lemma, _, tags in rows))
    found = surveyed("german-train-medium", capsys)
    assert (found["data"]["valid"], "test" in found["data"]) == ("german-dev", False)
    train_well([*shlex.split(found["command"])[2:], *SMALL, "name=forms"])
    capsys.readouterr()
    assert main(["predict", "runs/forms", "data.path=german-covered-test"]) == 0
    read = [json.loads(line)["source"] for line in capsys.readouterr().out.splitlines()]
    assert read == [f"{lemma} | {tags}" for lemma, _, tags in rows]


def test_quoted_cells_keep_their_tabs_and_a_series_its_first_row(files, capsys):
    source = load_source({**surveyed("quoted.tsv", capsys)["data"], "valid": 0})
    assert next(source.written("train")).values["source"] == f"{TEXTS[0]}\tor so"
    source = load_source({**surveyed("walk.csv", capsys)["data"], "valid": 0, "length": 100, "horizon": 50})
    assert source.size("train") == 1, "all 150 rows"


@pytest.mark.parametrize("first", ["", "6 12\n"])
def test_word_vectors_are_an_embedding_and_no_examples(tmp_path, capsys, first):
    path = tmp_path / "vectors.txt"
    path.write_text(
        first + "".join(f"{word} {' '.join(['0.25'] * 12)}\n" for word in ("the", "a", "of", "to", "in", "2.5"))
    )
    found = surveyed(str(path), capsys)
    assert (found["kind"], found["data"]) == ("word_vectors", None)
    assert main(["data", str(path)]) == 0
    assert f"embedding=pretrained embedding.path={path}" in capsys.readouterr().out


def test_a_licence_is_no_class(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("names/Dutch.txt", "names/Irish.txt", "names/LICENSE.repo"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("Bakker\nByrne\n")
    target = load_source({**surveyed("names", capsys)["data"], "valid": 0}).fields["target"]
    assert target.contents.tokens == ("Dutch", "Irish")


def test_pictures_with_texts_are_captions(tmp_path, monkeypatch, capsys):
    image = pytest.importorskip("PIL.Image", reason="picture files need pillow, of the extra 'data'")
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        image.new("RGB", (4, 5)).save(f"{number}.png")
    Path("captions.csv").write_text("file,caption\n" + "".join(f"{i}.png,{TEXTS[i]}\n" for i in range(3)))
    found = surveyed("captions.csv", capsys)
    assert found["model"] == "captioner"
    source = load_source({**found["data"], "valid": 0})
    assert [row.values["caption"] for row in source.written("train")] == TEXTS[:3]


def test_the_cache_is_shown_and_cleared(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COMPOSER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(source_cache, "LEAST", 1)
    (tmp_path / "book.txt").write_text("one two three four\n" * 50)
    assert load_source({"type": "text", "path": f"{tmp_path}/book.txt", "length": 8}).size("train")
    (tmp_path / "cache" / f"{'0' * 32}.building").mkdir()
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["data", "--cache"]) == 0
    shown = capsys.readouterr().out
    assert f"tokens of text: {tmp_path}/book.txt" in shown
    assert f"vocabulary of text: {tmp_path}/book.txt" in shown
    assert "not finished" in shown
    assert "3 entries" in shown
    assert main(["data", "--cache", "--json"]) == 0
    assert {entry["part"] for entry in json.loads(capsys.readouterr().out)["entries"]} == {"learned", "tokens", None}
    assert main(["data", "--cache", "clear"]) == 0
    assert "removed 3 entries" in capsys.readouterr().out
    assert not list((tmp_path / "cache").iterdir())
    monkeypatch.setenv("COMPOSER_CACHE", "off")
    for wrong in (["--cache"], [], ["--cache", "show", "a.csv"]):
        with pytest.raises(SystemExit, match="2"):
            main(["data", *wrong])
