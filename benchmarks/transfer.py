"""Transfer: a classifier that begins with a masked language model, beside the same classifier from scratch.

python -m benchmarks.transfer [--data ../shared/data] [--folder transfer] [--seeds 1 2 3]

Film reviews (MR): 2,000 sentences for the test, 662 for validation, and 8,000 as text for ``masked_token``, of which
1,000 also have their labels for the classifier. Both arms have the same settings and the same learning rates to choose
from: each rate is tried with the first seed, and the rate with the highest validation accuracy at the last step gets
the other seeds. The test sentences are used only to evaluate the chosen runs. Every run is a folder in --folder/runs. A
run that has finished is not repeated, so a benchmark that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"

#: The sizes of the parts into which the shuffled sentences are cut, in this order. The rest is the text.
PARTS = {"test": 2000, "valid": 662}
LABELLED = 1000

#: Both the language model and the classifiers. Without positions, a masked word is predicted from the words of the
#: whole sentence in any order: its topic and tone rather than its grammar.
MODEL = ("model.dim=64", "mixer.heads=4", "position=none", "model.nodes.encoder.depth=1",
         "model.nodes.encoder.dropout=0.1")  # fmt: skip
COMMON = ("data=labelled", "data.valid=valid.tsv", "training.figures=false", "training.samples=0", "logger=none")
WORDS = ("data.tokeniser.type=words", "data.tokeniser.vocabulary=3000")

PRETRAINING = (
    "model=tagger", "objective=masked_token", "objective.share=0.5", "data.path=text.tsv", *WORDS, *MODEL,
    "model.nodes.output.tied=embedding", "optimiser.learning_rate=0.01", "training.batch=32", "training.steps=4000",
    "training.sort=true", "training.validate_every=1000", "training.checkpoint_every=500",
)  # fmt: skip
CLASSIFIER = (
    "model=seq2vec", "data.path=train.tsv", "data.test=test.tsv", *WORDS, *MODEL, "model.nodes.embedding.dropout=0.3",
    "training.batch=50", "training.steps=200", "training.validate_every=100",
)  # fmt: skip
ARMS = {"from scratch": (), "init.from": ("init.from=runs/pretrained/checkpoints/last.pt",)}
RATES = ("0.001", "0.003", "0.01")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder that has mr/rt-polarity.pos and .neg")
    parser.add_argument("--folder", type=Path, default=Path("transfer"), help="of the files and runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, help="of every run instead of its own, to try everything quickly")
    options = parser.parse_args(arguments)
    write_parts(options.data / "mr", options.folder)
    quick = () if options.steps is None else (f"training.steps={options.steps}",)
    train(options.folder, "pretrained", (*PRETRAINING, *COMMON, *quick))
    print(f"\n{'test accuracy':14} {'rate':>6} " + " ".join(f"{f'seed {seed}':>7}" for seed in options.seeds)
          + f" {'mean':>7} {'sd':>6}")  # fmt: skip
    for arm, own in ARMS.items():
        print(line(options.folder, arm, (*CLASSIFIER, *COMMON, *own, *quick), options.seeds), flush=True)


def write_parts(source: Path, folder: Path) -> None:
    """The sentences of both classes, shuffled with a fixed seed and cut into tab-separated files."""
    rows = [(text, label) for label in ("pos", "neg") for text in sentences(source / f"rt-polarity.{label}")]
    random.Random(0).shuffle(rows)
    folder.mkdir(parents=True, exist_ok=True)
    parts, begin = {}, 0
    for name, size in PARTS.items():
        parts[name], begin = rows[begin : begin + size], begin + size
    parts |= {"text": rows[begin:], "train": rows[begin : begin + LABELLED]}
    for name, part in parts.items():
        (folder / f"{name}.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in part), encoding="utf-8")


def sentences(path: Path) -> list[str]:
    """The lines of a file, each of which is UTF-8 or else latin-1."""
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text = line.decode("latin-1")
        if text.strip():
            found.append(" ".join(text.split()))
    return found


def line(folder: Path, arm: str, settings: Sequence[str], seeds: Sequence[int]) -> str:
    """The arm's line of the table: its best rate on the validation split, and the test accuracy of every seed."""

    def run(rate: str, seed: int) -> tuple[float, str]:
        name = f"{'scratch' if arm == 'from scratch' else 'transfer'}-{rate}-{seed}"
        return train(folder, name, (*settings, f"optimiser.learning_rate={rate}", f"seed={seed}")), name

    _, rate = max((run(rate, seeds[0])[0], rate) for rate in RATES)
    tested = [evaluate(folder, run(rate, seed)[1]) for seed in seeds]
    spread = statistics.stdev(tested) if len(tested) > 1 else float("nan")
    figures = " ".join(f"{accuracy:7.3f}" for accuracy in tested)
    return f"{arm:14} {rate:>6} {figures} {statistics.mean(tested):7.3f} {spread:6.3f}"


def train(folder: Path, name: str, settings: Sequence[str]) -> float:
    """Train a run, unless it has finished before; its validation accuracy at the last step, or nan without classes."""
    record = folder / "runs" / name / "run.json"
    if not (record.is_file() and json.loads(record.read_text(encoding="utf-8"))["status"] == "finished"):
        print("$ python train.py", shlex.join([*settings, f"name={name}"]), flush=True)
        python(folder, str(ROOT / "train.py"), *settings, f"name={name}")
    last = json.loads(record.read_text(encoding="utf-8"))["last"]
    print(f"  {name}: " + ", ".join(f"{key} {value:.4f}" for key, value in last.items()), file=sys.stderr, flush=True)
    return last.get("valid/accuracy", float("nan"))


def evaluate(folder: Path, name: str) -> float:
    """The accuracy of a run's last checkpoint on the test split."""
    said = python(
        folder, "-m", "composer", "evaluate", f"runs/{name}", "--checkpoint", "last", "--split", "test", "--json"
    )
    return json.loads(said)["metrics"]["accuracy"]["value"]


def python(folder: Path, *arguments: str) -> str:
    """What a Python process in the folder writes to its standard output; its errors stay visible."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
