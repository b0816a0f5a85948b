"""Files for a trained model, without what it predicts: the same texts are read as from files that have it."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.core.problems import UserError
from composer.data import load_source
from composer.data.files.new_files import NewFiles

WORDS = ["what", "is", "the", "capital", "of", "Peru", "pos", "it", "3", "LOC"]
LABELS = ["LOC:city", "NUM:date", "HUM:ind"]
DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";"}

#: What a column of a table may be besides the text and the label.
texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join), min_size=6, max_size=14)


def read(source, split):
    return [row.values["source"] for row in source.written(split)]


def both(folder, config, whole, bare, suffix, other=None, **known):
    """The texts of a file with targets, in training, and those of another without, for the trained model."""
    path = folder / f"train.{suffix}"
    path.write_text(whole)
    config = {"valid": 0, **config}
    trained = load_source({**config, "path": str(path)})
    wanted, state, file = read(trained, "train"), trained.state(), trained.trained_file()
    new = folder / f"new.{other or suffix}"
    new.write_text(bare)
    source = load_source(
        {**config, "path": str(new)}, state=state, fields={"source"}, new_files=NewFiles(file, **known)
    )
    return wanted, read(source, source.every_row), source.reading.remarks


@settings(max_examples=20)
@given(
    texts=texts,
    columns=st.permutations(["text", "label", "id"]).flatmap(lambda order: st.sampled_from([order, order[:2]])),
    delimiter=st.sampled_from(sorted(DELIMITERS)),
    named=st.sampled_from(["header", "by name", "no header"]),
    given_key=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_table_without_its_label_gives_the_texts_of_the_table_with_it(
    tmp_path_factory, texts, columns, delimiter, named, given_key, seed
):
    if "text" not in columns or "label" not in columns:
        columns = ["label", "text"]
    draw, mark = random.Random(seed), DELIMITERS[delimiter]
    rows = [{"text": t, "label": draw.choice(LABELS), "id": f"q{i}"} for i, t in enumerate(texts)]
    left = [column for column in columns if column != "label"]

    def table(names):
        head = [mark.join(names)] * (named != "no header")
        return "\n".join([*head, *(mark.join(row[name] for name in names) for row in rows)]) + "\n"

    place = {name: name if named == "by name" else columns.index(name) + 1 for name in columns}
    config = {"type": "labelled", "columns": [place["text"]], "label": place["label"], "header": named != "no header"}
    if given_key:
        config["delimiter"] = delimiter
    suffix = "tsv" if delimiter == "tab" else "csv"
    wanted, found, _ = both(tmp_path_factory.mktemp("new"), config, table(columns), table(left), suffix)
    assert found == wanted == texts


@settings(max_examples=20)
@given(texts=texts, given_key=st.booleans(), seed=st.integers(0, 99), suffix=st.sampled_from(["txt", "label"]))
def test_lines_without_their_label_keep_their_first_word(tmp_path_factory, texts, given_key, seed, suffix):
    draw, texts = random.Random(seed), [f"{text} town" for text in texts]  # a text has letters
    labels = [LABELS[i % 3] if i < 6 else draw.choice(LABELS) for i in range(len(texts))]
    whole = "".join(f"{label} {text} ?\n" for label, text in zip(labels, texts, strict=True))
    config = {"type": "labelled", "columns": [2], "label": 1} | ({"delimiter": "first_space"} if given_key else {})
    folder = tmp_path_factory.mktemp("new")
    bare = "".join(f"{text} ?\n" for text in texts)
    wanted, found, remarks = both(folder, config, whole, bare, suffix)
    assert found == wanted == [f"{text} ?" for text in texts]
    assert "the first word of every line is no label" in remarks[-1]
    assert both(folder, config, whole, whole, suffix)[1] == wanted, "with its labels, the file is read as in training"


QUESTIONS = "".join(f"{LABELS[i % 3]} what is {word} ?\n" for i, word in enumerate("abcdefghi"))
FIRST = {"type": "labelled", "columns": [2], "label": 1, "delimiter": "first_space"}


def test_where_some_lines_begin_with_a_class_the_user_says_whether_they_have_labels(tmp_path):
    mixed = "LOC:city what is x ?\nwhat is y ?\nwhat is z ?\n"
    said = r"new\.txt: 1 of 3 lines begin with a class .*but not 'what'\. Say .*--no-targets"
    with pytest.raises(UserError, match=said):
        both(tmp_path, FIRST, QUESTIONS, mixed, "txt")
    assert both(tmp_path, FIRST, QUESTIONS, mixed, "txt", targets=False)[1] == mixed.splitlines()
    cut = [line.split(None, 1)[1] for line in mixed.splitlines()]
    assert both(tmp_path, FIRST, QUESTIONS, mixed, "txt", targets=True)[1] == cut


def test_a_target_that_is_a_text_cannot_be_told_from_the_source(tmp_path):
    lexicon = {"type": "pairs", "source": 2, "target": 1, "delimiter": "first_space"}
    whole = "cab k ae b\nbat b ae t\ntack t ae k\n"
    with pytest.raises(UserError, match=r"new\.txt: the first word of a line may be what is predicted"):
        both(tmp_path, lexicon, whole, "k ae b\n", "txt")
    assert both(tmp_path, lexicon, whole, "k ae b\n", "txt", targets=False)[1] == ["k ae b"]
    other_way = {**lexicon, "source": 1, "target": 2}
    assert both(tmp_path, other_way, whole, "cab\nbat\ntack\n", "txt")[:2] == (["cab", "bat", "tack"],) * 2


DATES = [f"March {day}, 1975" for day in range(1, 13)]


@pytest.mark.parametrize(
    ("config", "whole", "bare", "suffixes"),
    [
        ({"type": "pairs"}, "".join(f"{d}\t1975\n" for d in DATES), "".join(f"{d}\n" for d in DATES), ("tsv", "txt")),
        ({"type": "pairs", "source": 2, "target": 1}, "".join(f"1975\t{d}\n" for d in DATES),
         "".join(f"{d}\n" for d in DATES), ("txt", "txt")),
        ({"type": "pairs", "parallel": "en"}, "".join(f"{d}\n" for d in DATES), "".join(f"{d}\n" for d in DATES),
         ("de", "de")),
    ],
)  # fmt: skip
def test_a_comma_in_every_text_is_no_delimiter_where_training_had_another(tmp_path, config, whole, bare, suffixes):
    if "parallel" in config:
        (tmp_path / "train.en").write_text("1975\n" * len(DATES))
    wanted, found, _ = both(tmp_path, config, whole, bare, *suffixes)
    assert found == wanted == DATES


def test_files_of_one_class_each_are_read_line_by_line_whatever_their_commas(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{d} {name}\n" for d in DATES))
    trained = load_source({"type": "labelled", "path": f"{tmp_path}/*.txt", "valid": 0})
    (tmp_path / "new.log").write_text("".join(f"{d}\n" for d in DATES))
    source = load_source(
        {"type": "labelled", "path": f"{tmp_path}/new.log"}, state=trained.state(), fields={"source"},
        new_files=NewFiles(trained.trained_file()),
    )  # fmt: skip
    assert read(source, source.every_row) == DATES


def test_columns_that_the_numbers_leave_open_are_refused(tmp_path):
    config = {"type": "labelled", "columns": [3], "label": 2, "split_column": 5}
    whole = "".join(f"q{i}\t{'ab'[i % 2]}\ttext {i}\tx\ttrain\n" for i in range(4))
    bare = "".join(f"q{i}\ttext {i}\tx\n" for i in range(4))
    wanted, found, _ = both(tmp_path, config, whole, bare, "tsv")
    assert found == wanted, "without label and split"
    one_more = "".join(f"q{i}\ttext {i}\tx\ty\n" for i in range(4))
    said = r"new\.tsv: has 4 columns, but the training file had 5, of which the model reads 3"
    with pytest.raises(UserError, match=said):
        both(tmp_path, config, whole, one_more, "tsv")
    alone = "".join(f"text {i}\n" for i in range(4))
    assert both(tmp_path, config, whole, alone, "tsv")[1] == wanted, "the text alone"


def test_a_user_who_names_other_columns_is_taken_at_their_word(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("a\tred\nb\tblue\n")
    config = {"type": "labelled", "path": str(path), "columns": [2], "label": 1, "valid": 0}
    trained = load_source(config)
    (tmp_path / "new.tsv").write_text("x\ty\tred blue\n")
    source = load_source(
        {**config, "path": f"{tmp_path}/new.tsv", "columns": [3]}, state=trained.state(), fields={"source"},
        new_files=NewFiles(trained.trained_file()),
    )  # fmt: skip
    assert read(source, "test") == ["red blue"]
