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


def test_the_point_of_the_grid_with_the_best_mean_validation_accuracy_is_tested(monkeypatch):
    accuracies = {("0.001", "1"): (0.6, 0.8), ("0.01", "1"): (0.9, 0.3), ("0.001", "0.1"): (0.65, 0.72)}
    trials = [
        transfer.Trial(f"{rate}-{share}-{seed}", rate, share, seed, accuracy)
        for (rate, share), found in accuracies.items()
        for seed, accuracy in enumerate(found, start=1)
    ]
    judged = {"0.001-1-1": 0.5, "0.001-1-2": 0.7}
    monkeypatch.setattr(transfer, "evaluate", lambda folder, name: judged.pop(name))
    found = transfer.tested(None, "from scratch", trials, [1, 2]).split()
    assert found == ["from", "scratch", "0.001", "1", "0.5000", "0.7000", "0.6000", "0.1414"]
    assert not judged, "no other run sees the test sentences"
