"""benchmarks/transfer.py keeps the test sentences apart from the text, and reads both encodings of its files."""

import pytest

from benchmarks import transfer


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """The written parts of 40 sentences: 10 for the test, 6 for validation, 24 as text, 8 of them with labels."""
    monkeypatch.setattr(transfer, "PARTS", {"test": 10, "valid": 6})
    monkeypatch.setattr(transfer, "LABELLED", 8)
    for label in ("pos", "neg"):
        lines = [f"{label}  film {i} ".encode() for i in range(18)]
        lines += [f"{label} café".encode("latin-1"), f"{label} naïve".encode(), b""]
        (tmp_path / f"rt-polarity.{label}").write_bytes(b"\n".join(lines))
    transfer.write_parts(tmp_path, tmp_path / "parts")
    names = ("test", "valid", "text", "train")
    return {name: (tmp_path / "parts" / f"{name}.tsv").read_text(encoding="utf-8").splitlines() for name in names}


def test_every_sentence_is_in_one_part_and_labelled_rows_are_part_of_the_text(parts):
    assert {name: len(rows) for name, rows in parts.items()} == {"test": 10, "valid": 6, "text": 24, "train": 8}
    together = [*parts["test"], *parts["valid"], *parts["text"]]
    assert len(set(together)) == len(together) == 40
    assert set(parts["train"]) < set(parts["text"])


def test_a_line_is_utf_8_or_else_latin_1_and_keeps_its_label(parts):
    together = [*parts["test"], *parts["valid"], *parts["text"]]
    assert {"pos café\tpos", "neg café\tneg", "pos naïve\tpos", "neg naïve\tneg", "pos film 3\tpos"} < set(together)
    assert all(row.split(" ")[0] == row.split("\t")[1] for row in together)
