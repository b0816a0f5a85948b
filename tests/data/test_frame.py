"""Special tokens before and after every text: [CLS] a b c [SEP]."""

import pytest

from composer.core.problems import ConfigError
from composer.data import load_source
from composer.data.codecs.codec import id_rows
from composer.objectives import load_objective

FRAME = ["[CLS]", "[SEP]"]
TEXTS = "the cat sat\tx\na dog\ty\nwe saw the old cat\tz\n"
KINDS = ["words", "characters", "bytes", "bpe", "wordpiece"]


def pairs(folder, **tokeniser):
    (folder / "a.tsv").write_text(TEXTS)
    options = {"type": "words", "vocabulary": 400, **tokeniser}
    return load_source({"type": "pairs", "path": f"{folder}/a.tsv", "valid": 0, "tokeniser": options})


def names(source, field, signal):
    tokens = source.fields[field].contents.tokens
    return [[tokens[i] for i in row] for row in id_rows(signal)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_frame_is_all_that_changes(tmp_path, kind):
    plain, framed = (pairs(tmp_path, type=kind, frame=frame) for frame in (None, FRAME))
    rows, inside = (names(s, "source", s.batch("train", range(3))["source"]) for s in (plain, framed))
    assert inside == [["[CLS]", *row[:-1], "[SEP]", "<eos>"] for row in rows]
    shown = framed.show("source", framed.batch("train", range(3))["source"])
    assert shown == plain.show("source", plain.batch("train", range(3))["source"])
    known = framed.fields["source"].contents
    assert {known.tokens[i] for i in known.special} >= {"[CLS]", "[SEP]"}


def test_a_longest_text_keeps_its_frame(tmp_path):
    source = pairs(tmp_path, frame=FRAME, max_length=5)
    assert names(source, "source", source.batch("train", [2])["source"]) == [["[CLS]", "we", "saw", "[SEP]", "<eos>"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("specials", [None, ["[MASK]"]])
def test_the_tokens_of_the_frame_are_never_masked(tmp_path, kind, specials):
    source = pairs(tmp_path, type=kind, frame=FRAME, specials=specials)
    objective = load_objective(
        {"type": "masked_token", "field": "source", "share": 1.0, "masked": 1.0, "random": 0.0}, source
    )
    for row in names(objective, "source", objective.batch("train", range(3)).signals["source"]):
        assert row[0] == "[CLS]"
        assert row[-2:] == ["[SEP]", "<eos>"]
        assert set(row[1:-2]) == {"[MASK]"}


def test_a_typed_mask_stands_inside_of_the_frame(tmp_path):
    objective = load_objective({"type": "masked_token", "field": "source"}, pairs(tmp_path, frame=FRAME))
    typed = objective.encode("source", ["[MASK] cat [MASK]", "the [MASK]", "dog"])
    assert names(objective, "source", typed) == [
        ["[CLS]", "[MASK]", "cat", "[MASK]", "[SEP]", "<eos>"],
        ["[CLS]", "the", "[MASK]", "[SEP]", "<eos>"],
        ["[CLS]", "dog", "[SEP]", "<eos>"],
    ]
    assert objective.show("source", typed) == ["[MASK] cat [MASK]", "the [MASK]", "dog"]


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_every_window_of_a_running_text_has_the_frame(tmp_path, kind):
    (tmp_path / "a.txt").write_text("the old cat sat on a mat and saw one dog run\n" * 3)
    config = {"type": "text", "path": f"{tmp_path}/a.txt", "valid": 0.3, "length": 9}
    plain, framed = (load_source({**config, "tokeniser": {"type": kind, "frame": frame}}) for frame in (None, FRAME))
    assert plain.running
    assert not framed.running, "a state cannot be carried over the frame"
    assert not load_source({**config, "stride": 9, "tokeniser": {"type": kind, "frame": FRAME}}).running
    for split in ("train", "valid"):
        rows = range(framed.size(split))
        windows = names(framed, "target", framed.batch(split, rows)["target"])
        assert framed.lengths(split, rows)["target"].tolist() == [len(row) for row in windows]
        assert all(row[0] == "[CLS]" and row[-1] == "[SEP]" and len(row) <= 9 for row in windows)
        whole = [
            t for row in names(plain, "target", plain.batch(split, range(plain.size(split)))["target"]) for t in row
        ]
        inside = [token for row in windows for token in row[1:-1]]
        shorter = min(len(inside), len(whole))
        assert inside[:shorter] == whole[:shorter]
        assert split == "train" or len(inside) == len(whole)


@pytest.mark.parametrize(
    ("tokeniser", "said"),
    [
        ({"frame": ["[CLS]"]}, ["frame", "two tokens", "not 1"]),
        ({"frame": ["[CLS]", "SEP"]}, ["frame", "'SEP'", "[SEP]"]),
        ({"frame": ["<sos>", "[SEP]"]}, ["frame", "'<sos>'"]),
        ({"frame": FRAME, "max_length": 3}, ["max_length", "3", "4"]),
    ],
)
def test_what_is_no_frame_is_refused(tmp_path, tokeniser, said):
    with pytest.raises(ConfigError) as error:
        pairs(tmp_path, **tokeniser)
    assert all(word in str(error.value) for word in said), error.value
