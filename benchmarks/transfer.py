"""Transfer: a classifier that begins with a masked language model, beside the same classifier from scratch.

python -m benchmarks.transfer [--recipe bag] [--data ../shared/data] [--folder transfer] [--seeds 1 2 3]

Film reviews (MR): 2,000 sentences for the test, 662 for validation, and 8,000 as text for ``masked_token``, of which
1,000 also have their labels for the classifier. There is one pretrained model for all seeds. Both arms have the same
settings and the same grid of learning rates, at which the embedding learns, too, or ten times more slowly: every point
of the grid is tried with all seeds, and the point with the highest mean accuracy on the validation sentences at the
last step is chosen. The test sentences are used only to evaluate the chosen runs. Every run is a folder in
--folder/runs. A run that has finished is not repeated, so a benchmark that was interrupted goes on where it was.
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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"

#: The sizes of the parts into which the shuffled sentences are cut, in this order. The rest is the text.
PARTS = {"test": 2000, "valid": 662}
LABELLED = 1000

COMMON = ("data=labelled", "data.valid=valid.tsv", "data.tokeniser.type=words", "data.tokeniser.vocabulary=5000",
          "training.figures=false", "training.samples=0", "logger=none", "trainer.threads=1")  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """Overrides of train.py.

    model: of both the language model and the classifiers
    pretraining, classifier: of the language model, and of the classifiers of both arms
    """

    model: tuple[str, ...]
    pretraining: tuple[str, ...]
    classifier: tuple[str, ...]


RECIPES = {
    # A masked word is predicted from the mean of the vectors of the sentence, as in CBOW with the sentence as window.
    "bag": Recipe(
        model=("model.dim=128", "mixer=pooling", "mixer.window=129", "ffn=none", "norm=none", "position=none",
               "model.nodes.encoder.depth=1"),
        pretraining=("objective.share=0.5", "objective.masked=1", "objective.random=0", "optimiser.learning_rate=0.01",
                     "training.batch=64", "training.steps=2500"),
        classifier=("model.nodes.embedding.dropout=0.3", "training.batch=50", "training.steps=200"),
    ),
}  # fmt: skip

PRETRAINING = (
    "model=tagger", "objective=masked_token", "data.path=text.tsv", "model.nodes.output.tied=embedding",
    "training.sort=true", "training.validate_every=500", "training.checkpoint_every=500",
)  # fmt: skip
CLASSIFIER = ("model=seq2vec", "data.path=train.tsv", "data.test=test.tsv", "training.validate_every=100")
ARMS = {"from scratch": (), "init.from": ("init.from=runs/pretrained/checkpoints/last.safetensors",)}

#: The grid of both arms: the rate of the head, and the rate of the embedding as a share of that of the head.
RATE, SHARE = "optimiser.learning_rate", "optimiser.layer_decay"
RATES = ("0.0003", "0.001", "0.003", "0.01")
SHARES = ("1", "0.1")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", choices=RECIPES, default="bag", help="the model and the settings of both arms")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder that has mr/rt-polarity.pos and .neg")
    parser.add_argument("--folder", type=Path, default=Path("transfer"), help="of the files and runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, help="of every run instead of its own, to try everything quickly")
    options = parser.parse_args(arguments)
    write_parts(options.data / "mr", options.folder)
    recipe = RECIPES[options.recipe]
    quick = () if options.steps is None else (f"training.steps={options.steps}",)
    train(options.folder, "pretrained", (*PRETRAINING, *COMMON, *recipe.model, *recipe.pretraining, *quick))
    classifier = (*CLASSIFIER, *COMMON, *recipe.model, *recipe.classifier, *quick)
    grids = {arm: grid(options.folder, arm, (*classifier, *own), options.seeds) for arm, own in ARMS.items()}
    for arm, trials in grids.items():
        print("\n" + validated(arm, trials))
    print(f"\n{'test accuracy':14} {'rate':>6} {'share':>6} "
          + " ".join(f"{f'seed {seed}':>7}" for seed in options.seeds) + f" {'mean':>7} {'sd':>6}")  # fmt: skip
    for arm, trials in grids.items():
        print(tested(options.folder, arm, trials, options.seeds), flush=True)


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


@dataclass(frozen=True)
class Trial:
    """A run of the grid: its folder under runs/, its settings, and its validation accuracy at the last step."""

    name: str
    rate: str
    share: str
    seed: int
    accuracy: float


def grid(folder: Path, arm: str, settings: Sequence[str], seeds: Sequence[int]) -> list[Trial]:
    """Train every point of the grid with every seed, by one sweep."""
    sweep = "scratch" if arm == "from scratch" else "transfer"
    axes = {RATE: RATES, SHARE: SHARES, "seed": [str(seed) for seed in seeds]}
    choices = [f"{key}={','.join(values)}" for key, values in axes.items()]
    command = ["-m", *settings, *choices, f"name={sweep}"]
    print("$ python train.py", shlex.join(command), flush=True)
    python(folder, str(ROOT / "train.py"), *command)
    trials = []
    for record in sorted((folder / "runs" / sweep).glob("*/run.json")):
        found = json.loads(record.read_text(encoding="utf-8"))
        said = dict(override.split("=", 1) for override in found["overrides"])
        name, accuracy = f"{sweep}/{record.parent.name}", found["last"]["valid/accuracy"]
        trials.append(Trial(name, said[RATE], said[SHARE], int(said["seed"]), accuracy))
    return trials


def mean_accuracies(trials: Sequence[Trial]) -> dict[tuple[str, str], float]:
    """The mean validation accuracy over the seeds, by the rate and the share of it."""
    points: dict[tuple[str, str], list[float]] = {}
    for trial in trials:
        points.setdefault((trial.rate, trial.share), []).append(trial.accuracy)
    return {point: statistics.mean(found) for point, found in points.items()}


def validated(arm: str, trials: Sequence[Trial]) -> str:
    """The arm's mean validation accuracies, a line for every share."""
    means = mean_accuracies(trials)
    lines = [f"{'valid, ' + arm:24}" + " ".join(f"{rate:>7}" for rate in RATES)]
    for share in SHARES:
        lines.append(f"{'share ' + share:24}" + " ".join(f"{means[rate, share]:7.3f}" for rate in RATES))
    return "\n".join(lines)


def tested(folder: Path, arm: str, trials: Sequence[Trial], seeds: Sequence[int]) -> str:
    """The arm's line of the table: the best point of its grid on validation, and the test accuracy of every seed."""
    means = mean_accuracies(trials)
    rate, share = max(means, key=lambda point: means[point])
    chosen = {trial.seed: trial.name for trial in trials if (trial.rate, trial.share) == (rate, share)}
    found = [evaluate(folder, chosen[seed]) for seed in seeds]
    spread = statistics.stdev(found) if len(found) > 1 else float("nan")
    figures = " ".join(f"{accuracy:7.4f}" for accuracy in found)
    return f"{arm:14} {rate:>6} {share:>6} {figures} {statistics.mean(found):7.4f} {spread:6.4f}"


def train(folder: Path, name: str, settings: Sequence[str]) -> None:
    """Train a run, unless it has finished before."""
    record = folder / "runs" / name / "run.json"
    if not (record.is_file() and json.loads(record.read_text(encoding="utf-8"))["status"] == "finished"):
        print("$ python train.py", shlex.join([*settings, f"name={name}"]), flush=True)
        python(folder, str(ROOT / "train.py"), *settings, f"name={name}")
    last = json.loads(record.read_text(encoding="utf-8"))["last"]
    print(f"  {name}: " + ", ".join(f"{key} {value:.4f}" for key, value in last.items()), file=sys.stderr, flush=True)


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
