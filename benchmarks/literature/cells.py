"""The published figures. Values are shares, not per cent."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.literature.cell import BEST, MEAN, Cell, Checked, Paper, Rule, scaled_best

GRAZZI = Paper(
    "Grazzi et al., 2025", "Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues", "2411.12537",
    "Table 3", "scaled accuracy, 1 without an error and 0 for guessing, of the best of 3 runs",
    "trained on lengths 3 to 40, tested on 40 to 256",
    "fewer steps and narrower models; training asks for the value after every step (`aligned: training`); numbers are "
    "added and subtracted, not multiplied; the rates of every arm are tuned; the best of the study's seeds",
    "in the text of the paper",
)  # fmt: skip
DELETANG = Paper(
    "Delétang et al., 2023", "Neural Networks and the Chomsky Hierarchy", "2207.02098", "Table 2",
    "accuracy over lengths 41 to 500, the highest of 10 seeds, three rates and, for the transformer, five encodings of "
    "position; a task is solved from 0.9 on",
    "lengths 1 to 40, batches of 128, a million steps of Adam; the transformer has 5 blocks of width 64",
    "500 steps of 32 sequences (modular arithmetic, which does not multiply: 1,200 of 64) instead of a million of 128, "
    "3 seeds, a transformer of 2 blocks with one encoding of "
    "position, the rate chosen on the validation split, not by the score; "
    "training asks for the answer after every step of the regular tasks (`aligned: training`), the paper for the last "
    "alone",
    "the text has 0.619 for cycle navigation, and that all networks but transformers solve all regular tasks with all "
    "seeds (Appendix B.1); six tasks are quoted in Table 5 of DeltaFormer (Xu et al., 2025)",
)  # fmt: skip
OKPEKPE = Paper(
    "Okpekpe and Orvieto, 2025", "Revisiting associative recall in modern recurrent models", "2508.19029",
    "Table 2 and Figure 2", "accuracy over all queries, mean of 5 seeds at the best rate",
    "8,192 tokens, sequences of 64 to 512 with 4 to 64 pairs, 100,000 examples, 50 epochs, widths 64 to 2,048",
    "fewer tokens and pairs, one width, fewer examples",
    "in the text of version 2: 2 % and 99 % with one layer (Table 2); with two, attention always solves the task",
)  # fmt: skip
FENG = Paper(
    "Feng et al., 2024", "Were RNNs All We Needed?", "2410.01201",
    "its results on selective copying and on Shakespeare",
    "mean over seeds: accuracy of copying, test loss of characters of Shakespeare",
    "copying: sequences of 4,096 steps; Shakespeare: four times the width of the arms here",
    "copying: 256 steps; Shakespeare: a quarter of the width; one run each, in the gallery, with an interval over its "
    "examples",
    "as the gallery cites them",
)  # fmt: skip
DELTANET = Paper(
    "Yang et al., 2024", "Parallelizing Linear Transformers with the Delta Rule over Sequence Length", "2406.06484",
    "its table of the MAD benchmark",
    "accuracy by the protocol of MAD (Poli et al., 2403.17844), over its difficulties",
    "MAD's, which varies vocabulary, length and number of examples",
    "one difficulty of each task, and called so",
    "as an author's page on DeltaNet quotes the table",
)  # fmt: skip

MISSING_MLSTM = "the block mLSTM"
MISSING_DELTA = "the block DeltaNet"
MISSING_NEGATIVE = "negative eigenvalues in the block selective"
NOT_SLSTM = "the arm is an LSTM: gates of sLSTM are exponential, and its state is normalised"
SIX_TASKS = "six tasks are run"
TWO_TASKS = "two tasks are run"
SLOW_SUM = "the scan of `selective` is too slow for 77,000 examples on two cores"
SLOW_SCAN = "the scan of `selective` is too slow for six tasks on two cores"
IS_MAMBA = "the mixer selective: Mamba's S6 with its convolution and gate"

#: Model of the paper, its arm, what the arm waits for, and how the two differ; then parity, modular arithmetic without
#: and with brackets.
STATE_TRACKING = (
    ("transformer", "attention", "", "", (0.022, 0.031, 0.067)),
    ("mLSTM", None, MISSING_MLSTM, "", (0.087, 0.040, 0.114)),
    ("sLSTM", "lstm", "", NOT_SLSTM, (1.000, 0.787, 0.178)),
    ("Mamba", "selective", "", IS_MAMBA, (0.000, 0.095, 0.123)),
    ("Mamba [-1, 1]", None, MISSING_NEGATIVE, "", (1.000, 0.241, 0.116)),
    ("DeltaNet", None, MISSING_DELTA, "", (0.017, 0.314, 0.194)),
    ("DeltaNet [-1, 1]", None, MISSING_DELTA, "", (1.000, 0.971, 0.260)),
)  # fmt: skip
TRACKED = (("parity", 0.5), ("modular_arithmetic", 0.2), ("modular_arithmetic_brackets", 0.2))

#: Task, its chance, the scores of RNN, LSTM and transformer, and where those of the recurrences and of the transformer
#: were seen.
CHOMSKY: tuple[tuple[str, float, tuple[float, float, float], Checked, Checked], ...] = (
    ("parity", 0.5, (1.000, 1.000, 0.520), "quoted", "quoted"),
    ("modular_arithmetic", 0.2, (1.000, 1.000, 0.242), "quoted", "quoted"),
    ("even_pairs", 0.5, (1.000, 1.000, 0.964), "text", "cited"),
    ("cycle_navigation", 0.2, (1.000, 1.000, 0.619), "text", "text"),
    ("stack_manipulation", 0.5, (0.560, 0.591, 0.575), "quoted", "quoted"),
    ("reverse", 0.5, (0.620, 0.609, 0.623), "quoted", "quoted"),
    ("odds_first", 0.5, (0.510, 0.556, 0.528), "quoted", "quoted"),
    ("duplicate", 0.5, (0.503, 0.576, 0.528), "quoted", "quoted"),
)  # fmt: skip

MAD = (
    ("compression", (0.516, 0.527)), ("fuzzy_recall", (0.298, 0.067)), ("in_context_recall", (0.941, 0.904)),
    ("memorisation", (0.852, 0.895)), ("noisy_recall", (0.868, 0.901)), ("selective_copying", (0.996, 0.863)),
)  # fmt: skip


def _state_tracking() -> list[Cell]:
    return [
        Cell(
            "state_tracking", GRAZZI, model, task, goal, f"{arm}_{task}" if arm is not None else None,
            scaled_best(chance), Rule(within=0.1), "text", chance=0.0, waits_for=waits, stands_for=stands,
            left_out=_left_out(arm, task),
        )
        for model, arm, waits, stands, goals in STATE_TRACKING
        for (task, chance), goal in zip(TRACKED, goals, strict=True)
    ]  # fmt: skip


def _left_out(arm: str | None, task: str) -> str:
    if task == "modular_arithmetic_brackets":
        return TWO_TASKS
    return SLOW_SUM if (arm, task) == ("selective", "modular_arithmetic") else ""


def _chomsky() -> list[Cell]:
    models = (("RNN", "rnn"), ("LSTM", "lstm"), ("transformer", "attention"))
    return [
        Cell(
            "chomsky", DELETANG, model, task, goal, f"{arm}_{task}", BEST, Rule(within=0.1),
            attention if arm == "attention" else recurrence, by_sequence=True, chance=chance,
            left_out=SIX_TASKS if task in ("cycle_navigation", "duplicate") else "",
        )
        for task, chance, goals, recurrence, attention in CHOMSKY
        for (model, arm), goal in zip(models, goals, strict=True)
    ]  # fmt: skip


def _recall() -> list[Cell]:
    rows = (
        ("attention, one layer", "attention_1_layer", 0.02),
        ("attention and a short convolution, one layer", "attention_conv_1_layer", 0.99),
        ("attention, two layers", "attention_2_layers", 1.00),
    )
    return [
        Cell("recall", OKPEKPE, model, "multi_query_recall", goal, arm, MEAN, Rule(solved=0.95), "text", chance=0.21)
        for model, arm, goal in rows
    ]


def _mad() -> list[Cell]:
    return [
        Cell(
            "mad", DELTANET, model, task, goal, f"{arm}_{task}", MEAN, Rule(within=0.1), "quoted",
            stands_for=IS_MAMBA if arm == "selective" else "", left_out=SLOW_SCAN if arm == "selective" else "",
        )
        for task, goals in MAD
        for (model, arm), goal in zip((("transformer", "attention"), ("Mamba", "selective")), goals, strict=True)
    ]  # fmt: skip


def _feng() -> list[Cell]:
    copying = Cell(
        "selective_copying", FENG, "minGRU", "selective_copying", 0.995, "mingru", MEAN, Rule(at_least=0.02), "cited",
        gallery=("selective_copying", "minGRU"),
        known="States that last longer from the start (timescale) gave 0.942 after 10,000 steps: see docs/gallery.md.",
    )  # fmt: skip
    shakespeare = Cell(
        "shakespeare", FENG, "minGRU", "shakespeare", 1.548, "mingru", MEAN, Rule(at_most=0.05), "cited", "test/loss",
        gallery=("mingru", "minGRU"),
        known="The arm has a quarter of the paper's width; minLSTM of that width, and the transformer with five times "
        "the steps, are within 0.05 of theirs.",
    )  # fmt: skip
    longer = ("mingru", "transformer, 5 times the steps")
    return [
        copying,
        replace(copying, model="minLSTM", goal=0.960, arm="minlstm", gallery=("selective_copying", "minLSTM")),
        shakespeare,
        replace(shakespeare, model="minLSTM", goal=1.555, arm="minlstm", gallery=("minlstm", "minLSTM")),
        replace(shakespeare, model="transformer", goal=1.547, arm="attention", gallery=longer),
    ]


EASIER = "Ours is better, because it is one easy setting; the paper's is the mean over its difficulties."

#: What is known about misses, by cell.
KNOWN = {
    "state_tracking/slstm/modular_arithmetic": "The sum without products is an easier task: two of three seeds make no "
    "error on it. With products, an LSTM of twice the width was still learning after 1,500 steps.",
    "chomsky/transformer/even_pairs": "The arm has one encoding of position and 500 steps; the paper's figure "
    "is the best of five encodings.",
    "chomsky/transformer/reverse": "It is right at chance beyond the lengths of training, after 500 steps.",
    "mad/transformer/compression": "Its loss stays on a plateau from step 200 on, where that of minGRU in the same "
    "graph goes on falling; no other setting was tried.",
    "mad/transformer/fuzzy_recall": EASIER,
    "mad/transformer/noisy_recall": EASIER,
    "mad/transformer/memorisation": "Examples are drawn without end, so that every key is seen hundreds of times; the "
    "paper has few examples.",
    "state_tracking/mamba/parity": "The best seed is right in 171 of 300 test sequences, the others in 156 and 155; "
    "chance is within the interval of the mean.",
}

CELLS: tuple[Cell, ...] = tuple(
    replace(cell, known=KNOWN.get(cell.id, cell.known))
    for cell in (*_state_tracking(), *_chomsky(), *_recall(), *_mad(), *_feng())
)

STUDIES = tuple(dict.fromkeys(cell.study for cell in CELLS))
