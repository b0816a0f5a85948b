"""A run of every family: its config, files to train on, and what a person asks of it."""

import json
import math

import torch

SMALL = ["model.dim=16", "training.steps=6", "training.batch=16", "training.figures=false", "logger=none"]
WORDS = ["red", "green", "blue", "black", "white", "pink"]


def sentences(count, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [" ".join(WORDS[i] for i in torch.randint(6, (4,), generator=draw).tolist()) for _ in range(count)]


def write_files(folder):
    """A small file for every kind of data that is the user's own."""
    texts = sentences(60)
    (folder / "text.txt").write_text("\n".join(texts * 4))
    (folder / "pairs.tsv").write_text("".join(f"{t}\t{' '.join(t.split()[::-1])}\n" for t in texts))
    (folder / "labelled.tsv").write_text("".join(f"{t}\t{t.split()[0]}\n" for t in texts))
    tagged = ("".join(f"{word} {word[0].upper()}\n" for word in t.split()) for t in texts)
    (folder / "tagged.conll").write_text("\n".join(tagged))
    waves = (
        f"2018-01-{i // 24 + 1:02} {i % 24:02}:00,{math.sin(i / 3):.4f},{5 + 2 * math.cos(i / 3):.4f}\n"
        for i in range(200)
    )
    (folder / "series.csv").write_text("time,a,b\n" + "".join(waves))
    meals = (f"{i % 7},{WORDS[i % 3]},{t}\n" for i, t in enumerate(texts))
    (folder / "meals.csv").write_text("stars,colour,text\n" + "".join(meals))


ENCODER, DECODER = "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1"
FAMILIES = {
    "language_model": ["model=language_model", "objective=next_token", "data=text", "data.path=text.txt",
                       "data.length=24", "mixer.heads=2", DECODER],
    "seq2seq": ["data=pairs", "data.path=pairs.tsv", "data.tokeniser.type=characters", "mixer.heads=2",
                "cross.heads=2", ENCODER, DECODER],
    "vec2seq": ["model=vec2seq", "data=vectors", "data.path=meals.csv", "data.attributes=[stars,colour]", "mixer=gru"],
    "seq2vec": ["model=seq2vec", "data=labelled", "data.path=labelled.tsv", "mixer=mingru"],
    "tagger": ["model=tagger", "data=tagged", "data.path=tagged.conll", "mixer=lstm"],
    "forecaster": ["data=series", "data.path=series.csv", "data.length=12", "data.horizon=4", "embedding=continuous",
                   "head=gaussian", "model.nodes.output.variance=learned", "mixer=gru", "cross.heads=2", DECODER],
    "masked": ["model=tagger", "objective=masked_token", "data=text", "data.path=text.txt", "data.length=24",
               "mixer.heads=2", ENCODER],
    "copy": ["data=copy", "data.length=6", "data.symbols=5", "data.valid_size=40", "mixer=gru", DECODER],
    "two_heads": ["model=seq2vec", "data=labelled", "data.path=labelled.tsv", "mixer=gru",
                  "+model.nodes.second={kind: head, type: categorical, from: pool, predicts: target}"],
}  # fmt: skip
GENERATING = ("language_model", "seq2seq", "vec2seq", "copy")

#: What a person types for each, and files without what is to be predicted.
TYPED = {
    "language_model": ["red gre", "blue"],
    "seq2seq": ["red green", "pink blue black"],
    "vec2seq": ["stars=3, colour=red", "colour[green], stars[1]"],
    "seq2vec": ["red green", "blue"],
    "tagger": ["red green", "pink"],
    "forecaster": ["; ".join(f"0.{i} 5.{i}" for i in range(10)), "0 5; 1 5; 0 6"],
    "masked": ["red g[MASK]een", "[MASK]lue"],
    "copy": ["1 2 3", "4"],
    "two_heads": ["red green", "blue"],
}
UNLABELLED = {
    "language_model": ("new.txt", "red green blue red pink black red"),
    "seq2seq": ("new.tsv", "red green\nblue\nred white\n"),
    "vec2seq": ("new.csv", "stars,colour\n3,red\n1,violet\n"),
    "seq2vec": ("new.tsv", "red green\nblue\n"),
    "tagger": ("new.conll", "red\ngreen\n\npink\n"),
    "forecaster": ("new.csv", "time,a,b\n" + "".join(f"2019-03-01 {i}:00,0.{i},5\n" for i in range(14))),
    "masked": ("new.txt", "red green blue red pink black"),
}
ROWS = {"language_model": 2, "seq2seq": 3, "vec2seq": 2, "seq2vec": 2, "tagger": 2, "forecaster": 3, "masked": 2}


def lines(text):
    return [json.loads(line) for line in text.splitlines()]
