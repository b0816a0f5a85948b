"""Files of a user's own, by the names that the comments of conf/experiment give them."""

import math
import wave

from tests.support import tables

SENTENCES = ["the old cat sat on a mat .", "one dog ran fast .", "we saw the cat !", "a man reads a book ."] * 8


def write_own_files(folder, image):
    """All of them, small, in one folder. A file has the columns of every experiment that reads one of its name."""
    tables.write_tables(folder)
    tables.write_captions(folder, image)
    pairs = [(text, text.upper()) for text in SENTENCES]
    for name in ("mine.tsv", "words.tsv"):
        tables.write(folder / name, "\t", ["source", "target"], pairs)
    labelled = [(text, "good" if i % 2 else "bad") for i, text in enumerate(SENTENCES)]
    for name in ("reviews.tsv", "text.tsv"):
        tables.write(folder / name, "\t", ["text", "label"], labelled)
    (folder / "book.txt").write_text("\n".join(SENTENCES * 40))
    numbers = [(i, round(math.sin(i / 5), 3), i % 7) for i in range(900)]
    tables.write(folder / "mine.csv", ",", ["hour", "load", "day"], numbers)
    slots = [(f"name[The {word}], food[fish]", f"The {word} serves fish .") for word in ("Mill", "Inn", "Oak", "Sun")]
    for name in ("trainset.csv", "devset.csv", "testset_w_refs.csv"):
        tables.write(folder / name, ",", ["mr", "ref"], slots * 4)
    rows = "\n\n".join(conllu(text) for text in SENTENCES) + "\n\n"
    for name in ("train.conllu", "dev.conllu", "en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "steps.conll"):
        (folder / name).write_text(rows)
    (folder / "glove.6B.50d.txt").write_text("".join(f"{word} 0.5 -0.25 1\n" for word in ("the", "cat", "dog")))
    write_recordings(folder)


def conllu(text):
    rows = [
        [str(i), word, word, "PUNCT" if word in ".!" else "WORD", *["_"] * 6] for i, word in enumerate(text.split(), 1)
    ]
    return "\n".join("\t".join(row) for row in rows)


def write_recordings(folder):
    """Tones in a folder for each class, and a table that names them."""
    rows = []
    for i in range(8):
        place = folder / "sounds" / ("low" if i % 2 else "high") / f"{i}.wav"
        place.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(place), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            turn = 2 * math.pi * (300 if i % 2 else 900) / 8000
            file.writeframes(
                b"".join(round(9000 * math.sin(turn * t)).to_bytes(2, "little", signed=True) for t in range(4000))
            )
        rows.append((str(place.relative_to(folder)), "low" if i % 2 else "high"))
    tables.write(folder / "recordings.csv", ",", ["file", "text"], rows)
