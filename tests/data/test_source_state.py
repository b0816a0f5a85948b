"""What a checkpoint keeps of a source rebuilds it: in another process, without its files, or over others."""

import json
import subprocess
import sys

import pytest
import torch

from composer.core.problems import UserError
from composer.data import load_source
from tests.support.data_files import rows, tone
from tests.support.paths import ROOT


def made(tmp_path):
    """One config of every kind of file, on files that can be taken away."""
    (tmp_path / "a.tsv").write_text("ab\tcd e\nba\tdc e\nbb\tdd e\n")
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(20)))
    (tmp_path / "a.conll").write_text("a X\n\nb Y\na X\n")
    (tmp_path / "a.txt").write_text("to be or not to be, that is the question")
    tone(tmp_path / "wav" / "a.wav")
    tone(tmp_path / "wav" / "b.wav", 400)
    path = str(tmp_path)
    return [
        {"type": "pairs", "path": f"{path}/a.tsv", "valid": 0, "tokeniser": {"type": "bpe", "vocabulary": 300}},
        {"type": "pairs", "path": f"{path}/a.tsv", "valid": 0, "tokeniser": {"type": "wordpiece"}},
        {"type": "pairs", "path": f"{path}/a.tsv", "valid": 0, "reverse_source": True},
        {"type": "labelled", "path": f"{path}/a.tsv", "valid": 0},
        {"type": "labelled", "path": f"{path}/a.csv", "valid": 0, "input": "vector", "header": True, "output": "value"},
        {"type": "vectors", "path": f"{path}/a.tsv", "valid": 0, "attributes": [1], "target": 2},
        {"type": "series", "path": f"{path}/a.csv", "length": 3, "horizon": 2},
        {"type": "tagged", "path": f"{path}/a.conll", "valid": 0},
        {"type": "text", "path": f"{path}/a.txt", "length": 4},
        {"type": "audio", "path": f"{path}/wav", "valid": 0},
        {"type": "dates", "locales": ["en"], "train_size": 5, "valid_size": 2},
        {"type": "dates", "target": "language", "train_size": 50, "valid_size": 2},
        {"type": "date_parts", "train_size": 50, "valid_size": 2},
        {"type": "names", "kinds": ["cities"]},
        {"type": "data_to_text", "meanings": 20},
        {"type": "dyck"},
        {"type": "tones", "output": "keys", "train_size": 5},
    ]  # fmt: skip


REBUILD = """
import json, sys, torch
from composer.data import load_source
from composer.core.signals import KINDS
for item in torch.load(sys.argv[1], weights_only=True):
    source = load_source(item["config"], state=item["state"])
    signals = {name: KINDS[kind](*values) for name, (kind, *values) in item["batch"].items()}
    fields = [field.__dict__ for field in source.fields.values()]
    print(json.dumps([str(fields), {name: source.show(name, signal) for name, signal in signals.items()}]))
"""


@pytest.mark.slow
def test_a_source_is_rebuilt_from_plain_data_in_another_process_without_its_files(tmp_path):
    items, expected = [], []
    for config in made(tmp_path):
        source = load_source(config)
        batch = source.batch("train", [0, 1])
        values = {n: [s.kind, *((s.values, s.lengths) if s.timed else (s.values,))] for n, s in batch.items()}
        items.append({"config": config, "state": source.state(), "batch": values})
        expected.append(
            [str([f.__dict__ for f in source.fields.values()]), {n: source.show(n, s) for n, s in batch.items()}]
        )
    torch.save(items, tmp_path / "state.pt")
    for path in [*tmp_path.glob("a.*"), *tmp_path.glob("wav/*")]:
        path.unlink()
    command = [sys.executable, "-c", REBUILD, str(tmp_path / "state.pt")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected


def test_a_restored_source_keeps_its_vocabulary_on_other_files(tmp_path):
    (tmp_path / "a.tsv").write_text("ab\tc\n")
    state = load_source({"type": "pairs", "path": f"{tmp_path}/a.tsv", "valid": 0}).state()
    (tmp_path / "b.tsv").write_text("az\tc\n")
    later = load_source({"type": "pairs", "path": f"{tmp_path}/b.tsv", "valid": 0}, state=state)
    assert later.fields["source"].contents.tokens[3:] == ("a", "b")
    assert rows(later, "train", "source") == ["a<unk>"]
    with pytest.raises(UserError, match="other data"):
        load_source({"type": "text", "path": f"{tmp_path}/b.tsv"}, state=state)
