"""The systems of the gallery: their arms, the figures that they quote, and what these have to reach.

In overrides, {files} is the folder that files.py writes, and {data} the folder of the data sets.
"""

from __future__ import annotations

from dataclasses import dataclass

SHAKESPEARE = ("data=text", "data.path={data}/tinyshakespeare/input.txt")
BOOK = ("data=text", "data.path={files}/timemachine.txt")
REVIEWS = (
    "data=labelled", "data.path={files}/mr-train.tsv", "data.valid={files}/mr-valid.tsv",
    "data.test={files}/mr-test.tsv", "data.tokeniser.type=words",
)  # fmt: skip
FRENCH = (
    "data=pairs", "data.path={files}/fra-train.tsv", "data.valid={files}/fra-valid.tsv",
    "data.test={files}/fra-test.tsv", "data.tokeniser.type=words", "data.tokeniser.punctuation=false",
    "training.steps=4000",
)  # fmt: skip
DIGITS = (
    "data=audio", "data.path={files}/digits/train", "data.valid={files}/digits/valid", "data.test={files}/digits/test",
    "data.pattern='{{digit}}_{{speaker}}_{{take}}.wav'", "data.label=digit",
)  # fmt: skip
SERIES = ("data=series", "data.path={files}/ett-hours.csv", "data.length=96", "data.horizon=96", "data.valid=0.2",
          "data.test=0.2")  # fmt: skip
PRONUNCIATIONS = (
    "data=pairs", "data.path={files}/cmu-train.tsv", "data.valid={files}/cmu-valid.tsv",
    "data.test={files}/cmu-test.tsv", "data.references=grouped", "data.tokeniser.type=characters",
    "data.target_tokeniser={{type: words}}",
)  # fmt: skip
RESTAURANTS = (
    "data.path={data}/e2e/trainset.csv", "data.valid={data}/e2e/devset.csv", "data.test={data}/e2e/testset_w_refs.csv",
)  # fmt: skip
TREEBANK = tuple(
    f"data.{key}={{data}}/ud_ewt/en_ewt-ud-{part}.conllu"
    for key, part in (("path", "train"), ("valid", "dev"), ("test", "test"))
)

#: Metrics of translations; they are of beam search of width 4, on the whole test set and on its longer sentences.
TRANSLATION = ("bleu", "chrf", "exact")
BEAM = ("--beams", "4")
LONG = (("8 words and more", ("data.test={files}/fra-long.tsv", *BEAM)),)


@dataclass(frozen=True)
class Goal:
    """A figure that an arm has to reach."""

    metric: str
    most: float | None = None
    least: float | None = None

    def reached(self, value: float) -> bool:
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)

    def __str__(self) -> str:
        return (
            f"{self.metric} at most {self.most:g}"
            if self.most is not None
            else f"{self.metric} at least {self.least:g}"
        )


@dataclass(frozen=True)
class Arm:
    """One run of a system.

    figures: the metrics that the page quotes
    evaluation: more options of `composer evaluate`
    also: further evaluations, each a name and the options or overrides of `composer evaluate`; their figures are quoted
        as "bleu, long sentences"
    """

    name: str
    overrides: tuple[str, ...]
    figures: tuple[str, ...]
    split: str = "valid"
    goal: Goal | None = None
    evaluation: tuple[str, ...] = ()
    also: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class System:
    """A named system, by its name in conf/experiment.

    data: what the arms are trained on
    published: the figure of the paper, or of another implementation, and its conditions
    """

    name: str
    data: str
    arms: tuple[Arm, ...]
    published: str = ""


SYSTEMS = (
    System(
        "char_rnn", "The Time Machine, 26 letters and the space",
        tuple(Arm(mixer, (*BOOK, f"mixer={mixer}"), ("perplexity", "bits_per_character"),
                  goal=Goal("perplexity", most=6) if mixer == "lstm" else None) for mixer in ("lstm", "gru", "rnn")),
        "perplexity 1.0 on the training text itself after 500 epochs (Dive into Deep Learning); none held out",
    ),
    System(
        "gpt", "tiny Shakespeare, characters; the last tenth is held out",
        (Arm("characters", SHAKESPEARE, ("loss", "bits_per_character"), goal=Goal("loss", most=1.88)),),
        "loss 1.88 (nanoGPT, the same recipe)",
    ),
    System(
        "sentiment", "film reviews (MR); 8,000 sentences to train, 2,000 to test",
        (Arm("bi-LSTM", REVIEWS, ("accuracy", "macro_f1"), "test", Goal("accuracy", least=0.74)),),
        "accuracy 0.761 (CNN with random vectors, 10-fold; Kim, 2014)",
    ),
    System(
        "sentiment_cnn", "film reviews (MR), as for sentiment",
        (Arm("CNN", REVIEWS, ("accuracy", "macro_f1"), "test"),),
        "accuracy 0.761 (10-fold; Kim, 2014)",
    ),
    System(
        "tf_idf", "film reviews (MR), as for sentiment", (Arm("TF-IDF", REVIEWS, ("accuracy", "macro_f1"), "test"),),
    ),
    System(
        "bag_of_words", "film reviews (MR), as for sentiment",
        (Arm("counts", REVIEWS, ("accuracy", "macro_f1"), "test"),),
    ),
    System(
        "speech_rnn", "spoken digits (FSDD); takes 0 to 4 of every digit and speaker are the test set",
        (Arm("GRU", DIGITS, ("accuracy",), "test", Goal("accuracy", least=0.95)),),
    ),
    System(
        "speech_cnn", "spoken digits (FSDD), as for speech_rnn",
        (Arm("CNN", DIGITS, ("accuracy",), "test", Goal("accuracy", least=0.95)),),
    ),
    System(
        "sutskever", "English to French, at most 10 words; 40,000 pairs to train, 2,000 to test",
        (
            Arm("source reversed", (*FRENCH, "data.reverse_source=true"), TRANSLATION, "test", None, BEAM, LONG),
            Arm("source in order", FRENCH, TRANSLATION, "test", None, BEAM, LONG),
        ),
        "BLEU 17.82 without attention and 26.75 with it, for sentences of up to 50 words (Bahdanau et al., 2015)",
    ),
    System(
        "bahdanau", "English to French, as for sutskever",
        (Arm("attention", FRENCH, TRANSLATION, "test", None, BEAM, LONG),),
        "BLEU 26.75 for sentences of up to 50 words (Bahdanau et al., 2015)",
    ),
    System(
        "luong", "reversing integers from 0 to 49, 1 to 25 of them; English to French, as for sutskever",
        (
            Arm("reversing", (), ("wer", "exact"), "test"),
            Arm("English to French", FRENCH, TRANSLATION, "test", None, BEAM, LONG),
        ),
        "95 BLEU when reversing (JoeyNMT's tutorial, bi-LSTM of width 64)",
    ),
    System(
        "vaswani", "English to French, as for sutskever",
        (Arm("transformer", FRENCH, TRANSLATION, "test", None, BEAM, LONG),),
        "BLEU 38.1 on WMT 2014 (base model; Vaswani et al., 2017)",
    ),
    System(
        "tagger", "parts of speech in UD English (EWT), its own splits",
        (
            Arm("softmax", TREEBANK, ("accuracy", "accuracy_over_commonest", "macro_f1"), "test",
                Goal("accuracy", least=0.88)),
            Arm("CRF", (*TREEBANK, "head=crf"), ("accuracy", "accuracy_over_commonest", "macro_f1"), "test",
                Goal("accuracy", least=0.88)),
        ),
    ),
    System(
        "speech_ctc", "dialled numbers of 3 to 6 digits, heard as tones (generated)",
        (Arm("GRU", (), ("exact", "wer"), "test"),),
    ),
    System(
        "captioner", "pictures of shapes, described in words (generated)",
        (Arm("CNN and LSTM", (), ("exact", "bleu"), "test"),),
    ),
    System(
        "g2p", "CMUdict without stress; 2,000 words to test, any of their pronunciations is right",
        (Arm("LSTM 2 x 64", (*PRONUNCIATIONS, "training.steps=6000"), ("exact", "wer"), "test",
             Goal("exact", least=1 - 0.313)),),
        "word error 31.3 % (LSTM 2 x 64), 20.2 % (transformer 2 x 256), on a split of CMUdict of their own",
    ),
    System(
        "data_to_text", "restaurants (E2E), its own splits",
        (Arm("transformer", (*RESTAURANTS, "training.steps=3000"), ("bleu", "chrf"), "test", None, BEAM),),
        "BLEU 0.66 with all references (TGen; Novikova et al., 2017)",
    ),
    System(
        "forecaster", "ETTh1, 96 hours from 96, 7 channels; 12, 4 and 4 months to train, validate and test",
        (
            Arm("GRU", SERIES, ("mse", "mae", "mse_over_naive"), "test"),
            Arm("transformer", (*SERIES, "mixer=attention"), ("mse", "mae", "mse_over_naive"), "test"),
            Arm("linear", (*SERIES, "mixer=identity"), ("mse", "mae", "mse_over_naive"), "test"),
        ),
        "MSE 0.38 to 0.45 (transformers and linear models, the same months)",
    ),
)  # fmt: skip
