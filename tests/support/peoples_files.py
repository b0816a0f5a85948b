"""Files in the forms that people have: public data sets and exports of spreadsheets, small and made here.

Each case has the files, the path that a person gives to ``composer data``, what the person would have the model read,
and a file without targets to predict from.
"""

import json
import math
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.support.data_files import tone

GOOD = ["a fine film", "I liked this story a lot", "funny and clever", "well worth the money", "she plays it so well"]
POOR = ["a waste of time", "the plot is dull", "I fell asleep at once", "badly written and worse", "no jokes at all"]
NOUNS = ["cat", "dog", "house", "river", "teacher", "garden", "book", "train", "lamp", "mill", "baker", "boat"]


@dataclass(frozen=True)
class Case:
    """
    files: name -> text; a text that begins with "tone" is a recording
    given: the path for ``composer data``
    model: the template that fits
    reads: keys of the section ``data`` that say which columns are read, with the values that a person would choose
    new: the name and text of a file without targets
    inputs: for each row of the new file that is looked at, the inputs that ``predict`` has to have read
    typed: overrides that a person adds to the printed command, having read the notes
    """

    files: dict[str, str]
    given: str
    model: str
    reads: dict[str, object]
    new: tuple[str, str]
    inputs: list[dict[str, object]]
    typed: tuple[str, ...] = ()
    encoding: str = "utf-8"
    unread: tuple[str, ...] = field(default=())  # columns that the output names as not read

    def write(self, folder):
        for name, text in self.files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if text == "tone":
                tone(place, seconds=0.05)
            else:
                place.write_bytes(text.encode(self.encoding))


def texts(count=60):
    """Pairs of a text and whether it is a good one, all different."""
    draw = random.Random(0)
    return [
        (f"{draw.choice(GOOD if i % 2 else POOR)} , {draw.choice(NOUNS)} and {draw.choice(NOUNS)} {i}", bool(i % 2))
        for i in range(count)
    ]


def hours(count, start="2010-01-01", skip=()):
    """Consecutive hours, without those of some numbers."""
    first = datetime.fromisoformat(start)
    return [(i, first + timedelta(hours=i)) for i in range(count) if i not in set(skip)]


def wave(i, period=24.0):
    return round(10 + 3 * math.sin(2 * math.pi * i / period) + i % 5 / 7, 2)


def csv(rows, between=","):
    return "".join(between.join(map(str, row)) + "\n" for row in rows)


def beijing():
    """Hourly pollution: a row number, the parts of the date in columns, NA in the measurement, and hours left out."""
    head = ["No", "year", "month", "day", "hour", "pm2.5", "DEWP", "TEMP", "cbwd"]
    rows = [
        (
            i + 1,
            t.year,
            t.month,
            t.day,
            t.hour,
            "NA" if i < 24 or i == 300 else wave(i),
            -int(wave(i)),
            wave(i, 60),
            "NW",
        )
        for i, t in hours(700, skip=range(400, 420))
    ]
    return csv([head, *rows])


def air_quality(count=420, targets=True):
    """A European spreadsheet: semicolons, decimal commas, date and time apart, empty columns and rows at the end."""
    head = ["Date", "Time", "CO(GT)", "PT08.S1(CO)", "T", "", ""]

    def row(i, t):
        number = str(wave(i) / 4).replace(".", ",")
        return [f"{t:%d/%m/%Y}", f"{t:%H}.00.00", "-200" if i == 50 else number, 1000 + i % 90, f"{i % 30},5", "", ""]

    rows = [row(i, t) for i, t in hours(count, "2004-03-10")]
    return csv([head, *rows, [""] * 7, [""] * 7], ";")


def daily():
    """A daily price with the date first; weekends are left out."""
    first = datetime(2015, 1, 1)
    days = [first + timedelta(days=i) for i in range(700)]
    return csv([["date", "price"], *((f"{d:%Y-%m-%d}", wave(i)) for i, d in enumerate(days) if d.weekday() < 5)])


def questions():
    """The label first, up to the first space, as in TREC."""
    draw = random.Random(1)
    said = [("LOC:city", "What is the capital of"), ("HUM:ind", "Who wrote the"), ("NUM:date", "When was built the")]
    return "".join(f"{label} {words} {draw.choice(NOUNS)} {i} ?\n" for i in range(60) for label, words in [said[i % 3]])


def spam():
    """A label, a tab and the message, with quotation marks that quote nothing, in latin-1."""
    return csv([("ham" if good else "spam", f'"{text} for £{i}') for i, (text, good) in enumerate(texts())], "\t")


def movies():
    """Several genres in a cell."""
    genres = ["Drama", "Comedy", "Horror", "Romance", "War"]
    draw = random.Random(2)
    rows = [
        (f"tt{1000 + i}", f'"{text}"', '"' + ", ".join(draw.sample(genres, draw.choice([1, 2, 3]))) + '"')
        for i, (text, _) in enumerate(texts(80))
    ]
    return csv([["id", "plot", "genre"], *rows])


def inflection(first, count):
    """A lemma, its form, and its features, without a header or a suffix, as in SIGMORPHON."""
    stems = [
        a + b for a in ("sag", "mach", "lern", "koch", "spiel", "hol", "dreh") for b in ("", "el", "er", "ig", "t")
    ]
    forms = [("te", "V;IND;PST;1;SG"), ("st", "V;IND;PRS;2;SG"), ("en", "V;NFIN"), ("t", "V;IND;PRS;3;SG")]
    rows = [(f"{stem}en", stem + end, tags) for stem in stems for end, tags in forms]
    random.Random(3).shuffle(rows)
    return csv(rows[first : first + count], "\t")


def entities(count):
    """Names and places in IOB, a word on a line, documents marked as in CoNLL 2003."""
    draw = random.Random(4)
    names, places = ["Anna", "Bert", "Clara", "Dora"], ["Rome", "Oslo", "Bern"]
    blocks = [
        f"{draw.choice(names)} NNP B-PER\nsaw VBD O\nthe DT O\n{draw.choice(NOUNS)} NN O\nin IN O\n"
        f"{draw.choice(places)} NNP B-LOC\n. . O\n"
        for _ in range(count)
    ]
    return "-DOCSTART- -X- O\n\n" + "\n".join(blocks)


def universal(count):
    draw = random.Random(5)
    rows = []
    for i in range(count):
        rows.append(f"# sent_id = {i}")
        for place, (word, tag) in enumerate([("The", "DET"), (draw.choice(NOUNS), "NOUN"), ("sleeps", "VERB")], 1):
            rows.append("\t".join([str(place), word, word.lower(), tag, *"______"]))
        rows.append("")
    return "\n".join(rows) + "\n"


def wine():
    """Numbers with a class at the end, semicolons between, and a missing value."""
    draw = random.Random(6)
    head = ['"fixed acidity"', '"pH"', '"alcohol"', '"quality"']
    rows = [
        ("NA" if i == 7 else round(7 + draw.random(), 1), round(3 + draw.random() / 2, 2), 9.5 + i % 3, 5 + i % 3)
        for i in range(90)
    ]  # fmt: skip
    return csv([head, *rows], ";")


def sentences():
    """Two languages and where the pair comes from, as tatoeba writes them."""
    return csv(
        [
            (
                f"The {a} and the {b} .",
                f"Le {a} et le {b} !",
                f"CC-BY 2.0 (France) Attribution: tatoeba.org #{i} & #{i + 7}",
            )
            for i, (a, b) in enumerate((a, b) for a in NOUNS for b in NOUNS[:5])
        ],
        "\t",
    )


REVIEWS = [
    {"reviewerID": f"A{i}", "reviewText": text, "sentiment": "good" if good else "bad"}
    for i, (text, good) in enumerate(texts())
]
LABELLED = [[text, "good" if good else "bad"] for text, good in texts()]
PARALLEL = {
    f"pairs/{split}.{language}": "".join(f"{word} {a} {b} .\n" for a in NOUNS[:n] for b in NOUNS[-n:])
    for split, n in (("train", 8), ("val", 3), ("test_2016_flickr", 3))
    for language, word in (("de", "ein"), ("en", "a"))
}
TONES = {
    f"sounds/{digit}_{who}_{n}.wav": "tone" for digit in range(3) for who in ("ann", "bob", "cy") for n in range(2)
}
INFLECTED = {"train-medium": (0, 100), "dev": (100, 20), "test": (120, 20)}
SPLITS = {
    f"splits/{name}.csv": csv([["text", "label"], *([f'"{text}"', label] for text, label in LABELLED[at::3])])
    for at, name in enumerate(("train", "valid", "test"))
}

SOURCE = {"LOC:city": "What is the capital of Peru ?", "HUM:ind": "Who wrote the letter ?"}

CASES = {
    "row number, parts of the date, NA, hours left out": Case(
        {"beijing.csv": beijing()}, "beijing.csv", "forecaster", {"channels": ["pm2.5", "DEWP", "TEMP"]},
        ("new.csv", beijing()), [], unread=("No", "year", "cbwd"),
    ),
    "semicolons, decimal commas, date and time apart, a sentinel": Case(
        {"AirQuality.csv": air_quality()}, "AirQuality.csv", "forecaster",
        {"channels": ["CO(GT)", "PT08.S1(CO)", "T"]}, ("new.csv", air_quality(200)), [],
        typed=("data.missing=[-200]",),
    ),
    "business days": Case(
        {"prices.csv": daily()}, "prices.csv", "forecaster", {"channels": ["price"]}, ("new.csv", daily()), [],
    ),
    "label first": Case(
        {"questions.label": questions()}, "questions.label", "seq2vec", {"source": 2, "target": 1},
        ("new.txt", csv([[text] for text in SOURCE.values()])), [{"source": text} for text in SOURCE.values()],
    ),
    "label first, quotation marks, latin-1": Case(
        {"SMSSpam": spam()}, "SMSSpam", "seq2vec", {"source": 2, "target": 1},
        ("new.tsv", 'he said "well" for £3\n'), [{"source": 'he said "well" for £3'}], encoding="latin-1",
    ),
    "a JSON array of objects": Case(
        {"reviews.json": json.dumps(REVIEWS)}, "reviews.json", "seq2vec",
        {"source": "reviewText", "target": "sentiment"},
        ("new.json", json.dumps([{"reviewText": "funny and clever"}])), [{"source": "funny and clever"}],
        unread=("reviewerID",),
    ),
    "a JSON array of lists": Case(
        {"rows.json": json.dumps(LABELLED)}, "rows.json", "seq2vec", {"source": 1, "target": 2},
        ("new.json", json.dumps([["funny and clever"]])), [{"source": "funny and clever"}],
    ),
    "a folder of parallel files": Case(
        PARALLEL, "pairs", "seq2seq",
        {"path": "pairs/train.de", "parallel": "en", "valid": "pairs/val.de", "test": "pairs/test_2016_flickr.de"},
        ("new.de", "ein cat boat .\n"), [{"source": "ein cat boat ."}],
    ),
    "several labels in a cell": Case(
        {"movies.csv": movies()}, "movies.csv", "seq2vec", {"source": "plot", "target": "genre"},
        ("new.csv", 'id,plot\ntt1,"funny, and clever"\n'), [{"source": "funny, and clever"}], unread=("id",),
    ),
    "speakers in the names of recordings": Case(
        TONES, "sounds", "seq2vec", {"path": "sounds", "split_by": "speaker"}, ("new/1_dan_0.wav", "tone"), [{}],
    ),
    "inflection in three columns, splits without suffixes": Case(
        {f"german-{split}": inflection(*rows) for split, rows in INFLECTED.items()},
        "german-train-medium", "seq2seq", {"valid": "german-dev", "test": "german-test"},
        ("new.tsv", "sagen\tV;NFIN\n"), [],
    ),
    "entities in CoNLL": Case(
        {"train.txt": entities(40), "valid.txt": entities(8), "test.txt": entities(6)}, "train.txt", "tagger",
        {"words": 1, "tags": 3, "valid": "valid.txt", "test": "test.txt"},
        ("new.txt", "Anna\nsaw\nOslo\n\nBert\nslept\n"), [{"source": ["Anna", "saw", "Oslo"]}],
    ),
    "CoNLL-U": Case(
        {"en-ud-train.conllu": universal(40), "en-ud-dev.conllu": universal(5)}, "en-ud-train.conllu", "tagger",
        {"valid": "en-ud-dev.conllu"}, ("new.conllu", universal(2)), [],
    ),
    "a folder of splits": Case(
        SPLITS, "splits", "seq2vec", {"source": "text", "target": "label", "valid": "splits/valid.csv"},
        ("new.csv", "text\nfunny and clever\n"), [{"source": "funny and clever"}],
    ),
    "numbers, a class, NA": Case(
        {"wine.csv": wine()}, "wine.csv", "seq2vec",
        {"source": ["fixed acidity", "pH", "alcohol"], "target": "quality"},
        ("new.csv", '"fixed acidity";"pH";"alcohol"\n7.1;3.2;9.9\n'), [{"source": [7.1, 3.2, 9.9]}],
    ),
    "two languages and an attribution": Case(
        {"fra.txt": sentences()}, "fra.txt", "seq2seq", {"source": 1, "target": 2},
        ("new.txt", "The boat .\n"), [{"source": "The boat ."}],
    ),
}  # fmt: skip
