"""Declared fields: every type reads what people write in their files, and says where a cell cannot be used."""

import json
from pathlib import Path

import pytest
import torch

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import ConfigError, UserError
from composer.data import load_source
from composer.data.codecs.text_codec import TextCodec
from composer.data.codecs.words_codec import WordsCodec
from composer.data.tokenisers.tokeniser import Tokenising
from composer.objectives import load_objective
from tests.support.data_files import refused, rows, tone

TABLE = """id,title,body,words,tags,topics,rating,price,p,q,curve,colour
a,red car,a red car is fast,the car,D N,"fast, red",5,1.5,1,2,1 2 3,red
b,blue car,a blue car is slow,a slow car,D A N,slow,1,2.5,3,4,4 5,blue
c,old red bus,it goes,it goes,P V,"red,slow",3,3.5,5,6,"6;7",
"""

#: For every type: its declaration, and how the three rows of the table above are shown.
TYPES = {
    "text": ({"column": "title", "tokeniser": {"type": "words"}}, ["red car", "blue car", "old red bus"]),
    "words": ({"column": "words"}, ["the car", "a slow car", "it goes"]),
    "joined": (
        {
            "parts": {
                "letters": {"type": "text", "column": "title", "tokeniser": {"type": "characters"}},
                "marks": {"type": "words", "column": "topics", "separator": ","},
            }
        },
        ["red car | fast,red", "blue car | slow", "old red bus | red,slow"],
    ),
    "class": ({"column": "rating"}, ["5", "1", "3"]),
    "classes": ({"column": "topics"}, ["fast, red", "slow", "red, slow"]),
    "number": ({"column": "price"}, ["1.5", "2.5", "3.5"]),
    "vector": ({"columns": ["p", "q"]}, ["1 2", "3 4", "5 6"]),
    "sequence": ({"column": "curve"}, ["1; 2; 3", "4; 5", "6; 7"]),
    "attributes": (
        {"columns": ["price", "colour"]},
        ["price[1.5], colour[red]", "price[2.5], colour[blue]", "price[3.5]"],
    ),
}


def table(folder, fields, text=TABLE, name="a.csv", **options):
    (folder / name).write_text(text)
    return {"type": "table", "path": str(folder / name), "valid": 0, "fields": fields, **options}


@pytest.mark.parametrize("kind", TYPES)
def test_a_type_shows_what_stands_in_the_file(tmp_path, kind):
    declared, shown = TYPES[kind]
    source = load_source(table(tmp_path, {"x": {"type": kind, **declared}}))
    assert rows(source, "train", "x") == shown
    other = load_source(table(tmp_path, {"x": {"type": kind, **declared}}), state=source.state())
    assert rows(other, "train", "x") == shown
    assert other.fields == source.fields


def test_every_type_of_the_registry_is_tried_here():
    assert {*TYPES, "tags", "characters", "image", "audio"} == set(registry.entries("field"))


FORMS = "Vera\tVera\tN;SG\nVera\tVeras\tN;PL\ngo\twent\tV;PST\ngo\tgoes\tV;PRS;3;SG\nin 3\tin 3\tV;PST\n"
INFLECTION = {
    "source": {
        "type": "joined",
        "parts": {
            "lemma": {"type": "text", "column": 1, "tokeniser": {"type": "characters"}},
            "features": {"type": "words", "column": 3, "separator": ";"},
        },
    },
    "target": {"type": "text", "column": 2},
}


def test_parts_of_a_joined_field_have_tokens_of_their_own(tmp_path):
    source = load_source(table(tmp_path, INFLECTION, FORMS, "forms.tsv"))
    field = source.fields["source"]
    known = field.contents.tokens
    assert len(set(known)) == field.vocabulary == len(known)
    tokens = [[known[i] for i in row] for row in source.batch("train", range(5))["source"].values.tolist()]
    assert tokens[0][:6] == ["V", "e", "r", "a", "features:N", "features:SG"]
    assert tokens[2][:5] == ["g", "o", "features:V", "features:PST", "<eos>"]
    assert tokens[3][2:6] == ["features:V", "features:PRS", "features:3", "features:SG"]
    assert tokens[4][:4] == ["i", "n", " ", "3"]
    assert {field.contents.tokens[i] for i in field.contents.special} == {"<unk>", "features:<unk>"}


def test_a_joined_field_is_typed_as_it_is_shown_and_knows_what_each_part_does_not_know(tmp_path):
    first = load_source(table(tmp_path, INFLECTION, FORMS, "forms.tsv"))
    other = load_source(table(tmp_path, INFLECTION, FORMS, "forms.tsv"), state=first.state())
    for source in (first, other):
        typed = source.encode("source", ["go | V;PRS;3;SG", "vx|V;N;x"])
        assert source.show("source", typed) == ["go | V;PRS;3;SG", "<unk><unk> | V;N;<unk>"]
        assert typed.values[0].tolist() == source.batch("train", [3])["source"].values[0].tolist()
        assert source.unknown("source", "vx | V;x") == ["v", "x"]
        assert source.word_dropout["source"].chance[source.fields["source"].contents.tokens.index("g")] == 0
        with pytest.raises(UserError, match="'go' has 1 of 2 parts"):
            source.encode("source", ["go"])
    assert next(first.written("train")).values["source"] == "Vera | N;SG"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"type": "class", "column": 1}, "data.fields.source.parts.lemma.type"),
        ({"type": "text", "column": 1, "shares": "target"}, "data.fields.source.parts.lemma.shares"),
        ({"type": "words", "column": 1, "along": "target"}, "data.fields.source.parts.lemma.along"),
        ({"type": "text", "column": 1, "references": "grouped"}, "data.fields.source.parts.lemma.references"),
        ({"type": "text", "column": 9}, "data.fields.source.parts.lemma.column"),
        ({"type": "words", "column": 1, "separator": ""}, "data.fields.source.parts.lemma.separator"),
    ],
)
def test_a_part_that_cannot_be_joined_is_refused_with_its_key(tmp_path, part, said):
    assert said in refused(table(tmp_path, {"source": {"type": "joined", "parts": {"lemma": part}}}, FORMS, "f.tsv"))


def spelled(folder, length=4, text="words\nthe\tcar\n"):
    fields = {
        "words": {"type": "words", "column": "words", "vocabulary": 3, "shapes": False},
        "letters": {"type": "characters", "column": "words", "along": "words", "length": length},
    }
    return load_source(table(folder, fields, text))


def test_characters_run_along_words_that_no_vocabulary_has(tmp_path):
    source = spelled(tmp_path, 5, "words\nthe cat\nthe the ten\n")
    batch = source.batch("train", [0, 1])
    letters = batch["letters"]
    known = source.fields["letters"].contents.tokens
    assert known == ("", "<unk>", *"acehnt")
    assert (source.fields["letters"].axis, source.fields["letters"].width) == ("words", 5)
    assert letters.counts.tolist() == batch["words"].counts.tolist() == [2, 3]
    words = ["".join(known[i] for i in word) for word in letters.values[0].tolist()]
    assert words == ["the", "cat", ""]
    assert rows(source, "train", "letters") == ["the cat", "the the ten"]
    typed = source.encode("letters", ["nacht teé"])
    assert source.show("letters", typed) == ["nacht te<unk>"]
    assert source.unknown("letters", "teé é") == ["é"]


def test_a_long_word_keeps_its_beginning_and_its_end(tmp_path):
    source = spelled(tmp_path, 5, "words\nunbelievable so\n")
    assert rows(source, "train", "letters") == ["unble so"]
    with pytest.raises(ConfigError, match="length"):
        spelled(tmp_path, 1)


def test_characters_need_words_to_run_along(tmp_path):
    fields = {"letters": {"type": "characters", "column": "words", "along": "tokens"}}
    with pytest.raises(ConfigError, match="'tokens' is no field of words"):
        load_source(table(tmp_path, fields))


def test_lists_in_json_are_sequences(tmp_path):
    records = [
        {"words": ["New York", "is", "big"], "tags": ["B", "O", "O"], "steps": [[1, 2], [3, 4]], "topics": ["a", "b"]},
        {"words": ["Rome"], "tags": ["B"], "steps": [[5, 6]], "topics": []},
    ]
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    fields = {
        "words": {"type": "words", "column": "words"},
        "tags": {"type": "tags", "column": "tags", "along": "words"},
        "steps": {"type": "sequence", "column": "steps", "normalise": False},
        "topics": {"type": "classes", "column": "topics"},
    }
    batch = load_source(table(tmp_path, fields, text, "a.jsonl")).batch("train", [0, 1])
    assert batch["words"].counts.tolist() == batch["tags"].counts.tolist() == [3, 1]
    assert batch["steps"].values.tolist() == [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    assert batch["topics"].values.tolist() == [[1, 1], [0, 0]]


def test_texts_that_share_have_one_vocabulary_learned_from_both(tmp_path):
    words = {"type": "words"}
    fields = {
        "body": {"type": "text", "column": "body", "shares": "title"},
        "title": {"type": "text", "column": "title", "tokeniser": words},
    }
    found = load_source(table(tmp_path, fields)).fields
    assert found["title"].contents.tokens == found["body"].contents.tokens
    assert {"bus", "goes"} <= set(found["title"].contents.tokens)
    alone = load_source(table(tmp_path, {"title": {"type": "text", "column": "title", "tokeniser": words}}))
    assert "goes" not in alone.fields["title"].contents.tokens


def test_pictures_and_sounds_stand_beside_the_table_that_names_them(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image", reason="picture files need pillow, of the extra 'data'")
    (tmp_path / "shots").mkdir()
    for name, colour in (("a", (255, 0, 0)), ("b", (0, 255, 0))):
        image.new("RGB", (4, 2), colour).save(tmp_path / "shots" / f"{name}.png")
        tone(tmp_path / "shots" / f"{name}.wav", seconds=0.1)
    text = "picture\tsound\nshots/a.png\tshots/a.wav\nshots/b.png\tshots/b.wav\n"
    fields = {
        "photo": {"type": "image", "column": "picture"},
        "noise": {"type": "audio", "column": "sound", "bands": 4},
    }
    config = table(tmp_path, fields, text, "a.tsv")
    monkeypatch.chdir("/")
    source = load_source(config)
    assert source.batch("train", [0, 1])["photo"].values[:, :, 0, 0].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert source.fields["noise"].dim == 4
    state = source.state()
    assert torch.tensor(state["noise"]["mean"]).isfinite().all()


def test_files_are_a_table_of_their_own(tmp_path):
    for i in range(4):
        tone(tmp_path / "ab"[i % 2] / f"{'xy'[i // 2]}_{i}.wav", seconds=0.1)
    fields = {
        "sound": {"type": "audio", "column": "file", "bands": 4},
        "speaker": {"type": "class", "column": "folder"},
        "word": {"type": "class", "column": "name"},
    }
    source = load_source({"type": "table", "path": str(tmp_path), "valid": 0, "fields": fields})
    assert rows(source, "train", "speaker") == ["a", "a", "b", "b"]
    assert rows(source, "train", "word") == ["x", "y", "x", "y"]


def test_columns_of_conll_are_fields(tmp_path):
    fields = {
        "words": {"type": "words", "column": 1},
        "chunks": {"type": "tags", "column": 2, "along": "words"},
        "names": {"type": "tags", "column": "tags", "along": "words"},
    }
    source = load_source(table(tmp_path, fields, "Rome B-NP B-LOC\nis B-VP O\n\nbig B-AP O\n", "a.conll"))
    assert rows(source, "train", "chunks") == ["B-NP B-VP", "B-AP"]
    assert rows(source, "train", "names") == ["B-LOC O", "O"]


TEXT = {"type": "text", "column": "title"}
BAD = {
    "no field": ({}, ["data.fields", "declares no field"]),
    "no type": ({"x": {"column": 1}}, ["data.fields.x.type", "has no type"]),
    "wrong type": ({"x": {"type": "txt", "column": 1}}, ["there is no field 'txt'", "Did you mean 'text'?"]),
    "no column": ({"x": {"type": "text"}}, ["data.fields.x", "name one column of texts"]),
    "wrong key": ({"x": {**TEXT, "tokenizer": 1}}, ["data.fields.x.tokenizer", "Did you mean 'tokeniser'?"]),
    "wrong name": ({"a b": TEXT}, ["data.fields.a b", "letters, digits and _"]),
    "missing column": ({"x": {"type": "text", "column": "titel"}}, ["data.fields.x.column", "Did you mean 'title'?"]),
    "wrong vocabulary": (
        {"x": {**TEXT, "tokeniser": {"type": "words", "vocabulary": 2}}},
        ["data.fields.x.tokeniser.vocabulary", "2 is too small"],
    ),
    "chosen vocabulary": (
        {"x": {"type": "text", "column": "body", "sentences": "bpe", "tokeniser": {"vocabulary": 9}}},
        ["data.fields.x.tokeniser.vocabulary", "9 is too small for 'bpe'"],
    ),
    "shares what": ({"x": {**TEXT, "shares": "y"}}, ["data.fields.x.shares", "'y' is no text"]),
    "shares too much": (
        {"y": TEXT, "x": {**TEXT, "shares": "y", "tokeniser": {}}},
        ["data.fields.x.tokeniser", "has no effect"],
    ),
    "tags of what": ({"x": {"type": "tags", "column": "tags", "along": "y"}}, ["data.fields.x.along", "'y'"]),
    "other tags": (
        {"y": {"type": "words", "column": "title"}, "x": {"type": "tags", "column": "tags", "along": "y"}},
        ["a.csv:3: 'x' has 3 tags for the 2 words of 'y'"],
    ),
    "no number": ({"x": {"type": "number", "column": "id"}}, ["a.csv:2: column 'id' holds 'a', which is no number"]),
    "no sequence": (
        {"x": {"type": "sequence", "column": "title"}},
        ["a.csv:2: column 'title' holds 'red car', which is no sequence of numbers"],
    ),
    "no columns": ({"x": {"type": "vector", "columns": []}}, ["data.fields.x.columns", "name one"]),
    "no picture": (
        {"x": {"type": "image", "column": "id"}},
        ["a.csv:2: column 'id' holds 'a', and there is no file"],
    ),
    "no words": (
        {"x": {"type": "words", "column": "colour"}},
        ["a.csv:4: column 'colour' holds '', which has no word"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_field_that_cannot_be_read_is_one_clear_sentence(tmp_path, case):
    fields, words = BAD[case]
    said = refused(table(tmp_path, fields))
    for word in words:
        assert word in said, said


GRAPH = """
dim: 8
nodes:
  embedding: {kind: embedding, type: token, dim: 8, from: body}
  pool: {kind: pool, type: mean, from: embedding}
  output: {kind: head, type: categorical, from: pool, predicts: stars}
  title_embedding: {kind: embedding, type: token, dim: 8, from: title}
  decoder: {kind: mixer, type: gru, from: title_embedding}
  said: {kind: head, type: categorical, from: decoder, predicts: title}
"""


def test_word_dropout_spares_what_the_graph_predicts(tmp_path):
    words = {"type": "text", "tokeniser": {"type": "words", "unknown": 1000.0}}
    fields = {
        "title": {**words, "column": "title"},
        "body": {**words, "column": "body"},
        "stars": {"type": "class", "column": "rating"},
    }
    source = load_source(table(tmp_path, fields))
    objective = load_objective({"type": "supervised"}, source)
    objective.predicted = {"title", "stars"}
    batch = objective.training_batch("train", range(3), epoch=0)
    assert "<unk>" in source.show("body", batch.signals["body"])[0]
    assert source.show("title", batch.signals["title"]) == ["red car", "blue car", "old red bus"]


@pytest.mark.slow
def test_the_compiled_graph_tells_the_objective_what_it_predicts(tmp_path):
    folder = tmp_path / "conf" / "model"
    folder.mkdir(parents=True)
    Path(folder / "both.yaml").write_text(GRAPH)
    text = {"type": "text", "tokeniser": {"type": "words"}}
    fields = {
        "title": {**text, "column": "title"},
        "body": {**text, "column": "body"},
        "stars": {"type": "class", "column": "rating"},
    }
    path = table(tmp_path, fields)["path"]
    declared = json.dumps(fields).replace('"', "")
    overrides = ["data=table", f"data.path={path}", f"data.fields={declared}", "data.valid=0", "model=both"]
    graph, objective = compile_config(compose(overrides, config_dir=str(tmp_path / "conf")))
    assert objective.predicted == {"title", "stars"}
    assert set(graph.plan.given) == {"body"}


WEIGHTS = {
    "balanced": ("balanced", [0.75, 0.75, 1.5]),  # 3 rows, 2 classes: 3 / (2 * 2) and 3 / (2 * 1)
    "numbers": ({"yes": 3.0}, [3.0, 3.0, 1.0]),
    "column": ("w", [2.0, 0.0, 5.0]),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights_of_classes_act_on_the_training_loss_alone(tmp_path, case):
    weight, expected = WEIGHTS[case]
    fields = {"x": {"type": "number", "column": "x"}, "y": {"type": "class", "column": "y", "weight": weight}}
    config = table(tmp_path, fields, "x,y,w\n1,yes,2\n2,yes,0\n3,no,5\n")
    first = load_source(config)
    for source in (first, load_source(config, state=first.state())):
        objective = load_objective({"type": "supervised"}, source)
        assert objective.training_batch("train", [0, 1, 2], epoch=0).weights["y"].tolist() == expected
        assert objective.batch("train", [0, 1, 2]).weights == {}


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({"yse": 2.0}, ["data.fields.y.weight.yse", "Did you mean 'yes'?"]),
        ({"yes": 0}, ["data.fields.y.weight.yes", "above 0"]),
        ("v", ["data.fields.y.weight", "there is no column 'v'"]),
        ("w", ["a.csv:3: column 'w' holds '-1', which is below 0"]),
    ],
)
def test_a_weight_that_cannot_be_used_is_one_clear_sentence(tmp_path, weight, words):
    fields = {"y": {"type": "class", "column": "y", "weight": weight}}
    said = refused(table(tmp_path, fields, "y,w\nyes,1\nno,-1\n"))
    for word in words:
        assert word in said, said


def test_fields_of_one_column_are_noted(tmp_path):
    """An autoencoder is legitimate, so they are not refused."""
    fields = {"source": {"type": "text", "column": "title"}, "target": {"type": "text", "column": "title"}}
    (note,) = load_source(table(tmp_path, fields)).remarks
    assert note.startswith("source, target are made of the same column 'title'")
    assert load_source(table(tmp_path, fields | {"target": {"type": "text", "column": "body"}})).remarks == []


def test_words_take_the_vocabulary_of_a_text_cut_into_words_and_of_no_other_text():
    texts = ["the cat sat", "the dog sat"]
    text = TextCodec(Tokenising(type="words"))
    text.learn(lambda limit: texts)
    words = WordsCodec(specials=("<unk>",), vocabulary=2)
    words.restore(text.state())
    assert words.field.contents.tokens == text.field.contents.tokens
    again = WordsCodec(specials=("<unk>",))
    again.restore(words.state())
    assert again.field == words.field
    assert set(again.field.contents.special) == {text.field.start, text.field.stop, *text.field.contents.special}
    ids = text.encode(texts, str)
    assert again.encode([row.split() for row in texts], str) == [row[:-1] for row in ids]  # without <eos>
    characters = TextCodec(Tokenising())
    characters.learn(lambda limit: texts)
    with pytest.raises(KeyError):
        words.restore(characters.state())
