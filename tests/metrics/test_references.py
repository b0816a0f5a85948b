"""Texts are scored as texts: against the words of the user's file, never against <unk>."""

import random

import pytest
import torch

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core.problems import ConfigError
from composer.core.signals import Contents, Field, Ids, Label
from composer.data import load_source
from composer.data.source import SPLITS
from composer.data.tokenisers.tokeniser import Tokeniser, Tokenising
from composer.metrics import evaluate
from composer.metrics.metric import UNMATCHED
from tests.support.metrics import SMALL, generates, metric, seen, value

#: Each word of the valid and test files occurs in the training file, but for the rare ones.
COMMON = ["one", "two", "three", "four", "five"]
RARE = ["Zürich's", "e-mail", "wood-chuck", "日本語", "<unk>", "12,5"]


@pytest.fixture
def files(tmp_path):
    rng = random.Random(0)
    lines = {split: [] for split in SPLITS}
    for split, rare in zip(SPLITS, (0.0, 0.15, 0.15), strict=True):
        for _ in range(40 if split == "train" else 12):
            words = [rng.choice(RARE if rng.random() < rare else COMMON) for _ in range(rng.randint(4, 7))]
            lines[split].append(" ".join(words))
        (tmp_path / f"{split}.tsv").write_text("".join(f"{i % 7}\t{line}\n" for i, line in enumerate(lines[split])))
    return tmp_path, lines


def section(folder, **tokeniser):
    places = {"path": f"{folder}/train.tsv", "valid": f"{folder}/valid.tsv", "test": f"{folder}/test.tsv"}
    return {"type": "pairs", **places, "target_tokeniser": {"unknown": 0.25, **tokeniser}}


@pytest.mark.parametrize("kind", ["words", "bpe", "wordpiece", "characters", "bytes"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_a_known_text_is_spelled_as_its_tokens_are_shown(kind, lowercase):
    texts = ["One, two  three!", " four 'five' 6.5 ", "日本語 e-mail"]
    known = Tokeniser.learn(Tokenising(type=kind, lowercase=lowercase, vocabulary=400), lambda: texts)
    for text in texts:
        assert known.unknown not in known.encode([text])[0]
        assert known.decode(known.encode([text])[0]) == known.spelled(text)
    if kind in ("words", "wordpiece"):  # an unknown word is the only difference
        new = "One, NEWWORD three!"
        assert known.decode(known.encode([new])[0]).replace("<unk>", "NEWWORD".lower() if lowercase else "NEWWORD") == (
            known.spelled(new)
        )


def test_references_keep_the_words_of_the_file_in_every_split(files):
    folder, lines = files
    source = load_source(section(folder, type="words", punctuation=False, vocabulary=8))
    unknown = source.fields["target"].contents.tokens.index("<unk>")
    for split in SPLITS:
        rows = torch.randperm(len(lines[split]), generator=torch.Generator().manual_seed(1))
        texts = source.references("target", split, rows)
        ids = source.batch(split, rows)["target"]
        shown = source.show("target", ids)
        for place, row in enumerate(rows.tolist()):
            wanted = lines[split][row]
            assert texts[place] == ([] if shown[place] == wanted else [wanted]), "kept where tokens are not enough"
            assert shown[place] == wanted or unknown in ids.values[place, : ids.counts[place]]
    assert source.references("nothing", "valid", [0]) is None


def test_a_row_cut_to_a_length_is_scored_against_its_whole_text(files):
    folder, lines = files
    source = load_source(section(folder, type="words", punctuation=False, max_length=4))
    assert source.show("target", source.batch("valid", [0])["target"])[0].split() != lines["valid"][0].split()
    assert source.references("target", "valid", [0]) == [[lines["valid"][0]]]


def test_a_mixture_finds_the_texts_of_its_sources(files):
    folder, lines = files
    both = {name: {"path": f"{folder}/{name}.tsv"} for name in ("train", "test")}
    each = {**section(folder, type="words", punctuation=False, vocabulary=8), "test": 0.0}
    source = load_source({"type": "mixture", "sources": both, "each": each})
    size = len(lines["valid"])
    texts = source.references("target", "valid", [size + 3, 2, size + 2])
    alone = load_source(section(folder, type="words", punctuation=False, vocabulary=8)).references(
        "target", "valid", [3, 2]
    )
    assert texts == [alone[0], alone[1], alone[1]]
    assert any(texts)


TOKENS = ("<sos>", "<eos>", "<unk>", "a", "b", "c", "d")
FIELD = Field("ids", vocabulary=7, start=0, stop=1, contents=Contents(tokens=TOKENS, special=(0, 1, 2), text=True))


def predicted(references, *rows):
    """A view of predictions, rows of ids of one length, with these references."""

    def show(signal):
        return [" ".join(TOKENS[i] for i in row if i > 1) for row in signal.values.tolist()]

    found = Ids(torch.tensor(rows))
    view = seen(found, found, field=FIELD, show=show)
    view.__dict__["references"] = references  # where ``texts`` of the data would be asked
    return view


def test_a_predicted_unknown_matches_nothing():
    for wanted in ("a <unk> c d", "a rare c d", "a bunk c d"):
        view = predicted([[wanted]], [3, 2, 5, 6])
        assert value(metric("exact", FIELD, aligned=False), view) == 0
        assert value(metric("wer", FIELD, aligned=False), view) == pytest.approx(1 / 4)
        assert view.found_texts == [f"a <{3 * UNMATCHED}> c d"]
    right = predicted([["a b c d"]], [3, 4, 5, 6])
    assert value(metric("exact", FIELD, aligned=False), right) == 1
    # No n-gram of characters of "<unk>" is found in a text, either.
    bunk = predicted([["unk"]], [2, 2, 2, 2])
    assert value(metric("chrf", FIELD, aligned=False), bunk) == 0
    assert value(metric("cer", FIELD, aligned=False), bunk) > 1


@pytest.mark.parametrize("punctuation", [False, True])
def test_evaluation_compares_with_the_file_and_not_with_tokens(files, punctuation, monkeypatch):
    """A graph that says <unk> wherever the target has it is not right, however it is batched."""
    folder, lines = files
    overrides = [f"data.{key}={folder}/{name}.tsv" for key, name in (("path", "train"), ("valid", "valid"))]
    words = f"{{type: words, vocabulary: 9, punctuation: {str(punctuation).lower()}}}"
    graph, objective = compile_config(compose(["data=pairs", *overrides, f"data.target_tokeniser={words}", *SMALL]))
    graph = graph.materialise()
    batches = [objective.batch("valid", rows) for rows in (range(0, 5), range(5, 12))]
    answers = iter([batch.signals["target"] for batch in batches])

    generates(monkeypatch, lambda *_: next(answers))
    found = evaluate(graph, objective, batches, samples=12)
    rare = [any(word in RARE for word in line.split()) for line in lines["valid"]]
    assert 0 < sum(rare) < len(rare)
    assert found.values["exact"] == pytest.approx(1 - sum(rare) / len(rare))
    assert [sample["right"] for sample in found.samples] == [not some for some in rare]
    if not punctuation:
        assert [sample["wanted"] for sample in found.samples] == lines["valid"]


def test_labels_are_shown_as_before():
    places = torch.arange(2)
    view = seen(Label(places), Label(places), show=lambda signal: [f"<unk>{i}" for i in signal.values.tolist()])
    assert view.found_texts == view.wanted_texts == ["<unk>0", "<unk>1"]


def write_grouped(folder):
    rows = ["a\tone two", "b\tthree", "a\tone  Two", "c\tfour rare", "b\tthree", "a\tfive"]
    (folder / "train.tsv").write_text("a\tone two three four five\nbc\tone one\n" * 9)
    (folder / "valid.tsv").write_text("".join(f"{row}\n" for row in rows))
    return {"type": "pairs", "path": f"{folder}/train.tsv", "valid": f"{folder}/valid.tsv",
            "target_tokeniser": {"type": "words", "punctuation": False}, "references": "grouped"}  # fmt: skip


def test_rows_of_the_same_input_are_one_row_with_several_references(tmp_path):
    source = load_source(write_grouped(tmp_path))
    assert (source.size("train"), source.size("valid")) == (18, 3)
    found = source.references("target", "valid", [2, 0, 1])
    assert found == [["four rare"], ["one two", "one Two", "five"], []], "in the order of the file, each text once"
    batch = source.batch("valid", [0, 1, 2])
    assert source.show("source", batch["source"]) == ["a", "b", "c"]
    assert source.show("target", batch["target"])[:2] == ["one two", "three"]
    assert [row.values["source"] for row in source.written("valid")] == ["a", "b", "c"]
    # rows without targets, to predict, stay as they are
    given = load_source(write_grouped(tmp_path) | {"path": f"{tmp_path}/valid.tsv", "valid": 0.0},
                        state=source.state(), fields={"source"})  # fmt: skip
    assert given.size("test") == 6


def test_evaluation_counts_an_input_once_and_any_of_its_texts_as_right(tmp_path, monkeypatch):
    section = write_grouped(tmp_path)
    words = "data.target_tokeniser={type: words, punctuation: false}"
    overrides = [f"data.path={section['path']}", f"data.valid={section['valid']}", "data.references=grouped", words]
    graph, objective = compile_config(compose(["data=pairs", *overrides, *SMALL]))
    answers = objective.encode("target", ["five", "two", "four one"])
    batch = objective.batch("valid", range(3))
    generates(monkeypatch, lambda *_: answers)
    found = evaluate(graph.materialise(), objective, [batch], keep=True)
    assert found.values["exact"] == pytest.approx(1 / 3)
    assert found.values["wer"] == pytest.approx((0 + 1 + 1) / (1 + 1 + 2))
    assert found.signatures["bleu"].startswith("nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert found.signatures["chrf"].startswith("nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    assert set(found.signatures) == {"bleu", "chrf"}


def test_a_table_groups_by_all_other_fields(tmp_path):
    (tmp_path / "rows.csv").write_text("x,y,t\n" + "1,2,p\n1,3,q\n1,2,r\n" * 2)
    text = {"type": "text", "column": "t", "references": "grouped"}
    fields = {"x": {"type": "number", "column": "x"}, "y": {"type": "number", "column": "y"}, "t": text}
    section = {"type": "table", "path": f"{tmp_path}/rows.csv", "valid": f"{tmp_path}/rows.csv", "fields": fields}
    (tmp_path / "valid.csv").write_text((tmp_path / "rows.csv").read_text())
    source = load_source(section | {"valid": f"{tmp_path}/valid.csv"})
    assert source.references("t", "valid", [0, 1]) == [["p", "r"], []]
    with pytest.raises(ConfigError, match=r"data\.fields\.t\.references"):
        load_source(section | {"fields": {"t": text}})
