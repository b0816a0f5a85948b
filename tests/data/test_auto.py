"""``tokeniser.type: auto``: tokens chosen by the look of the texts, the choice said, and kept in the checkpoint."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.cli.main import main
from composer.config.composition import compose
from composer.core.problems import UserError
from composer.data import load_source
from composer.data.tokenisers.auto import MIN_COUNT, choose, look
from composer.data.tokenisers.tokeniser import Tokenising
from composer.runs.folder import RunFolder
from composer.training.run.plan import prepare
from composer.training.run.show import show_start
from composer.training.screen import Screen

draw = random.Random(0)


def invented(letters="etaoinshrdlu"):
    """A word that no other text is likely to have."""
    return "".join(draw.choice(letters) for _ in range(8))


def sentence():
    """Mostly common words, as sentences have them, and one that is rare."""
    common = draw.choices(["the", "film", "is", "a", "good", "bad", "story", "and"], k=9)
    return " ".join([*common, invented()]).capitalize() + "."


KINDS = {
    "names": [invented() for _ in range(200)],
    "two names": [f"{invented()} {invented()}" for _ in range(200)],
    "no spaces": ["".join(draw.choices("日本語文字列の長い", k=30)) for _ in range(50)],
    "integers": [" ".join(str(draw.randrange(50)) for _ in range(draw.randint(1, 25))) for _ in range(300)],
    "templates": [f"turn {a}, then {b}!" for a in ("left", "right") for b in ("walk", "run", "stop")] * 2,
    "sentences": [sentence() for _ in range(300)],
}
WANTED = {"names": "characters", "two names": "characters", "no spaces": "characters", "integers": "words"}
WANTED |= {"templates": "words"}


@pytest.mark.parametrize("sentences", ["words", "bpe"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_type_fits_the_look_of_the_texts(kind, sentences):
    chosen, why = choose(Tokenising(type="auto", max_length=9), lambda: KINDS[kind], sentences)
    assert chosen.type == WANTED.get(kind, sentences)
    assert chosen.max_length == 9, "the other settings stay"
    assert "words" in why
    if kind in ("integers", "templates"):
        assert not chosen.punctuation, "a closed vocabulary is that of the words between spaces"


@given(texts=st.lists(st.lists(st.sampled_from("abcdef"), max_size=6).map(" ".join), max_size=8))
def test_unknown_words_are_those_that_leaving_a_text_out_makes_unknown(texts):
    missing = total = 0
    for i, text in enumerate(texts):
        others = {word for j, other in enumerate(texts) if j != i for word in other.split()}
        missing += sum(word not in others for word in text.split())
        total += len(text.split())
    seen = look(texts, 100)
    assert seen.new == pytest.approx(missing / max(total, 1))
    assert seen.length == pytest.approx(total / max(len(texts), 1))


def test_words_that_do_not_fit_into_the_vocabulary_are_unknown():
    texts = KINDS["integers"]
    assert choose(Tokenising(type="auto", vocabulary=53), lambda: texts, "bpe")[0].type == "words"
    assert look(texts, 25).new > 0.3
    assert choose(Tokenising(type="auto", vocabulary=40), lambda: texts, "words")[1].endswith("unknown; case kept")


def test_every_token_of_a_chosen_bpe_is_seen_often_enough(tmp_path):
    texts = [sentence() for _ in range(400)]
    (tmp_path / "a.tsv").write_text("".join(f"{t}\t{t}\n" for t in texts))
    tokens = load_source({"type": "pairs", "path": f"{tmp_path}/a.tsv", "valid": 0}).fields["target"].contents.tokens
    joined = [token.replace("Ġ", " ") for token in tokens[3:] if len(token) > 1]
    assert len(joined) > 20
    assert all(sum(text.count(token) for text in texts) >= MIN_COUNT for token in joined)


def pairs(folder, left, right, **more):
    rows = zip(left, right, strict=False)
    (folder / "a.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    return load_source({"type": "pairs", "path": f"{folder}/a.tsv", "valid": 0, **more})


def types(source):
    return [source.state()[name]["tokeniser"]["options"]["type"] for name in ("source", "target")]


def test_each_side_of_a_pair_is_looked_at_alone_unless_they_share_a_vocabulary(tmp_path):
    source = pairs(tmp_path, KINDS["names"], KINDS["integers"])
    assert types(source) == ["characters", "words"]
    again = load_source({"type": "pairs", "path": "gone"}, state=source.state())
    assert types(again) == ["characters", "words"]
    assert again.fields == source.fields
    assert types(pairs(tmp_path, KINDS["names"], KINDS["sentences"], shared_vocabulary=True)) == ["bpe", "bpe"]
    named = {"target_tokeniser": {"type": "bytes"}}
    assert types(pairs(tmp_path, KINDS["names"], KINDS["integers"], **named)) == ["characters", "bytes"]


def test_a_text_that_is_classified_is_read_as_words(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{t}\tx\n" for t in KINDS["sentences"]))
    source = load_source({"type": "labelled", "path": f"{tmp_path}/a.tsv", "valid": 0})
    assert {"film", "."} < set(source.fields["source"].contents.tokens)
    assert source.notes["source"].startswith("words, ")
    assert "case kept" in source.notes["source"]


@pytest.mark.slow
def test_the_choice_is_said_by_describe_and_before_training(tmp_path, capsys):
    (tmp_path / "a.tsv").write_text("".join(f"{t}\t{t[:4]}\n" for t in KINDS["integers"]))
    overrides = ["data=pairs", f"data.path={tmp_path}/a.tsv", "model.dim=16"]
    main(["describe", *overrides])
    assert "Tokens of source: words, " in capsys.readouterr().out
    folder = RunFolder(tmp_path / "run")
    folder.make()
    show_start(Screen(folder.log), prepare(compose([*overrides, "logger=none"])), folder, brief=False)
    printed = capsys.readouterr().out
    assert "tokens    source: words, 53 in the vocabulary" in printed
    assert "tokens    target: characters, " in printed
    main(["describe", *overrides, "data.tokeniser.type=bytes"])
    assert "Tokens of" not in capsys.readouterr().out, "what the config names needs no saying"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"type": "pairs", "tokeniser": {"type": "auto", "vocabulary": 200}}, ["tokeniser.vocabulary", "200", "'bpe'"]),
        ({"type": "text", "tokeniser": {"type": "auto"}}, ["data.tokeniser.type", "'auto'", "running text"]),
    ],
)
def test_what_auto_cannot_do_is_one_clear_sentence(config, words, tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{t}\t{t}\n" for t in KINDS["sentences"]))
    with pytest.raises(UserError) as caught:
        load_source({**config, "path": f"{tmp_path}/a.tsv"})
    for word in words:
        assert word in str(caught.value)
