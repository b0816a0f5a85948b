"""Files that a person would have for each experiment over declared fields, and what they ask of its model."""

import csv

import torch

SMALL = [
    "model.dim=16", "training.steps=4", "training.batch=8", "training.figures=false", "logger=none", "mixer.heads=2",
    "data.valid=0.2",
]  # fmt: skip

PEOPLE, DEEDS = ["a man", "a woman", "two boys", "the dog"], ["sleeps", "runs fast", "eats soup", "plays outside"]

#: Experiment -> the file that it reads, its given fields, and what it predicts.
EXPERIMENTS = {
    "entailment": ("pairs.tsv", ["premise", "hypothesis"], ["label"]),
    "captions": ("captions.csv", ["picture"], ["caption"]),
    "intents": ("utterances.tsv", ["words"], ["tags", "intent"]),
    "static_features": ("shops.csv", ["history", "features"], ["value"]),
    "tagger": ("utterances.tsv", ["words", "letters"], ["tags"]),
}

#: What an experiment needs besides, to be as small as the others.
BESIDES = {
    "tagger": ["mixer=attention", "model.nodes.spelling.dim=8"],
    "captions": [
        "data=table",
        "+data.fields={picture: {type: image, column: file, size: [32, 32]}, "
        "caption: {type: text, column: caption, tokeniser: {type: words, lowercase: true}}}",
    ],
}

#: What a person types on the command line for one row of each.
TYPED = {
    "entailment": ["premise=a man sleeps", "hypothesis=a man runs fast"],
    "captions": ["shots/1.png"],
    "intents": ["fly to Rome tomorrow"],
    "static_features": ["history=1 2 3 4", "features=size=3, region=north"],
    "tagger": ["fly to Zanzibar today"],
}


def write_tables(folder):
    write(folder / "pairs.tsv", "\t", ["premise", "hypothesis", "label"], entailment())
    intents = [
        ("fly to Rome", "O O B-city", "flight"), ("book a table in Paris", "O O O O B-city", "meal"),
        ("fly to New York today", "O O B-city I-city B-day", "flight"), ("eat now", "O B-day", "meal"),
    ]  # fmt: skip
    write(folder / "utterances.tsv", "\t", ["words", "tags", "intent"], intents * 6)
    shops = [
        (" ".join(str(i + step) for step in range(3 + i % 4)), 1 + i % 3, ["north", "south", ""][i % 3], 2.5 * i)
        for i in range(24)
    ]
    write(folder / "shops.csv", ",", ["history", "size", "region", "value"], shops)


def write_captions(folder, image):
    """A table of pictures, which stand in a folder beside the table."""
    (folder / "shots").mkdir(exist_ok=True)
    colours = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
    captions = []
    for i in range(12):
        name = list(colours)[i % 3]
        image.new("RGB", (12 + i % 2, 9), colours[name]).save(folder / "shots" / f"{i}.png")
        captions.append((f"shots/{i}.png", f"A {name} wall, seen {'twice' if i % 2 else 'once'}."))
    write(folder / "captions.csv", ",", ["file", "caption"], captions)


def entailment():
    draw = torch.Generator().manual_seed(0)
    for _ in range(30):
        who, deed, other = (int(torch.randint(4, (), generator=draw)) for _ in range(3))
        premise = f"{PEOPLE[who]} {DEEDS[deed]}"
        label = "entailment" if other == deed else "neutral" if other == 3 else "contradiction"
        yield premise, f"{PEOPLE[who]} {DEEDS[other]}", label


def write(path, delimiter, names, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([names, *rows])
