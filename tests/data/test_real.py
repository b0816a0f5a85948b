"""Real files of every kind, as users bring them. They are no part of the project: where they are absent, it is said."""

import csv
import os
from pathlib import Path

import pytest
import torch

from composer.batching import Batches
from composer.data import SPLITS, load_source
from tests.support.data_files import rows
from tests.support.padding import padding
from tests.support.paths import ROOT

DATA = Path(os.environ.get("COMPOSER_TEST_DATA", ROOT.parent / "shared" / "data"))

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no folder '{DATA}' with real data; name one in COMPOSER_TEST_DATA"
)


def sizes(source):
    return [source.size(split) for split in SPLITS]


@pytest.mark.slow
def test_pairs_english_to_french(tmp_path):
    with (DATA / "eng_fra/fra.txt").open(encoding="utf-8", newline="\n") as file:
        lines = list(file)[::7]
    (tmp_path / "fra.txt").write_text("".join(lines), encoding="utf-8", newline="\n")
    source = load_source({"type": "pairs", "path": f"{tmp_path}/fra.txt"})
    assert sizes(source) == [18359, 2040, 0]
    shown = zip(rows(source, "train", "source"), rows(source, "train", "target"), strict=True)
    assert {"\t".join(pair) + "\n" for pair in shown} <= set(lines)
    assert padding(Batches(source, "train", tokens=4000)) < 0.25


@pytest.mark.slow
def test_tagged_universal_dependencies():
    path = f"{DATA}/ud_ewt/en_ewt-ud-"
    source = load_source({"type": "tagged", "path": f"{path}dev.conllu", "valid": f"{path}test.conllu"})
    assert sizes(source) == [2001, 2077, 0]
    assert source.fields["target"].vocabulary == 17  # the universal tags
    batch = source.batch("train", [0])
    assert source.show("source", batch["source"]) == ["From the AP comes this story :"]
    assert source.show("target", batch["target"]) == ["ADP DET PROPN VERB DET NOUN PUNCT"]


def test_labelled_names_by_file():
    source = load_source({"type": "labelled", "path": f"{DATA}/names/*.txt"})
    assert sum(sizes(source)) == 20050
    assert source.fields["target"].vocabulary == 18
    assert {"Portuguese", "Russian"} <= set(source.fields["target"].contents.tokens)


@pytest.mark.slow
def test_labelled_reviews_in_latin_1():
    config = {
        "type": "labelled",
        "path": f"{DATA}/mr/rt-polarity.*",
        "encoding": "latin-1",
        "tokeniser": {"type": "words"},
    }
    source = load_source(config)
    assert sum(sizes(source)) == 2 * 5331
    assert source.fields["target"].contents.tokens == ("neg", "pos")
    labels = source.batch("valid", range(source.size("valid")))["target"].values
    assert 0.4 < float(labels.double().mean()) < 0.6


def test_series_of_an_oil_temperature():
    source = load_source({"type": "series", "path": f"{DATA}/ett/ETTh1.csv", "valid": 0.2, "forecast": ["OT"]})
    assert source.fields["source"].dim == 7  # the date is left out
    assert source.fields["target"].dim == 1
    assert sizes(source) == [17420 - 3484 - 96 - 24 + 1, 3484 - 24 + 1, 0]
    assert rows_of_text(source, "train", 0).startswith("5.827 2.009 1.599 0.462 4.203 1.34 30.53;")
    values = source.batch("train", range(0, source.size("train"), 96))["source"].values
    torch.testing.assert_close(values.mean((0, 1)), torch.zeros(7), atol=0.02, rtol=0)


def test_a_series_without_gaps_has_all_its_windows():
    path = DATA / "ett" / "ETTh1.csv"
    values = torch.tensor([[float(c) for c in line.split(",")[1:]] for line in path.read_text().splitlines()[1:]])
    source = load_source({"type": "series", "path": str(path), "test": 0.2, "valid": 0.1})
    ends = [len(values) - round(0.3 * len(values)), len(values) - round(0.2 * len(values)), len(values)]
    scale = values[: ends[0]].double().mean(0).float(), values[: ends[0]].double().std(0, correction=0).float()
    starts = {"train": 0, "valid": ends[0] - 96, "test": ends[1] - 96}
    for (split, start), end in zip(starts.items(), ends, strict=True):
        rows = [0, 100, end - start - 120]
        assert source.size(split) == end - start - 120 + 1
        batch = source.batch(split, rows)
        for index, row in enumerate(rows):
            wanted = (values[start + row : start + row + 120] - scale[0]) / scale[1]
            torch.testing.assert_close(torch.cat([batch["source"].values, batch["target"].values], 1)[index], wanted)
    assert source.times("target", "test", [ends[2] - starts["test"] - 120], 24)[0][-1] == "2018-06-26 19:00:00"


def rows_of_text(source, split, row):
    return source.show("source", source.batch(split, [row])["source"])[0]


@pytest.mark.slow
def test_vectors_of_restaurants():
    config = {"type": "vectors", "path": f"{DATA}/e2e/devset.csv", "valid": f"{DATA}/e2e/testset_w_refs.csv"}
    source = load_source({**config, "slots": "mr", "target": "ref", "tokeniser": {"type": "words"}})
    assert sizes(source) == [4672, 4693, 0]
    assert source.fields["source"].kind == "vec"
    written = (DATA / "e2e/devset.csv").read_text(encoding="utf-8").splitlines()[1].split('"')[1]
    assert set(rows_of_text(source, "train", 0).split(", ")) == set(written.split(", "))


@pytest.mark.slow
def test_restaurants_have_several_references():
    config = {"type": "vectors", "path": f"{DATA}/e2e/devset.csv", "valid": f"{DATA}/e2e/testset_w_refs.csv"}
    source = load_source({**config, "slots": "mr", "target": "ref", "references": "grouped"})
    assert sizes(source) == [4672, 630, 0], "the test set is known for 630 inputs"
    with (DATA / "e2e/testset_w_refs.csv").open(encoding="utf-8", newline="") as file:
        texts = {}
        for row in csv.DictReader(file):
            texts.setdefault(row["mr"], {})[row["ref"]] = None
    wanted = [list(some) for some in texts.values()]
    found = source.references("target", "valid", range(630))
    assert [own for own in found if len(own) > 1] == [some for some in wanted if len(some) > 1]


@pytest.mark.slow
def test_audio_of_spoken_digits():
    source = load_source({"type": "audio", "path": f"{DATA}/fsdd/?_jackson_*.wav", "label": "name",
                          "valid": f"{DATA}/fsdd/?_jackson_[0-4].wav"})  # fmt: skip
    assert sizes(source) == [450, 50, 0]
    assert source.fields["target"].contents.tokens == tuple("0123456789")
    batch = source.batch("valid", range(50))
    assert batch["source"].values.shape[2] == 40
    assert bool(batch["source"].values.isfinite().all())


@pytest.mark.slow
def test_text_of_shakespeare():
    source = load_source({"type": "text", "path": f"{DATA}/tinyshakespeare/input.txt", "length": 64})
    assert source.fields["target"].vocabulary == 3 + 65
    text = (DATA / "tinyshakespeare/input.txt").read_text()
    assert source.size("train") == 1003854 // 64  # nine tenths of the characters, as nanoGPT cuts them
    assert "".join(rows(source, "valid", "target")) == text[1003854:]


@pytest.mark.slow
def test_pronunciations_of_words():
    source = load_source({"type": "pronunciations", "path": f"{DATA}/cmudict/cmudict.dict", "limit": 5000})
    assert source.fields["target"].vocabulary == 3 + 69  # 24 consonants, 15 vowels with three stresses each
    held = set(rows(source, "valid", "source"))
    assert held
    assert not held & set(rows(source, "train", "source"))
